"""Keypoints as JSON: one file per frame as OpenPose and EasyMocap write, or all frames in one.

    {"people": [{"pose_keypoints_3d": [x, y, z, c, …]}]}              one frame, OpenPose
    [{"id": 0, "keypoints3d": [[x, y, z, c], …]}]                     one frame, EasyMocap
    {"fps": 30, "names": ["nose", …], "frames": [[[x, y, z], …], …]}  all frames
    [[[x, y, z], …], …]                                               all frames
    {"instance_info": [{"instances": [{"keypoints": [[x, y, z], …]}]}, …]}   all frames, MMPose

A frame may also be ``{"keypoints": …}``, and its points ``[{"x": …, "y": …, "z": …}, …]`` or
``{"nose": [x, y, z], …}``. Of a file with one frame, those beside it with other numbers in their
name belong to the take.
"""

import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from osteon.errors import FormatError
from osteon.formats.keypoint_files.points_of_people import PeoplePoints, take_of
from osteon.formats.registry import Format
from osteon.formats.shared.json_and_xml import decode
from osteon.typing import Array
from osteon.values import Take

POINT_KEYS = (
    "keypoints3d",
    "keypoints_3d",
    "pose_keypoints_3d",
    "keypoints",
    "pose_world_landmarks",
    "landmarks",
)
HAND_KEYS = ("hand_left_keypoints_3d", "hand_right_keypoints_3d")
PEOPLE_KEYS = ("people", "persons", "instances")
FRAME_KEYS = ("frames", "instance_info")
NAME_KEYS = ("names", "keypoint_names", "joint_names", "joints")
RATE_KEYS = ("fps", "rate", "frame_rate")
TRUST_KEYS = ("visibility", "confidence", "score")
POINT_KEY = re.compile(rb'"(?:' + "|".join(POINT_KEYS).encode() + rb')"\s*:\s*[\[{]')
FRAME_KEY = re.compile(rb'"frames"\s*:\s*\[\s*\[\s*\[|"keypoint_id2name"\s*:\s*\{')
BARE_FRAMES = re.compile(rb"\s*\[\s*\[\s*\[\s*-?\d")
LAST_NUMBER = re.compile(r"(\d+)\D*$")


class _Points(NamedTuple):
    """One person in one frame."""

    values: Array
    """(n_points, 4) x, y, z, confidence."""
    names: tuple[str, ...] | None


def sniff(head: bytes) -> bool:
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not text.startswith((b"{", b"[")):
        return False
    known = POINT_KEY.search(text) or FRAME_KEY.search(text) or BARE_FRAMES.match(text)
    return known is not None


def read_keypoint_json(path: Path) -> Take:
    tree = _one_file(path)
    frames = _frames(tree)
    problems: tuple[str, ...] = ()
    if frames is None:
        beside = _numbered(path)
        frames = [tree if each == path else _one_file(each) for each in beside]
        problems = (f"{len(beside)} files numbered alike are its frames",) if beside[1:] else ()
    rate, known = _said(tree, RATE_KEYS), _names(tree)
    speed = float(rate) if isinstance(rate, int | float) and 0 < rate < np.inf else None
    people = _by_person(path, frames)
    called = {who: f"person {who}" if len(people) > 1 else "" for who in people}
    told = [
        PeoplePoints(values, own or known, speed, called[who], problems)
        for who, (values, own) in people.items()
    ]
    return take_of(path, told, "keypoint JSON")


def _said(tree: Any, keys: tuple[str, ...]) -> Any:
    if not isinstance(tree, dict):
        return None
    return next((tree[key] for key in keys if key in tree), None)


def _names(tree: Any) -> tuple[str, ...] | None:
    """The keypoints' names; MMPose numbers them among what it says of its data."""
    names = _said(tree, NAME_KEYS)
    numbered = _said(_said(tree, ("meta_info",)), ("keypoint_id2name",))
    if names is None and isinstance(numbered, dict):
        names = list(numbered.values())
    return tuple(map(str, names)) if isinstance(names, list) else None


def _depth(value: Any) -> int:
    """How many lists stand inside one another."""
    depth = 0
    while isinstance(value, list) and value:
        depth, value = depth + 1, value[0]
    return depth


def _frames(tree: Any) -> list[Any] | None:
    """All frames of a file; None where it is one frame."""
    frames = _said(tree, FRAME_KEYS)
    if isinstance(frames, list):
        return frames
    points = _said(tree, POINT_KEYS)
    if _depth(points) >= 3:
        return points
    if isinstance(tree, list) and tree:
        people = isinstance(tree[0], dict) and "id" in tree[0]
        return None if people or _depth(tree) == 2 else tree
    return None


