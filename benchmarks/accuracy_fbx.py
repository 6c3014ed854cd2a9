"""What other programs read of our FBX files; prints what docs/numbers/animation.md says.

Wants ``ufbx`` and ``bpy`` in environments of their own, and recordings:

    DATA=… OSTEON_UFBX_PYTHON=…/python OSTEON_BLENDER_PYTHON=…/python python accuracy_fbx.py

Each file is read by ufbx, by the importer of Blender's menu (built on ufbx) and by Blender's older
importer, which has a reader of its own and knows whole frame rates only.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

import osteon as ost
from characters import mixamo_like
from osteon import synth
from osteon.formats import (
    TO_Z_UP,
    Skinned,
    read_glb_mesh,
    turn_points,
    write_character,
    write_skinned,
)
from osteon.pipeline import map_to
from osteon.skinning import make_skin_for
from osteon.values import Motion

HERE = Path(__file__).parents[1]
DATA = Path(os.environ.get("DATA", HERE.parent / "shared" / "data"))
RECORDINGS = (
    "cmu-02/02_01.c3d", "cmu-01/01_01.c3d", "nimble-c3d/nick_freeform_001.c3d",
    "kineticstoolkit/kinematics_tennis_serve.c3d", "anatomical-truth/hamner-01-run200/real.trc",
    "anatomical-truth/opencap-4-DJ1/real.trc",
    "clinical-gait-auckland/AUC/dynamic/CB_Dynamic0003.c3d",
)  # fmt: skip
"""Solved, in the figure that is made for them."""
MOTIONS = (
    "cmu-01/01_01.amc", "cmu-asfamc-variants/35_01.amc", "cmu-asfamc-variants/Swagger.bvh",
    "bvhtoolbox/test_freebvh.bvh", "bvhtoolbox/test_mocapbank.bvh",
)  # fmt: skip
"""As they are, in such a figure; the last three are at 20, 30 and 120 Hz."""
MESHES = ("characters/CesiumMan.glb", "characters/RiggedFigure.glb", "characters/Fox.glb")
"""In their own mesh, with their own animation."""
CHARACTERS = {
    "CesiumMan": ("characters/CesiumMan.glb", "cmu-02/02_01.c3d"),
    "RiggedFigure": ("characters/RiggedFigure.glb", "cmu-asfamc-variants/35_01.amc"),
    "Mixamo's names, T": ({}, "bvhtoolbox/test_freebvh.bvh"),
    "Unreal's names, A, twist bones, fingers": (
        {"style": "unreal", "spread": 0.8, "details": True}, "cmu-asfamc-variants/Swagger.bvh"),
    "VRM's names, posed": (
        {"style": "vrm", "spread": 0.6, "posed": True},
        "kineticstoolkit/kinematics_tennis_serve.c3d"),
}  # fmt: skip
"""FBX files that Blender made of a GLB file, or of one generated so, and what moves them."""
LOOKED_AT = 60
"""Frames of each that are compared."""


@dataclass(frozen=True)
class Written:
    """A file, and what is true of it."""

    name: str
    path: Path
    motion: Motion
    stack: str
    weights: np.ndarray | None
    """(n_bodies, n_vertices); None where they are another program's."""


def table_of(bodies: np.ndarray, weights: np.ndarray, n_bodies: int) -> np.ndarray:
    found = np.zeros((n_bodies, len(bodies)))
    np.add.at(found, (bodies, np.arange(len(bodies))[:, None]), weights)
    return found


def figures(folder: Path) -> Iterator[Written]:
    for source in (*RECORDINGS, *MOTIONS, *MESHES):
        path = DATA / source
        motion = ost.solve(path)[0].motion if source in RECORDINGS else ost.read(path).motion()
        if source in MESHES:
            skinned = read_glb_mesh(path)
            assert isinstance(skinned, Skinned)
            skin = skinned.mesh
        else:
            skin = make_skin_for(motion)
        target = folder / f"{path.parent.name}_{path.stem}.fbx"
        write_skinned(target, motion, skin)
        weights = table_of(skin.bodies, skin.weights, len(motion.skeleton.names))
        yield Written(source, target, motion, Path(motion.source.file).stem, weights)


def characters(folder: Path) -> Iterator[Written]:
    for index, (name, (source, moved_by)) in enumerate(CHARACTERS.items()):
        glb, fbx = folder / f"hero{index}.glb", folder / f"hero{index}.fbx"
        glb = DATA / source if isinstance(source, str) else mixamo_like(glb, **source)
        blender("make", glb, fbx)
        motion = map_to(DATA / moved_by, fbx).motion
        target, stack = folder / f"moved{index}.fbx", Path(moved_by).stem
        write_character(target, fbx, motion, stack)
        yield Written(f"{name} ← {moved_by}", target, motion, stack, None)


def blender(*words: object) -> dict[str, Any]:
    script = HERE / "benchmarks" / "peers" / "blender_fbx.py"
    return found_by(os.environ["OSTEON_BLENDER_PYTHON"], script, *words)


