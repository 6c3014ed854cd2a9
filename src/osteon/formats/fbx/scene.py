"""What an FBX file says of its models: their tree, their transforms, the curves that drive them and
the pose they are bound in."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from osteon.errors import FormatError
from osteon.formats.fbx.nodes import FbxFile, FbxRecord
from osteon.formats.fbx.write import CENTIMETRE, CUSTOM_MODE, TICK_RATE, TIME_MODES
from osteon.maths import euler, quat
from osteon.typing import Array

BONES = ("LimbNode", "Limb", "Root")
ORDERS = ("zyx", "yzx", "xzy", "zxy", "yxz", "xyz")
"""Axes as we name them, by FBX's codes of rotation orders; its first axis is our last."""
CONSTANT_FLAG, CUBIC_FLAG, USER_FLAG = 2, 8, 0x400
"""Codes of keys that hold, that bend, and whose slopes are told; defined by FBX."""
DROP_MODES = {7: 30.0, 8: 30000 / 1001}
"""Frames per second of two more codes of time modes, defined by FBX: time codes that drop frames
count the same frames."""
SEGMENT_SCALE = 2
"""Code of a model that its parent's own scale leaves alone, defined by FBX."""
LEAST_VOLUME = 1e-12
"""Ratio of volumes below which a matrix tells no rotation; chosen: 1e-4 along three axes."""
UNITS = {1.0: "cm", 100.0: "m", 0.1: "mm", 2.54: "in", 30.48: "ft"}
"""Names of units by centimetres in them."""
LEAST_UNIT, MOST_UNIT = 1e-6, 1e6
"""Centimetres in a unit; chosen: beyond, nobody's."""


@dataclass
class SceneModel:
    """A node of the scene."""

    name: str
    kind: str
    told: dict[str, tuple[Any, ...]]
    children: list[int] = field(default_factory=list)

    def vector(self, name: str, default: float = 0.0) -> Array:
        return numbers_of(self.told.get(name, ()), [default] * 3)


class KeyedCurve(NamedTuple):
    """One number over time."""

    times: np.ndarray
    """(n_keys,) ticks, going up."""
    values: Array
    flags: np.ndarray
    """(n_keys,) how it goes on from each key."""
    slopes: Array
    """(n_keys, 2) at a key and at the next, per second."""

    def at(self, times: Array) -> Array:
        """Return values at times in ticks; held beyond the keys."""
        if len(self.times) == 1:
            return np.full(len(times), self.values[0])
        left = np.clip(np.searchsorted(self.times, times, side="right") - 1, 0, len(self.times) - 2)
        step = (self.times[left + 1] - self.times[left]) / TICK_RATE
        share = np.clip((times - self.times[left]) / TICK_RATE / step, 0.0, 1.0)
        a, b = self.values[left], self.values[left + 1]
        found = a + share * (b - a)
        flags = self.flags[left]
        found = np.where((flags & CONSTANT_FLAG > 0) & (share < 1.0), a, found)
        start, end = self._ends(left)
        bent = _hermite(share, a, b, start * step, end * step)
        return np.where(flags & CUBIC_FLAG > 0, bent, found)

    def _ends(self, left: np.ndarray) -> tuple[Array, Array]:
        """Return slopes per second at both ends of pieces: as told, or from the keys around."""
        near = np.arange(len(self.times))[:, None] + [-1, 1]
        before, after = np.clip(near, 0, len(self.times) - 1).T
        span = (self.times[after] - self.times[before]) / TICK_RATE
        found = (self.values[after] - self.values[before]) / span
        told = self.flags & USER_FLAG > 0
        start = np.where(told[left], self.slopes[left, 0], found[left])
        return start, np.where(told[left], self.slopes[left, 1], found[left + 1])


def _hermite(share: Array, a: Array, b: Array, start: Array, end: Array) -> Array:
    """Return the cubic from a to b that leaves and arrives with these slopes per piece."""
    rest = 1.0 - share
    ends = rest**2 * (1.0 + 2.0 * share) * a + share**2 * (3.0 - 2.0 * share) * b
    return ends + share * rest**2 * start - share**2 * rest * end


