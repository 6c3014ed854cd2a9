"""A performer on stage: frames in, poses out, and what is to be said about them."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec
import numpy as np

from osteon.live import label_watch
from osteon.live.calibrator import (
    Answer,
    Calibrated,
    CalibrationRefused,
    Calibrator,
    FoundLabels,
    Unlabelled,
)
from osteon.live.label_keeper import LabelKeeper
from osteon.live.stream_frames import MOST_NAMES, Arrivals, Dropped, Memory, Say, StreamFrame
from osteon.maths import forward_pose, quat
from osteon.posing import Follower, FramePose, warm_up
from osteon.typing import Array, unheard
from osteon.values import Attachment, Bodies, Event, Recording, Skeleton, Slip, event_sentence

FIRST_SECONDS = 2.0
"""Seconds of motion before the first calibration. Chosen: a pose soon; later calibrations improve
it."""
SHORTEST_PAUSE, LONGEST_PAUSE = 1.0, 30.0
"""Seconds between calibrations: a tenth of what has been seen, within these. Chosen: early ones
differ much, late ones little."""
LOST_SECONDS = 0.5
"""Seconds of points without a label, while labels are missing, after which the person is looked for
among them. Chosen: what comes back near its place is known by then."""
SAME_SECONDS = 2.0
"""Seconds within which the same thing, found by another calibration, is no news. Chosen:
calibrations place the start of one event a little differently."""
FARTHEST_PLACE = 100.0
"""Metres from the origin that no marker is. Chosen: no stage is so large."""
OTHER_KIND_SECONDS = 1.0
"""Seconds of nothing but the other kind, bodies or markers, after which the stream is one of it.
Chosen: a stray packet turns nothing over."""
UNTRUE_DISTANCE = 0.03
"""Metres: a pose whose median marker is further off than this is not shown. Chosen: about ten times
what a usual take leaves."""


@dataclass(frozen=True, slots=True, eq=False)
class LivePose:
    """What is shown of one frame."""

    number: int
    skeleton: Skeleton
    rotations: Array
    """(n_bodies, 4) to the parent's frame from the body's; root: to the world."""
    world: Array
    """(n_bodies, 4) to the world from the body's frame."""
    joints: Array
    """(n_bodies, 3) in the world, metres."""
    rms: float
    """Between model and what was seen, metres."""
    settled: bool = True
    """False where the fit needs more frames to come to its end."""