def found_by(python: str, script: Path, *words: object) -> dict[str, Any]:
    run = subprocess.run(
        [python, str(script), *map(str, words)], capture_output=True, text=True, check=False
    )
    lines = [line for line in run.stdout.splitlines() if line.startswith("FOUND ")]
    if not lines:
        raise SystemExit(run.stdout[-1000:] + run.stderr[-2000:])
    return json.loads(lines[0].removeprefix("FOUND "))


def weights_equal(written: Written, found: dict[str, list], *, single: bool) -> str:
    """Whether another reader has the weights that were written, in single precision if need be."""
    if written.weights is None:
        return "its own"
    names = written.motion.skeleton.names
    theirs = np.zeros_like(written.weights)
    for name, pairs in found.items():
        vertices, shares = np.array(pairs).T
        theirs[names.index(name), vertices.astype(int)] = shares
    ours = written.weights.astype(np.float32).astype(float) if single else written.weights
    return "equal" if (ours == theirs).all() else f"{np.abs(ours - theirs).max():.1e} off"


def apart(written: Written, frames: np.ndarray, joints: list[dict], *, y_up: bool) -> float:
    """Largest distance of a joint, millimetres."""
    names = written.motion.skeleton.names
    theirs = np.array([[frame[name] for name in names] for frame in joints])
    theirs = turn_points(theirs, TO_Z_UP["y"]) if y_up else theirs
    ours = written.motion.world()[1][frames]
    return 1e3 * float(np.linalg.norm(theirs - ours, axis=-1).max())


def read_back(written: Written) -> str:
    """A row of the table."""
    motion = written.motion
    frames = np.unique(np.linspace(0, motion.n_frames - 1, LOOKED_AT).astype(int))
    told = ",".join(map(str, frames))
    loader = HERE / "tests" / "support" / "loaders" / "ufbx_scene.py"
    ufbx = found_by(os.environ["OSTEON_UFBX_PYTHON"], loader, written.path, motion.rate, told)
    times = np.array(ufbx["times"])
    exact = np.arange(motion.n_frames) / motion.rate
    ticks = 46_186_158_000 * np.abs(times - exact).max() if len(times) == len(exact) else np.nan
    row = [written.name, f"{len(motion.skeleton.names)} × {motion.n_frames}", f"{motion.rate:.6g}"]
    row += [f"{1e3 * apart(written, frames, ufbx['joints'], y_up=True):.2f}", f"{ticks:.2f}"]
    row.append(weights_equal(written, ufbx["weights"], single=False))
    for importer in ("menu", "addon"):
        if importer == "addon" and motion.rate != round(motion.rate):
            row.append("")
            continue
        found = blender("read", written.path, written.stack, motion.rate, told, importer)
        row.append(f"{1e3 * apart(written, frames, found['joints'], y_up=False):.2f}")
        if importer == "menu":
            row += [f"{found['off_frames']:.1e}", f"{found['rate']:.6g}"]
            row.append(weights_equal(written, found["weights"], single=True))
    return f"| {' | '.join(row)} |"


def files() -> None:
    print("| file | bodies × frames | Hz | ufbx: joints, µm | times, ticks | weights | Blender: "
          "joints, µm | keys off frames | Hz | weights | older importer: joints, µm |")  # fmt: skip
    print("|---|--:|--:|--:|--:|---|--:|--:|--:|---|--:|")
    with tempfile.TemporaryDirectory() as folder:
        for kind in (figures, characters):
            for written in kind(Path(folder)):
                print(read_back(written), flush=True)


def speed() -> None:
    """5 000 frames: a figure in its skin, and onto a character of 61 bones."""
    walk = synth.act(synth.human(), synth.walk(5000 / 120.0, rate=120.0), seed=2).motion
    with tempfile.TemporaryDirectory() as folder:
        skin, hero = make_skin_for(walk), Path(folder) / "hero.fbx"
        print(f"a figure: {seconds(write_skinned, Path(folder) / 'a.fbx', walk, skin)}")
        blender("make", mixamo_like(Path(folder) / "hero.glb", details=True), hero)
        bones = ost.read(hero).skeleton()
        turns = np.repeat(walk.rotations[:, :1], len(bones.names), axis=1)
        moved = Motion(bones, turns, np.array(walk.root), walk.rate)
        target = Path(folder) / "moved.fbx"
        print(f"a character: {seconds(write_character, target, hero, moved, 'walk')}")
        found = replace(ost.read(target).motion())
        print(f"{len(bones.names)} bones, {found.n_frames} frames")


def seconds(write, *given) -> str:
    begin = time.process_time()
    write(*given)
    return f"{time.process_time() - begin:.2f} s of processor"


SECTIONS = {"files": files, "speed": speed}

if __name__ == "__main__":
    for chosen in sys.argv[1:] or SECTIONS:
        print(f"[{chosen}]")
        SECTIONS[chosen]()