def numbers_of(values: Sequence[Any], default: Sequence[float]) -> Array:
    """Return as many finite numbers as ``default`` has, or that."""
    wanted = values[: len(default)]
    plain = [float(value) for value in wanted if isinstance(value, int | float)]
    good = len(plain) == len(default) and bool(np.isfinite(plain).all())
    return np.array(plain if good else default, dtype=float)


def properties_of(record: FbxRecord | None) -> dict[str, tuple[Any, ...]]:
    """Return name → values of a record's table of properties."""
    table = record.find("Properties70") if record else None
    rows = (row.values for row in table.all("P")) if table else ()
    return {row[0]: row[4:] for row in rows if len(row) > 4 and isinstance(row[0], str)}


Curves = dict[tuple[int, str], list[KeyedCurve | None]]
"""By model and property: of x, y, z."""


class SceneInFile:
    """Objects of a file by id, and which hangs on which."""

    def __init__(self, file: FbxFile) -> None:
        self.file = file
        head = file.root.find("FBXHeaderExtension")
        secret = head.find("EncryptionType") if head else None
        if secret and secret.values and secret.values[0]:
            raise FormatError(file.path, "is encrypted; save it without a password")
        self.settings = properties_of(file.root.find("GlobalSettings"))
        objects = file.root.find("Objects")
        self.objects: dict[int, FbxRecord] = {}
        for record in objects.children if objects else ():
            if len(record.values) > 2 and isinstance(record.values[0], int):
                self.objects.setdefault(record.values[0], record)
        self.below: dict[int, list[tuple[int, str]]] = defaultdict(list)
        self.above: dict[int, list[tuple[int, str]]] = defaultdict(list)
        for child, parent, driven in self._connections():
            self.below[parent].append((child, driven))
            self.above[child].append((parent, driven))

    def _connections(self) -> Iterator[tuple[int, int, str]]:
        table = self.file.root.find("Connections")
        for record in table.all("C") if table else ():
            if len(record.values) > 2 and all(isinstance(v, int) for v in record.values[1:3]):
                driven = record.values[3] if len(record.values) > 3 else ""
                yield record.values[1], record.values[2], str(driven)

    @property
    def creator(self) -> str:
        """The program that wrote the file."""
        record = self.file.root.find("Creator")
        return str(record.values[0]) if record and record.values else ""

    @cached_property
    def places(self) -> dict[int, int]:
        """Place in ``models`` of every model's id."""
        ids = [number for number, record in self.objects.items() if record.name == "Model"]
        return {number: place for place, number in enumerate(ids)}

    @cached_property
    def models(self) -> list[SceneModel]:
        models = []
        for number in self.places:
            record = self.objects[number]
            name, kind = str(record.values[1]), str(record.values[2])
            models.append(SceneModel(name.partition("\0\x01")[0], kind, properties_of(record)))
        for number, place in self.places.items():
            parents = [
                self.places[p] for p, way in self.above[number] if p in self.places and not way
            ]
            if parents:
                models[parents[0]].children.append(place)
        return models

    def under(self, number: int, kind: str) -> Iterator[tuple[int, str]]:
        """Yield ids and driven properties of objects of a kind that hang on an object."""
        for child, driven in self.below[number]:
            if child in self.objects and self.objects[child].name == kind:
                yield child, driven

    def clusters(self) -> Iterator[tuple[int, FbxRecord]]:
        """Yield the place of each model that carries some skin, and how."""
        for number, record in self.objects.items():
            if record.name == "Deformer" and record.values[2] == "Cluster":
                for child, _ in self.under(number, "Model"):
                    yield self.places[child], record

    def bound(self) -> dict[int, Array]:
        """Return place of model → (4,) rotation to the file's world in which it was bound."""
        told: dict[int, FbxRecord | None] = {}
        for record in self.objects.values():
            if record.name == "Pose" and record.values[2] == "BindPose":
                for pose in record.all("PoseNode"):
                    node = pose.find("Node")
                    number = node.values[0] if node and node.values else None
                    if number in self.places:
                        told[self.places[number]] = pose.find("Matrix")
        # what carries the skin counts: bind poses are often left from earlier versions of a rig
        told |= {place: record.find("TransformLink") for place, record in self.clusters()}
        found = {place: self._rotation(matrix) for place, matrix in told.items()}
        return {place: turn for place, turn in found.items() if turn is not None}

    def _rotation(self, matrix: FbxRecord | None) -> Array | None:
        numbers = self.file.numbers(matrix, float)
        if len(numbers) != 16 or not np.isfinite(numbers).all():
            return None
        turn = numbers.reshape(4, 4)[:3, :3].T
        sizes = np.linalg.norm(turn, axis=0)
        if not (sizes > 0.0).all() or np.linalg.det(turn / sizes) < LEAST_VOLUME:
            return None
        return quat.from_matrix(quat.nearest_matrix(turn / sizes))

    def axes(self) -> tuple[Array, str, bool]:
        """Return the rotation (3, 3) to right, up and front from the file's axes, which one is up,
        and whether the file tells axes of one hand."""
        rows = np.zeros((3, 3))
        for row, (name, usual) in enumerate((("Coord", 0), ("Up", 1), ("Front", 2))):
            (axis,) = numbers_of(self.settings.get(f"{name}Axis", ()), [usual])
            (sign,) = numbers_of(self.settings.get(f"{name}AxisSign", ()), [1.0])
            rows[row, int(axis) if axis in (0, 1, 2) else usual] = -1.0 if sign < 0 else 1.0
        volume = np.linalg.det(rows)
        if abs(volume) < 0.5:
            return np.eye(3), "y", False
        rows[2] *= volume
        return rows, "xyz"[int(np.argmax(np.abs(rows[1])))], bool(volume > 0)

    def unit(self) -> tuple[float, str]:
        """Return metres in the file's unit, and its name."""
        (size,) = numbers_of(self.settings.get("UnitScaleFactor", ()), [1.0])
        if not LEAST_UNIT < size < MOST_UNIT:
            raise FormatError(self.file.path, f"counts in {size:g} centimetres, which is no unit")
        known = next((name for each, name in UNITS.items() if abs(size / each - 1.0) < 1e-9), None)
        return CENTIMETRE * size, known or f"cm/{1.0 / size!r}"

    def rate(self) -> float | None:
        """Return frames per second as the file tells them, if it does."""
        (mode,) = numbers_of(self.settings.get("TimeMode", ()), [0.0])
        if mode == CUSTOM_MODE:
            (rate,) = numbers_of(self.settings.get("CustomFrameRate", ()), [0.0])
            return float(rate) if rate > 0.0 else None
        known = {code: float(rate) for rate, code in TIME_MODES.items()} | DROP_MODES
        return known.get(int(mode))

    def curves(self, used: set[int]) -> tuple[Curves, list[str]]:
        """Return the curves of the first animation that drives any of these models."""
        stacks = [n for n, record in self.objects.items() if record.name == "AnimationStack"]
        for stack in stacks:
            found: Curves = {}
            layers = [layer for layer, _ in self.under(stack, "AnimationLayer")]
            for layer in reversed(layers):  # the first one's curves take the place of others'
                found |= self._layer(layer, used)
            if found:
                notes = [f"{len(stacks)} animations; the first that moves bones is read"]
                more = [f"{len(layers)} layers of animation; each bone's first one is read"]
                return found, notes * (len(stacks) > 1) + more * (len(layers) > 1)
        return {}, []

    def _layer(self, layer: int, used: set[int]) -> Curves:
        found: Curves = {}
        for node, _ in self.under(layer, "AnimationCurveNode"):
            curves: dict[str, KeyedCurve] = {}
            for number, driven in self.under(node, "AnimationCurve"):
                if (curve := self._curve(self.objects[number])) is not None:
                    curves[driven] = curve
            for parent, driven in self.above[node] if curves else ():
                if self.places.get(parent) in used and driven.startswith("Lcl "):
                    parts = [curves.get(f"d|{axis}") for axis in "XYZ"]
                    found[self.places[parent], driven] = parts
        return found

    def _curve(self, record: FbxRecord) -> KeyedCurve | None:
        times = self.file.numbers(record.find("KeyTime"), np.int64)
        values = self.file.numbers(record.find("KeyValueFloat"), float)
        if len(times) != len(values):
            raise FormatError(
                self.file.path, f"a curve has {len(times)} times and {len(values)} values"
            )
        if not (np.diff(times.astype(float)) > 0).all() or not np.isfinite(values).all():
            raise FormatError(self.file.path, "a curve goes back in time, or to no number")
        if not len(times):
            return None
        uses = self.file.numbers(record.find("KeyAttrRefCount"), np.int64)
        flags = self.file.numbers(record.find("KeyAttrFlags"), np.int64)
        data = self.file.numbers(record.find("KeyAttrDataFloat"), float)
        whole = len(uses) == len(flags) and len(data) == 4 * len(flags)
        if not (
            whole and (uses > 0).all() and (uses <= len(times)).all() and uses.sum() == len(times)
        ):
            return KeyedCurve(times, values, np.zeros(len(times), int), np.zeros((len(times), 2)))
        slopes = np.nan_to_num(data.reshape(-1, 4)[:, :2], posinf=0.0, neginf=0.0)
        return KeyedCurve(times, values, np.repeat(flags, uses), np.repeat(slopes, uses, axis=0))


