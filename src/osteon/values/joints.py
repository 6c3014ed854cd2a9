"""What the joint stage finds: connections between bodies, and how far to trust each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from osteon.typing import Array
from osteon.values.array_checks import freeze
from osteon.values.recording import Event
from osteon.values.skeleton import Body, Joint, Loop, Marker, Skeleton, ellipsoid


@dataclass(frozen=True, slots=True, eq=False)
class Connection:
    """A joint between a body and its parent."""

    parent: str
    child: str
    in_parent: Array
    """(3,) the joint in the parent's frame (``l`` of [000]), metres."""
    in_child: Array
    """(3,) the joint in the child's frame (``c``), metres."""
    covariance: Array
    """(6, 6) of [in_child, in_parent], square metres."""
    rms: float
    """Distance between the two bodies' ideas of the joint over the take, metres."""
    kind: str = "ball"
    """``ball``; ``hinge`` where motion shows one axis; ``fixed`` where it shows none; ``free``
    where the two bodies share no point at all."""
    axis_in_parent: Array | None = None
    axis_in_child: Array | None = None
    """(3,) the single axis of a hinge, unit; both halves point the same way in the world."""
    margin: float = np.inf
    """How clearly this joint beats its best rival: 0 a tie, 0.7 twice the unexplained square."""
    rival: tuple[str, str] | None = None
    """The two bodies that would be joined instead."""
    ambiguous: bool = False
    """Whether the motion does not settle that these two are joined."""

    def __post_init__(self) -> None:
        freeze(self, in_parent=(3,), in_child=(3,), covariance=(6, 6))

    @property
    def ellipsoid(self) -> tuple[Array, Array]:
        """Of the joint centre, in the parent's frame."""
        return ellipsoid(self.covariance[3:, 3:])


@dataclass(frozen=True, slots=True, eq=False)
class Advice:
    """What a joint still needs, and what it would bring."""

    child: str
    deviation: float
    """Metres: how uncertain the joint is in its worst direction."""
    direction: Array
    """(3,) that direction in the parent's frame, unit."""
    axis: Array
    """(3,) the missing rotation's axis in the parent's frame, unit."""
    reachable: float
    """Metres: the deviation that the advised motion would bring."""
    text: str


@dataclass(frozen=True, slots=True, eq=False)
class Joints:
    """Bodies and the joints that the motion shows between them."""

    root: str
    connections: tuple[Connection, ...]
    """From the root outwards: a body is a child before it is a parent."""
    looseness: dict[str, float]
    """Per body: rms that it adds to its joints, metres."""
    residuals: Array
    """(n_frames, n_connections) distance between both ideas of each joint, metres; NaN where one
    of the bodies was not seen."""
    rate: float
    loops: tuple[Loop, ...] = ()
    events: tuple[Event, ...] = ()
    advice: tuple[Advice, ...] = ()
    warnings: tuple[str, ...] = ()
    subject: str = ""
    history: tuple[str, ...] = ()
    markers: Mapping[str, tuple[Marker, ...]] = field(default_factory=dict)
    """Per body, where bodies are clusters of markers."""
    visible_slips: Mapping[str, float] = field(default_factory=dict)
    """Per body: from which size on a slip would have been seen, metres; none in takes too short."""

    def __post_init__(self) -> None:
        freeze(self, residuals=("n_frames", len(self.connections)))

    @property
    def names(self) -> tuple[str, ...]:
        return (self.root, *(connection.child for connection in self.connections))

    @property
    def ambiguous(self) -> bool:
        """Whether another hierarchy explains the motion about as well."""
        return any(connection.ambiguous for connection in self.connections)

    def joints_of(self, body: str) -> dict[str, Array]:
        """Return joints (3,) that lie in a body, in its frame, by the name of the other body."""
        found = {}
        for connection in self.connections:
            if connection.kind == "free":
                continue
            if connection.child == body:
                found[connection.parent] = connection.in_child
            if connection.parent == body:
                found[connection.child] = connection.in_parent
        return found

    def skeleton(self) -> Skeleton:
        """Return the rig: one body per sensor, each hanging on its parent by its joint."""
        bodies = [Body(self.root, None)]
        bodies += [_body(connection, self.connections) for connection in self.connections]
        return Skeleton(
            tuple(replace(body, markers=self.markers.get(body.name, ())) for body in bodies),
            subject=self.subject,
            loops=self.loops,
            events=self.events,
            history=self.history,
        )


def _body(connection: Connection, connections: Sequence[Connection]) -> Body:
    axes = () if connection.axis_in_parent is None else (connection.axis_in_parent,)
    joint = Joint(
        kind=connection.kind,
        in_parent=connection.in_parent,
        in_body=connection.in_child,
        axes=np.array(axes).reshape(-1, 3),
        rms=connection.rms,
        covariance=connection.covariance[3:, 3:],
    )
    onward = [other for other in connections if other.parent == connection.child]
    # a bone goes on where exactly one joint follows; at a fork there is no single length
    length = (
        float(np.linalg.norm(onward[0].in_parent - connection.in_child))
        if len(onward) == 1
        else None
    )
    return Body(connection.child, connection.parent, joint, length)