@dataclass
class LiveSession:
    """Calibrates while the performer moves, and poses every frame that is news.

    Parameters
    ----------
    rate
        Frames per second of the stream.
    skeleton
        A subject calibrated before; poses come from the first frame on.
    say
        Takes a sentence: swaps, slips, what the coach advises.
    """

    rate: float
    skeleton: Skeleton | None = None
    say: Say = unheard
    calibrator: Calibrator = field(default_factory=Calibrator)

    def __post_init__(self) -> None:
        self.arrivals = Arrivals(self.rate)
        self.dropped = Dropped(self.say)
        self.advice: tuple[str, ...] = ()
        self.calibrations = 0
        self._of_bodies: bool | None = None
        self._parents, self._offsets = np.zeros(0, dtype=np.int64), np.zeros((0, 3))
        self._said: set[str] = set()
        self._begin()
        warm_up()
        label_watch.warm_up()

    def _begin(self) -> None:
        """Nothing is known of whom the stream shows."""
        self.memory = Memory()
        self._courses = label_watch.Courses(self.rate)
        self.keeper = LabelKeeper(self.rate)
        self._following: Follower | BodyFollower | None = None
        self._seats: label_watch.Seats | None = None
        self._carriers = np.zeros(0, dtype=np.int64)
        self._next_look = FIRST_SECONDS * self.rate
        self._heard: Answer | None = None
        self._asked: tuple[int, ...] = ()
        self._noticed: list[Event] = []
        self._others = 0
        self._known_by: tuple[str, ...] = ()
        self._kept_labels = self._has_places = False
        self._next_search, self._pause = LOST_SECONDS * self.rate, SHORTEST_PAUSE

    def feed(self, frame: StreamFrame) -> LivePose | None:
        """Pose a frame; None where it is late, overtaken, too empty or fits nothing."""
        if not self._is_of_this_stream(frame):
            return None
        if not self._of_bodies:
            frame = self._with_labels_kept(frame)
            self._make_places(frame)
        values = self._values(frame)
        self._take_known()
        if not self.arrivals.is_news(frame.number):
            return None  # nor remembered: nobody can tell whether its labels are right
        if not self._of_bodies:
            values = self._with_right_labels(frame.number, values)
        self.memory.add(values, frame.number)
        if frame.overtaken:
            self.arrivals.overtaken += 1
            return None
        return self._pose(frame, values)

    def between_frames(self) -> None:
        """Do what takes milliseconds and is not urgent: when a pose is out."""
        self._hear_calibrator()
        self._ask_calibrator()

    def close(self) -> None:
        self.calibrator.close()

    def _is_of_this_stream(self, frame: StreamFrame) -> bool:
        """Return whether it holds markers as the stream does, or bodies; the first frame decides.

        One that strayed in must not spoil the stream, nor be the only one that counts.
        """
        bodies = frame.rotations is not None
        self._others = 0 if bodies == self._of_bodies else self._others + 1
        if self._of_bodies is None or self._others > OTHER_KIND_SECONDS * self.rate:
            self._begin()
            self._of_bodies = bodies
        if bodies == self._of_bodies:
            return True
        kinds = ("bodies", "markers") if bodies else ("markers", "bodies")
        told = f"frame {frame.number}: {kinds[0]} in a stream of {kinds[1]} are left out"
        self.dropped.add("frames of another kind", told)
        return False

    def _values(self, frame: StreamFrame) -> Array:
        """Return (n_names, 3 or 7) the frame in the order of the session's names."""
        given = self._within_reach(frame)
        if frame.rotations is not None:
            given = np.concatenate([given, frame.rotations], axis=1)
        before = self.memory.replaced
        columns = self.memory.roster(frame.names)
        placed = columns >= 0
        if self.memory.replaced != before:
            self._go_on_with_new_names()
        if not placed.all():
            name = frame.names[int(np.argmin(placed))]
            told = f"frame {frame.number}: more than {MOST_NAMES} names came, {name} is left out"
            self.dropped.add("markers for which there was no place", told, int((~placed).sum()))
        values = np.full((len(self.memory.names), given.shape[1]), np.nan)
        values[columns[placed]] = given[placed]
        return values

    def _within_reach(self, frame: StreamFrame) -> Array:
        """Return the places of a frame; NaN where nothing can be."""
        far = np.abs(frame.positions).max(axis=1, initial=0.0) > FARTHEST_PLACE
        if not far.any():
            return frame.positions
        name = frame.names[int(np.argmax(far))]
        told = (
            f"frame {frame.number}: {name} is farther than {FARTHEST_PLACE:.0f} m from the origin, "
            "and taken as not seen; a stream is in metres"
        )
        self.dropped.add("places out of reach", told, int(far.sum()))
        return np.where(far[:, None], np.nan, frame.positions)

    def _go_on_with_new_names(self) -> None:
        """Columns have changed hands: nothing that was known by column holds, the skeleton does."""
        self._courses = label_watch.Courses(self.rate)
        if self._following is not None:
            self._adopt(Calibrated(self._following.skeleton, self.advice))

    def _with_labels_kept(self, frame: StreamFrame) -> StreamFrame:
        frame, given = self.keeper.keep(frame)
        if given and not self._kept_labels:
            self._kept_labels = True
            point, label = given[0]
            self.say(
                f"frame {frame.number}: {point} is {label}, by where the person's markers must be; "
                "labels that break off are kept so from now on, without a word"
            )
        return frame

    def _with_right_labels(self, number: int, values: Array) -> Array:
        values, changed = self._courses.sort_out(number, values, self._places(number, len(values)))
        for pair in changed:
            a, b = (self.memory.names[column] for column in pair)
            right = all(self._courses.is_under_its_own(column) for column in pair)
            now = "right again" if right else "exchanged; put right"
            self.say(f"frame {number}: labels {a} and {b} are {now}")
        return values

    def _places(self, number: int, n_names: int) -> Array | None:
        """Return (n_names, 3) where the poses before have the person's markers; NaN of others."""
        following, expected = self._following, self.keeper.expected(number)
        if expected is None or not isinstance(following, Follower):
            return None
        places = np.full((n_names, 3), np.nan)
        places[following.columns] = expected
        return places

    def _ask_calibrator(self) -> None:
        seen = self.memory.count
        if not self.calibrator.idle:
            return
        following = self._following
        person = self.skeleton if following is None else following.skeleton
        lost = following is None or self.keeper.n_lost > LOST_SECONDS * self.rate
        if person is not None and lost and not self._of_bodies and seen >= self._next_search:
            self._ask_for_labels(person)
            return
        if seen < self._next_look or self.skeleton is not None:
            return
        wait = np.clip(seen / self.rate / 10.0, SHORTEST_PAUSE, LONGEST_PAUSE)
        self._next_look = seen + wait * self.rate
        worth = self.memory.worth()
        kept, names = self.memory.frames()[:, worth], self.memory.names
        names = tuple(names[column] for column in worth)
        self._asked = self.memory.numbers
        rate = self.rate / self.memory.stride
        if self._of_bodies:
            self.calibrator.submit(Bodies(kept[..., :3], kept[..., 3:], names, rate))
        else:
            self.calibrator.submit(Recording(kept, names, rate))

    def _ask_for_labels(self, person: Skeleton) -> None:
        """Have a person who is known looked for in points whose names say nothing."""
        self._next_search = self.memory.count + self._pause * self.rate
        self._pause = min(2.0 * self._pause, LONGEST_PAUSE)
        rate = self.rate / self.memory.stride
        lately = self.memory.frames()[-round(FIRST_SECONDS * rate) :]
        self.calibrator.submit(Unlabelled(person, Recording(lately, self.memory.names, rate)))

    def _make_places(self, frame: StreamFrame) -> None:
        """Have a place for every marker of a known person who is there, also for those that come
        under another name."""
        if self._has_places or self.skeleton is None:
            return
        worn = self.skeleton.marker_names
        if not worn.isdisjoint(frame.names):
            self.memory.roster(tuple(sorted(worn)))
            self._has_places = True

    def _take_known(self) -> None:
        """Follow with a skeleton that was given, as soon as its markers have names."""
        if self.skeleton is None or self._known_by == self.memory.names:
            return
        self._known_by = self.memory.names
        worn = self.skeleton.marker_names if not self._of_bodies else set(self.skeleton.names)
        here = worn & set(self.memory.names)
        if self._following is None or not here <= set(self._following.names):
            self._adopt(Calibrated(self.skeleton))

    def _hear_calibrator(self) -> None:
        heard, self._heard = self._heard, None
        match heard:
            case Calibrated() as found:
                self.calibrations += 1
                self._adopt(found)
            case FoundLabels(given):
                if self.keeper.know(given):
                    self._pause = SHORTEST_PAUSE
                self._say_once(f"{len(given)} points without labels are known by the skeleton")
            case CalibrationRefused(sentence):
                self._say_once(sentence)
            case None:  # to hear and to adopt take milliseconds each: not after the same frame
                self._heard = self.calibrator.poll()

    def _adopt(self, found: Calibrated) -> None:
        """Follow with the new skeleton, from the pose that the old one had."""
        self.advice = found.advice
        for sentence in (*found.advice[:1], *found.doubts):
            self._say_once(sentence)
        for event in found.events:
            self._notice(number_event(event, self._asked))
        self._parents = np.array(found.skeleton.parents, dtype=np.int64)
        self._offsets = np.array(found.skeleton.offsets)
        here, before = set(self.memory.names), self._following
        if self._of_bodies:
            whole = set(found.skeleton.names) <= here
            self._following = BodyFollower(found.skeleton, self.memory.names) if whole else None
            return
        if not found.skeleton.marker_names & here:
            self._following = None
            return
        following = Follower(found.skeleton, self.memory.names)
        if isinstance(before, Follower) and before.skeleton.names == found.skeleton.names:
            following.go_on_from(before)
        self._following = following
        carriers = following.rig.tree.marker_bodies
        if self._seats is None or not np.array_equal(carriers, self._carriers):
            self._seats, self._carriers = label_watch.Seats(self.rate, carriers), carriers

    def _notice(self, event: Event) -> None:
        """Tell what happened, once: every calibration finds it anew, a little elsewhere."""
        near = SAME_SECONDS * self.rate
        if not any(is_same_event(event, known, near) for known in self._noticed):
            self._noticed.append(event)
            self.say(event_sentence(event))

    def _say_once(self, sentence: str) -> None:
        if sentence not in self._said:
            self._said.add(sentence)
            self.say(sentence)

    def _pose(self, frame: StreamFrame, values: Array) -> LivePose | None:
        following = self._following
        found = None if following is None else following.follow(values)
        if following is None or found is None or not found.typical < UNTRUE_DISTANCE:
            return None
        world, joints = forward_pose(found.rotations, found.root, self._offsets, self._parents)
        if isinstance(following, Follower):
            self._look_for_slips(frame.number, following, values)
            tree, places = following.rig.tree, following.rig.places
            markers = joints[tree.marker_bodies] + quat.rotate(world[tree.marker_bodies], places)
            self.keeper.saw(frame.number, following, markers)
        shown = (following.skeleton, found.rotations, world, joints, found.rms, found.settled)
        return LivePose(frame.number, *shown)

    def _look_for_slips(self, number: int, following: Follower, values: Array) -> None:
        assert self._seats is not None
        for column, since, size in self._seats.slipped(number, values[following.columns]):
            name = self.memory.names[following.columns[column]]
            self.say(f"frame {since}: marker {name} slipped, {1e3 * size:.0f} mm or more")
            self.memory.forget(name)
            self._next_look = self.memory.count + self.rate


