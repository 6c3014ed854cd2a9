"""USD: a skeleton and its motion as UsdSkel, written only. Needs the extra ``usd``.

Metres, z up; joint ``hips/spine`` sits at the body's joint and points along the bone, as in GLB.
The whole skeleton – kinds, limits, markers – stands as the text of ``skeleton.json`` in the custom
data of the Skeleton prim, under ``osteon``. Files are text, whatever their ending.
"""

import importlib
import re
from pathlib import Path
from typing import Any

import numpy as np

from osteon.errors import MissingExtra
from osteon.formats.own.skeleton_json import skeleton_text
from osteon.formats.registry import Format, WriteOptions, check_one_root, check_posed
from osteon.formats.shared.bone_axes import bone_axes, reframe
from osteon.formats.shared.standing_pose import standing_pose
from osteon.formats.shared.text_table import unused_names
from osteon.maths import quat
from osteon.typing import Array
from osteon.values import Motion, Skeleton, Take

UNSAFE = re.compile(r"\W")


def write_usd(path: Path, take: Take, options: WriteOptions) -> None:
    options.allow_metres("z", "USD is written in metres with z up")
    motion = take.motion() if take.motions else None
    skeleton = take.skeleton()
    check_one_root(skeleton, path, "USD")
    if motion is not None:
        check_posed(motion, path, "USD")
    path.write_text(usd_text(skeleton, motion), encoding="utf-8", newline="\n")


def _pxr(module: str) -> Any:
    """Return a module of usd-core, whose stubs name next to nothing."""
    try:
        return importlib.import_module(f"pxr.{module}")
    except ImportError:
        raise MissingExtra("usd-core", "writing USD", "usd") from None


def usd_text(skeleton: Skeleton, motion: Motion | None) -> str:
    """Return the whole file."""
    Gf, Usd, UsdGeom, UsdSkel, Vt = map(_pxr, ("Gf", "Usd", "UsdGeom", "UsdSkel", "Vt"))
    stage = Usd.Stage.CreateInMemory()
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.z)
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    root = UsdSkel.Root.Define(stage, f"/{_safe(skeleton.subject) or 'figure'}")
    stage.SetDefaultPrim(root.GetPrim())
    prim = UsdSkel.Skeleton.Define(stage, root.GetPath().AppendChild("skeleton"))
    paths = _joint_paths(skeleton)
    prim.CreateJointsAttr(paths)
    prim.CreateJointNamesAttr(skeleton.names)
    stands = standing_pose(skeleton, None)
    axes = bone_axes(skeleton, stands.rotations)
    bound = _matrices(quat.multiply(stands.rotations, axes), stands.joints)
    local = [
        matrix if parent < 0 else np.linalg.inv(bound[parent]) @ matrix
        for matrix, parent in zip(bound, skeleton.parents, strict=True)
    ]
    for create, places in (
        (prim.CreateRestTransformsAttr, local),
        (prim.CreateBindTransformsAttr, bound),
    ):
        create(Vt.Matrix4dArray([Gf.Matrix4d(place.T.tolist()) for place in places]))
    prim.GetPrim().SetCustomDataByKey("osteon", skeleton_text(skeleton).decode())
    _bind(stage, root, prim, None if motion is None else (motion, paths, axes))
    return stage.GetRootLayer().ExportToString()


def _matrices(rotations: Array, joints: Array) -> Array:
    """Return (n_bodies, 4, 4)."""
    matrices = np.tile(np.eye(4), (len(joints), 1, 1))
    matrices[:, :3, :3], matrices[:, :3, 3] = quat.to_matrix(rotations), joints
    return matrices


def _bind(stage: Any, root: Any, prim: Any, moving: tuple[Motion, list[str], Array] | None) -> None:
    """Tell the prims which skeleton they use, and the skeleton what moves it."""
    UsdSkel = _pxr("UsdSkel")
    UsdSkel.BindingAPI.Apply(root.GetPrim()).CreateSkeletonRel().SetTargets([prim.GetPath()])
    binding = UsdSkel.BindingAPI.Apply(prim.GetPrim())
    if moving is not None:
        name = _safe(Path(moving[0].source.file).stem) or "motion"
        name = f"{name}_motion" if name == "skeleton" else name
        animation = UsdSkel.Animation.Define(stage, root.GetPath().AppendChild(name))
        _animate(stage, animation, *moving)
        binding.CreateAnimationSourceRel().SetTargets([animation.GetPath()])


def _animate(stage: Any, animation: Any, motion: Motion, paths: list[str], axes: Array) -> None:
    """Write a sample per frame; time codes are frame numbers."""
    Usd, Vt = _pxr("Usd"), _pxr("Vt")
    stage.SetTimeCodesPerSecond(motion.rate)
    stage.SetFramesPerSecond(motion.rate)
    stage.SetStartTimeCode(0)
    stage.SetEndTimeCode(max(motion.n_frames - 1, 0))
    animation.CreateJointsAttr(paths)
    # all three must be there, else a reader takes none of them
    ones = np.ones((len(paths), 3), dtype=np.float16)
    animation.CreateScalesAttr(Vt.Vec3hArray.FromNumpy(ones))
    places, turns = animation.CreateTranslationsAttr(), animation.CreateRotationsAttr()
    parents = motion.skeleton.parents
    rotations, offsets = reframe(axes, parents, motion.rotations, motion.in_parents())
    offsets = offsets.astype(np.float32)
    # USD keeps quaternions as x, y, z, w in memory
    rotations = np.roll(quat.unroll(rotations), -1, axis=-1).astype(np.float32)
    for frame in range(motion.n_frames):
        time = Usd.TimeCode(frame)
        places.Set(Vt.Vec3fArray.FromNumpy(offsets[frame]), time)
        turns.Set(Vt.QuatfArray.FromNumpy(rotations[frame]), time)


def _joint_paths(skeleton: Skeleton) -> list[str]:
    """Return joints as ``parent/child`` paths of safe names."""
    names = unused_names(_safe(name) or "joint" for name in skeleton.names)
    paths: list[str] = []
    for name, parent in zip(names, skeleton.parents, strict=True):
        paths.append(name if parent < 0 else f"{paths[parent]}/{name}")
    return paths


def _safe(name: str) -> str:
    """Return a name that may stand in USD's paths: letters, digits and _, no digit first."""
    name = UNSAFE.sub("_", name)
    return f"_{name}" if name[:1].isdigit() else name


USD = Format(
    name="USD",
    suffixes=(".usda", ".usd"),
    sniff=lambda head: False,  # the list of refused kinds says what to do instead
    write=write_usd,
    holds=frozenset({"skeleton", "motion"}),
)
