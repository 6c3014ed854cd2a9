"""Characters that ``map`` moves; prints what docs/numbers/animation.md says.

    DATA=… python accuracy_characters.py [PICTURES_FOLDER]

Characters of the recordings' folder and generated ones, each moved by markers and by poses: where
feet head, when they touch the ground, how far edges of the mesh are stretched, what else the file
holds, and what Khronos' validator says of it (``make tests/node/node_modules``).
"""

import struct
import sys
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))
sys.path.insert(0, str(Path(__file__).parent))

from accuracy_pops import DATA

import osteon as ost
from characters import mixamo_like
from glb_files import khronos, parts
from osteon.errors import OsteonError
from osteon.formats import Skinned, read_glb_mesh, write_character
from osteon.human import figure_at_rest
from osteon.maths import quat
from osteon.pipeline import Solved, map_to
from osteon.values import Motion

HERE = Path(__file__).parents[1]
OWN = ("CesiumMan", "RiggedFigure")
GENERATED = {
    "Mixamo's names, T": {},
    "Mixamo's, A, twist bones, fingers": {"spread": 0.9, "details": True},
    "Mixamo's, odd pose": {"posed": True, "spread": 0.6},
    "Mixamo's, no ends of limbs": {"ends": "none", "prefix": "mixamorig"},
    "Unreal's, A, twist bones, fingers": {"style": "unreal", "spread": 0.8, "details": True},
    "Unreal's, odd pose": {"style": "unreal", "posed": True, "spread": 1.2, "ends": "none"},
    "VRM's, T, metres, fingers": {"style": "vrm", "centimetres": False, "details": True},
    "VRM's, odd pose": {"style": "vrm", "posed": True, "spread": 0.6},
}
TAKES = ("cmu-02/02_01.c3d", "cmu-02/02_01.bvh", "cmu-01/01_01.c3d", "cmu-01/01_01.bvh")
"""A walk and jumps, from markers and from poses."""
GOING = 0.5
"""Metres per second from which on somebody travels."""
SHORT_EDGE = 0.02
"""Metres below which an edge is thickness of cloth, not length of a limb."""


