"""Limits by hand: a TOML that ``osteon limits`` writes, people change, and it reads again.

    [left_shin]
    type = "hinge"
    hinge = [0.0, 140.0]        # degrees

    [left_thigh]
    swing = [45.0, 20.0]        # half axes of the elliptic cone; the polygon becomes this ellipse
    twist = [-20.0, 30.0]

What a table leaves out stays as it was found. A joint whose kind or range is changed loses its
region of poses that were seen: from then on the hand's word holds.
"""

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import msgspec
import numpy as np

from osteon.errors import FormatError, UnknownName
from osteon.formats import whole_file
from osteon.joint_limits.bind_poses import check_binds
from osteon.joint_limits.ranges import N_SIDES, side_normals
from osteon.values import Body, Joint, Limits, Skeleton

Degrees = tuple[float, float]

HEAD = "# Degrees. Change what you like, leave out what may stay, and run again with --edits.\n"
ROUNDED_ANGLE = 0.006
"""Degrees by which a number in the file may differ from what was found and mean the same. Derived:
files have two decimals, so rounding errs by up to 0.005."""


class Edit(msgspec.Struct, forbid_unknown_fields=True):
    """One table of the file."""

    type: Literal["fixed", "hinge", "universal", "ball"] | None = None
    hinge: Degrees | None = None
    swing: Degrees | None = None
    twist: Degrees | None = None
    zyz: tuple[Degrees, Degrees, Degrees] | None = None


def read_edits(path: Path) -> dict[str, Edit]:
    """Return the tables of a TOML file, by body."""
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
        edits = msgspec.convert(tables, dict[str, Edit])
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as error:
        raise FormatError(path, f"not a limits.toml: {error}") from None
    for name, edit in edits.items():
        for key in ("hinge", "twist"):
            ends = getattr(edit, key)
            if ends is not None and ends[0] > ends[1]:
                raise FormatError(path, f"{key} must go up, got {list(ends)}", f"[{name}]")
        if edit.swing is not None and min(edit.swing) <= 0.0:
            raise FormatError(path, f"swing must be positive, got {list(edit.swing)}", f"[{name}]")
    return edits


def apply_edits(skeleton: Skeleton, edits: dict[str, Edit]) -> Skeleton:
    """Return the skeleton with limits changed by hand; bind poses are held against the new ones."""
    for name in edits:
        if name not in skeleton.names:
            raise UnknownName("body", name, skeleton.names)
    bodies = [
        replace(body, joint=_edited(body.joint, edits[body.name])) if body.name in edits else body
        for body in skeleton.bodies
    ]
    return skeleton.with_bodies(bodies, f"limits of {len(edits)} joints set by hand")


def write_edits(skeleton: Skeleton, path: Path) -> None:
    """The limits of a skeleton as a TOML to change."""
    tables = [_table(body) for body in skeleton.bodies if body.joint.limits is not None]
    with whole_file(path) as partial:
        partial.write_text("\n".join([HEAD, *tables]), encoding="utf-8")


def _edited(joint: Joint, edit: Edit) -> Joint:
    limits = joint.limits or Limits()
    cone = limits.cone
    if cone is not None and edit.swing is not None:
        changed = np.abs(np.degrees(cone.radii) - edit.swing).max() >= ROUNDED_ANGLE
        radii = np.radians(edit.swing)
        cone = replace(cone, radii=radii, polygon=_ellipse(radii)) if changed else cone
    if cone is not None and edit.twist is not None:
        cone = replace(cone, twist=_radians(edit.twist))
    region = None if _says_otherwise(joint, edit) else limits.region
    limits = replace(
        limits,
        region=region,
        cone=cone,
        hinge=limits.hinge if edit.hinge is None else _radians(edit.hinge),
        zyz=limits.zyz if edit.zyz is None else tuple(map(_radians, edit.zyz)),  # type: ignore[arg-type]
    )
    joint = replace(_retyped(joint, edit.type or joint.kind), limits=limits)
    if limits.bind is None or limits.evidence is None:
        return joint
    means = limits.evidence.mean[None]
    bind = check_binds([joint], means[None], means)[0]
    return replace(joint, limits=replace(limits, bind=bind))


def _says_otherwise(joint: Joint, edit: Edit) -> bool:
    """Return whether a table changes a joint's kind or range, beyond rounding."""
    if edit.type not in (None, joint.kind):
        return True
    ranges = _ranges_in_file(joint.limits or Limits())
    said = ((getattr(edit, key), ranges[key]) for key in ranges)
    return any(
        now is not None
        and (then is None or bool(np.abs(np.degrees(then) - now).max() >= ROUNDED_ANGLE))
        for now, then in said
    )


def _ranges_in_file(limits: Limits) -> dict[str, Any]:
    cone = limits.cone
    return {
        "hinge": limits.hinge,
        "swing": None if cone is None else cone.radii,
        "twist": None if cone is None else cone.twist,
    }


def _retyped(joint: Joint, kind: str) -> Joint:
    """Return the joint as another kind, about the directions in which it moved most."""
    evidence = joint.limits.evidence if joint.limits else None
    n_axes = {"hinge": 1, "universal": 2}.get(kind, 0)
    if kind == joint.kind or evidence is None or n_axes == 0:
        rest = joint.rest if kind != "fixed" or evidence is None else evidence.mean
        return replace(joint, kind=kind, rest=rest)
    return replace(joint, kind=kind, axes=evidence.directions[:n_axes], rest=evidence.mean)


def _radians(degrees: Degrees) -> tuple[float, float]:
    return float(np.radians(degrees[0])), float(np.radians(degrees[1]))


def _ellipse(radii: np.ndarray) -> np.ndarray:
    """Corners (n, 2) of a polygon drawn about an ellipse."""
    return radii * side_normals() / np.cos(np.pi / N_SIDES)


def _table(body: Body) -> str:
    limits = body.joint.limits
    assert limits is not None
    lines = [f"[{msgspec.json.encode(body.name).decode()}]", f'type = "{body.joint.kind}"']
    for key, values in _ranges_in_file(limits).items():
        if values is not None and np.isfinite(values).all():
            low, high = np.degrees(values)
            lines.append(f"{key} = [{low:.2f}, {high:.2f}]")
    if limits.zyz is not None:
        pairs = ", ".join(f"[{low:.2f}, {high:.2f}]" for low, high in np.degrees(limits.zyz))
        lines.append(f"zyz = [{pairs}]")
    return "\n".join(lines) + "\n"