def _numbered(path: Path) -> list[Path]:
    """The file, and those beside it whose names differ in their last number only, in its order."""
    last = LAST_NUMBER.search(path.stem)
    if last is None:
        return [path]
    start, end = path.stem[: last.start()], path.stem[last.end(1) :]
    pattern = re.compile(re.escape(start) + r"(\d+)" + re.escape(end))
    found = [
        (int(number[1]), each)
        for each in path.parent.glob(f"*{path.suffix}")
        if (number := pattern.fullmatch(each.stem)) and len(number[1]) < 19
    ]
    return [each for _, each in sorted(found)] or [path]


def _one_file(path: Path) -> Any:
    return decode(path, path.read_bytes(), object)


def _by_person(path: Path, frames: list[Any]) -> dict[str, tuple[Array, tuple[str, ...] | None]]:
    """Person → (n_frames, n_points, 4), and names where points have them."""
    found: dict[str, dict[int, _Points]] = {}
    for index, frame in enumerate(frames):
        for who, points in _people(path, frame, index):
            found.setdefault(who, {})[index] = points
    if not found:
        raise FormatError(path, "no frame holds keypoints in 3D")
    people = {}
    for who, seen in found.items():
        first = next(iter(seen.values()))
        values = np.full((len(frames), *first.values.shape), np.nan)
        for index, points in seen.items():
            if points.values.shape != first.values.shape:
                counts = f"{len(points.values)} keypoints, others {len(first.values)}"
                raise FormatError(path, f"frame {index} has {counts}")
            values[index] = points.values
        people[who] = values, first.names
    return people


def _people(path: Path, frame: Any, index: int) -> list[tuple[str, _Points]]:
    if frame in ([], {}, None):
        return []  # nobody was found
    people = _said(frame, PEOPLE_KEYS)
    if people is None and isinstance(frame, list) and frame and isinstance(frame[0], dict):
        people = frame if _said(frame[0], POINT_KEYS) is not None else None
    if people is None:
        return [("1", _points(path, frame, index))]
    if not isinstance(people, list):
        raise FormatError(path, f"frame {index}: expected a list of people")
    return [
        (_who(person, place), _points(path, person, index))
        for place, person in enumerate(people)
        if _said(person, POINT_KEYS) not in (None, [])
    ]


def _who(person: Any, place: int) -> str:
    """A person's number, where the program followed them; else their place in the frame."""
    said = _said(person, ("id", "person_id"))
    said = said[0] if isinstance(said, list) and said else said
    return str(said) if isinstance(said, int) and said >= 0 else str(place + 1)


def _points(path: Path, person: Any, index: int) -> _Points:
    inner, hands = _said(person, POINT_KEYS), _hands(person)
    value = person if inner is None else inner
    value = [*value, *hands] if isinstance(value, list) else value
    names = None
    try:
        if isinstance(value, dict):
            names, value = tuple(map(str, value)), list(value.values())
        if value and isinstance(value[0], dict):
            labels = [each.get("name") for each in value]
            names = tuple(map(str, labels)) if all(labels) else names
            value = [_listed(each) for each in value]
        table = np.array(value, dtype=float)
    except (ValueError, TypeError, KeyError, IndexError, OverflowError, AttributeError):
        raise FormatError(path, f"frame {index} is no list of points with x, y and z") from None
    if table.ndim == 1 and len(table) and len(table) % 4 == 0:
        table = table.reshape(-1, 4)
    if table.shape[1:] == (2,) or (table.ndim == 1 and len(table) and len(table) % 3 == 0):
        raise FormatError(path, f"frame {index} has points in 2D: triangulate them first")
    if table.ndim != 2 or table.shape[1] not in (3, 4):
        raise FormatError(path, f"frame {index} is no list of points with x, y and z")
    if table.shape[1] == 3:
        table = np.concatenate([table, _scores(person, len(table))], axis=1)
    return _Points(table, names)


def _scores(person: Any, count: int) -> Array:
    """(n_points, 1) confidences that stand beside the points; 1 where there are none."""
    said = _said(person, ("keypoint_scores",))
    known = isinstance(said, list) and len(said) == count
    known = known and all(isinstance(each, int | float) for each in said)
    return np.array(said, dtype=float)[:, None] if known else np.ones((count, 1))


def _hands(person: Any) -> list[Any]:
    """OpenPose's points of both hands; none where it looked for none."""
    found = [_said(person, (key,)) for key in HAND_KEYS]
    if not all(isinstance(each, list) and each for each in found):
        return []
    return [value for each in found for value in each]


def _listed(point: dict[str, Any]) -> list[Any]:
    trust = _said(point, TRUST_KEYS)
    return [point["x"], point["y"], point["z"], 1.0 if trust is None else trust]


KEYPOINT_JSON = Format(
    name="keypoint JSON",
    suffixes=(".json",),
    sniff=sniff,
    read=read_keypoint_json,
    holds=frozenset({"markers"}),
)