class LocalPose(NamedTuple):
    """A model in its parent's frame; with a first axis of frames, or without."""

    rotation: Array
    place: Array
    scale: Array


def local_pose(model: SceneModel, driven: dict[str, Array]) -> LocalPose:
    """Return FBX's own formula for a transform: where values are driven, for every frame."""
    parts = {"Translation": 0.0, "Rotation": 0.0, "Scaling": 1.0}
    place, angles, scale = (
        driven.get(f"Lcl {name}", model.vector(f"Lcl {name}", usual))
        for name, usual in parts.items()
    )
    order, before, after = _turns(model)
    columns = ["xyz".index(axis) for axis in order]
    turn = euler.to_quat(np.radians(angles)[..., columns], order)
    turn = quat.multiply(quat.multiply(before, turn), quat.inverse(after))
    return LocalPose(turn, place + _pivoted(model, turn, scale), scale)


def driven_values(model: SceneModel, rotation: Array, place: Array) -> tuple[Array, Array]:
    """Return Lcl Rotation, degrees that do not jump, and Lcl Translation, (n_frames, 3), that give
    these poses in the parent's frame: :func:`local_pose` the other way round."""
    order, before, after = _turns(model)
    turn = quat.multiply(quat.multiply(quat.inverse(before), rotation), after)
    angles = np.degrees(euler.from_quat(turn, order))[..., [order.index(axis) for axis in "xyz"]]
    return angles, place - _pivoted(model, rotation, model.vector("Lcl Scaling", 1.0))


def _turns(model: SceneModel) -> tuple[str, Array, Array]:
    """Return the order of a model's angles, and the turns (4,) before and after them."""
    if not numbers_of(model.told.get("RotationActive", ()), [0.0])[0]:
        return ORDERS[0], quat.identity(), quat.identity()
    (code,) = numbers_of(model.told.get("RotationOrder", ()), [0.0])
    order = ORDERS[int(code)] if 0 <= code < len(ORDERS) else ORDERS[0]
    before, after = (_fixed_turn(model.vector(f"{name}Rotation")) for name in ("Pre", "Post"))
    return order, before, after


def _pivoted(model: SceneModel, turn: Array, scale: Array) -> Array:
    """Return how far pivots and offsets move a model."""
    pivot, shift = model.vector("RotationPivot"), model.vector("RotationOffset")
    centre, moved = model.vector("ScalingPivot"), model.vector("ScalingOffset")
    return shift + pivot + quat.rotate(turn, -pivot + moved + centre - scale * centre)


def _fixed_turn(degrees: Array) -> Array:
    return euler.to_quat(np.radians(degrees)[::-1], ORDERS[0])