def main(pictures: Path | None) -> None:
    print("| character ← take | feet off travel, ° median (95 %) | performer's own | contacts as "
          "the performer's | edges, × bind | of all | kept | validator |")  # fmt: skip
    print("|---|--:|--:|--:|--:|--:|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name, path in heroes(Path(folder)):
            for take in TAKES:
                print(row(name, path, take, Path(folder), pictures), flush=True)


def heroes(folder: Path) -> Iterator[tuple[str, Path]]:
    for name in OWN:
        yield name, DATA / "characters" / f"{name}.glb"
    for index, (name, kind) in enumerate(GENERATED.items()):
        yield name, mixamo_like(folder / f"hero{index}.glb", **kind)


def row(name: str, hero: Path, take: str, folder: Path, pictures: Path | None) -> str:
    try:
        mapped = map_to(DATA / take, hero)
    except OsteonError as error:
        return f"| {name} ← {take} | refused: {error} |"
    own = performer(take)
    skin = read_glb_mesh(hero)
    assert isinstance(skin, Skinned)
    target = folder / "moved.glb"
    write_character(target, hero, mapped.motion, Path(take).stem)
    least, most, beyond = stretch(skin, mapped.motion)
    down = stood(own)
    theirs, found = off_travel(own.motion, down), off_travel(mapped.motion, down)
    same = np.mean(down == stood(mapped))
    cells = [
        f"{name} ← {take}",
        f"{np.median(found):.0f} ({np.quantile(found, 0.95):.0f})",
        f"{np.median(theirs):.0f} ({np.quantile(theirs, 0.95):.0f})",
        f"{100 * same:.0f} %",
        f"{least:.2f}–{most:.2f}",
        f"{100 * beyond:.2f} % beyond ½–2",
        "yes" if kept(hero, target) else "NO",
        validated(hero, target),
    ]
    if pictures:
        picture(skin, mapped.motion, pictures / f"{hero.stem}_{Path(take).name}.png")
    return f"| {' | '.join(cells)} |"


PERFORMERS: dict[str, Solved] = {}


def performer(take: str) -> Solved:
    """The take on the performer's own skeleton."""
    if take not in PERFORMERS:
        path = DATA / take
        own = ost.read(path).motion().skeleton if path.suffix == ".bvh" else None
        PERFORMERS[take] = ost.solve(path)[0] if own is None else map_to(path, own)
    return PERFORMERS[take]


def off_travel(motion: Motion, down: np.ndarray) -> np.ndarray:
    """Degrees between where each sole heads and where the pelvis goes, where it does and the foot
    is ``down`` (2, n_frames): one that hangs heads nowhere."""
    figure, (turned, joints) = figure_at_rest(motion.skeleton), motion.world()
    half = max(1, round(0.25 * motion.rate))
    hips = joints[:, motion.skeleton.index(figure.parts["pelvis"]), :2]
    way = hips[2 * half :] - hips[: -2 * half]
    going = np.linalg.norm(way, axis=-1) * motion.rate / (2 * half) > GOING
    found = []
    for side, on in zip(("left", "right"), down, strict=True):
        sole, body = figure.sole(side), motion.skeleton.index(figure.parts[f"{side}_foot"])
        heading = quat.rotate(quat.inverse(figure.rotations[body]), sole[:, 0])
        heading = quat.rotate(turned[half:-half, body], heading)
        turn = np.arctan2(heading[:, 1], heading[:, 0]) - np.arctan2(way[:, 1], way[:, 0])
        found.append(np.degrees(np.abs(np.angle(np.exp(1j * turn))))[going & on[half:-half]])
    return np.concatenate(found)


def stood(solved: Solved) -> np.ndarray:
    """(2, n_frames) whether each foot touches the ground, left first."""
    parts_of = figure_at_rest(solved.motion.skeleton).parts
    on = np.zeros((2, solved.motion.n_frames), dtype=bool)
    for side, part in enumerate(("left_foot", "right_foot")):
        for contact in solved.contacts:
            if contact.body == parts_of[part]:
                on[side, contact.frames[0] : contact.frames[1] + 1] = True
    return on


def deformed(skin: Skinned, motion: Motion, frame: int) -> np.ndarray:
    """The mesh as glTF has it in a frame."""
    mesh, (turned, joints) = skin.mesh, motion.frames(frame, frame).world()
    turns = quat.multiply(turned[0], quat.inverse(mesh.rotations))
    placed = np.zeros_like(mesh.vertices)
    for bodies, weights in zip(mesh.bodies.T, mesh.weights.T, strict=True):
        arms = quat.rotate(turns[bodies], mesh.vertices - mesh.joints[bodies])
        placed += weights[:, None] * (arms + joints[0, bodies])
    return placed


def edges_of(skin: Skinned) -> np.ndarray:
    pairs = np.concatenate([skin.mesh.triangles[:, pair] for pair in ([0, 1], [1, 2], [2, 0])])
    return np.unique(np.sort(pairs, axis=1), axis=0)


def stretch(skin: Skinned, motion: Motion) -> tuple[float, float, float]:
    """Least and most that an edge is stretched, and the share of edges beyond half and twice."""
    edges = edges_of(skin)

    def lengths(places: np.ndarray) -> np.ndarray:
        return np.linalg.norm(places[edges[:, 1]] - places[edges[:, 0]], axis=-1)

    own = lengths(skin.mesh.vertices)
    long = own > SHORT_EDGE
    frames = range(0, motion.n_frames, max(1, motion.n_frames // 60))
    every = np.array([(lengths(deformed(skin, motion, frame)) / own)[long] for frame in frames])
    beyond = ((every < 0.5) | (every > 2.0)).any(axis=0)
    return float(every.min()), float(every.max()), float(beyond.mean())


def kept(hero: Path, moved: Path) -> bool:
    """Whether the file has all it had, byte by byte, and one animation more."""
    (before, numbers), (after, more) = parts(hero), parts(moved)
    n_old = len(before.get("animations", []))
    same = more[: len(numbers)] == numbers and len(after["animations"]) == n_old + 1
    for key, value in before.items():
        if key == "buffers":
            continue
        found = after[key][: len(value)] if isinstance(value, list) else after[key]
        same &= found == value
    return same


def validated(hero: Path, moved: Path) -> str:
    """Errors and warnings, and before where there are any."""
    found = [
        f"{report['issues']['numErrors']}/{report['issues']['numWarnings']}"
        for report in khronos(moved, hero)
    ]
    return found[0] if found[0] == "0/0" else f"{found[0]} (before: {found[1]})"


def picture(skin: Skinned, motion: Motion, path: Path) -> None:
    """Six frames from the side and the front, to be looked at."""
    frames = np.linspace(0.05, 0.95, 6) * (motion.n_frames - 1)
    rows = []
    for along, across in ((0, 1), (1, 0)):
        tiles = [tile(deformed(skin, motion, int(f)), skin, along, across) for f in frames]
        rows.append(np.concatenate(tiles, axis=1))
    path.write_bytes(png(np.concatenate(rows)))


def png(image: np.ndarray) -> bytes:
    """A grey picture (height, width) as a file."""
    height, width = image.shape
    lines = np.pad(image, ((0, 0), (1, 0))).tobytes()  # each begins with its filter, none
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    chunks = [(b"IHDR", head), (b"IDAT", zlib.compress(lines)), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )


def tile(places: np.ndarray, skin: Skinned, along: int, across: int, size: int = 300) -> np.ndarray:
    """Triangles, each as the points within it, the nearest over the others."""
    corners = places[skin.mesh.triangles]
    corners = corners - [*np.median(places[:, :2], axis=0), 0.0]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    shades = 60 + 180 * np.abs(normals[:, across]) / (np.linalg.norm(normals, axis=-1) + 1e-12)
    u, v = np.meshgrid(np.linspace(0, 1, 12), np.linspace(0, 1, 12))
    inside = u + v <= 1.0
    u, v = u[inside], v[inside]
    points = np.einsum("k,tj->tkj", 1 - u - v, corners[:, 0])
    points = points + np.einsum("k,tj->tkj", u, corners[:, 1])
    points = points + np.einsum("k,tj->tkj", v, corners[:, 2])
    order = np.argsort(points[..., across].ravel())
    x = (size / 2 + size / 2.2 * points[..., along].ravel()[order]).astype(int)
    y = (size - 20 - size / 2.2 * points[..., 2].ravel()[order]).astype(int)
    good = (x >= 0) & (x < size) & (y >= 0) & (y < size)
    image = np.full((size, size), 20, np.uint8)
    image[size - 20] = 90  # the ground
    image[y[good], x[good]] = np.repeat(shades, len(u))[order][good]
    return image


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