def number_event(event: Event, numbers: Sequence[int]) -> Event:
    """Tell an event of calibrated frames by these frames' ``numbers`` in the stream."""
    if isinstance(event, Slip):
        return msgspec.structs.replace(event, frame=numbers[event.frame])
    first, last = event.frames
    return msgspec.structs.replace(event, frames=(numbers[first], numbers[last]))


def is_same_event(one: Event, other: Event, near: float) -> bool:
    """Return whether two calibrations mean the same; what still lasts has a later end each time."""
    return _what(one) == _what(other) and abs(_start(one) - _start(other)) <= near


def _what(event: Event) -> tuple[str, ...]:
    if isinstance(event, Slip):
        return ("slip", event.body)
    if isinstance(event, Attachment):
        return ("attachment", *sorted(event.bodies))
    return ("swap", *sorted(event.markers))


def _start(event: Event) -> int:
    return event.frame if isinstance(event, Slip) else event.frames[0]


class BodyFollower:
    """A skeleton that follows a stream of bodies, joints together [000].

    Rotations are the sensors' own; a body that is not seen keeps its last turn against its parent.
    The whole figure stands where it agrees best with all sensors.
    """

    def __init__(self, skeleton: Skeleton, names: tuple[str, ...]) -> None:
        self.skeleton, self.names = skeleton, names
        self._columns = [names.index(body.name) for body in skeleton.bodies]
        self._parents = np.array(skeleton.parents, dtype=np.int64)
        self._offsets = np.array(skeleton.offsets)  # kernels know one kind of array, writable
        self._local = quat.identity((len(skeleton.bodies),))

    def follow(self, values: Array) -> FramePose | None:
        """Pose bodies (n_names, 7): place, then rotation; None where none is seen."""
        places, turns = values[self._columns, :3], values[self._columns, 3:]
        seen = np.isfinite(places[:, 0])
        if not seen.any():
            return None
        for body, parent in enumerate(self._parents):
            if seen[body] and (parent < 0 or seen[parent]):
                above = quat.identity() if parent < 0 else turns[parent]
                self._local[body] = quat.between(above, turns[body])
        world, joints = forward_pose(self._local, np.zeros(3), self._offsets, self._parents)
        origins = joints - quat.rotate(world, self.skeleton.joints_in_bodies)
        root = (places - origins)[seen].mean(axis=0)
        errors = np.linalg.norm(places - origins - root, axis=1)[seen]
        return FramePose(self._local.copy(), root, np.sort(errors))
