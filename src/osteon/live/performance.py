"""A performer on stage: frames in, poses out, and what is to be said about them."""

from dataclasses import dataclass, field

import numpy as np

from osteon.live import label_watch
from osteon.live.calibrator import Calibrated, CalibrationRefused, Calibrator
from osteon.live.follow_bodies import BodyFollower
from osteon.live.frame_source import Arrivals, Dropped, StreamFrame
from osteon.live.memory import MOST_NAMES, Memory
from osteon.live.noticed import in_stream, same_event
from osteon.maths import forward_pose
from osteon.posing import Follower, warm_up
from osteon.typing import Array, Say, unheard
from osteon.values import Bodies, Event, Recording, Skeleton, event_sentence

FIRST = 2.0
"""Seconds of motion before the first calibration."""
OFTEN, SELDOM = 1.0, 30.0
"""Seconds between calibrations: a tenth of what has been seen, within these."""
SAME = 2.0
"""Seconds within which the same thing, found by another calibration, is no news."""
FARTHEST = 100.0
"""Metres from the origin that no marker is: no stage is so large."""
ANOTHER = 1.0
"""Seconds of nothing but the other kind, bodies or markers, after which the stream is one of it."""
UNTRUE = 0.03
"""Metres: a pose whose median marker is further off than this is not shown."""


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
        self._following: Follower | BodyFollower | None = None
        self._seats: label_watch.Seats | None = None
        self._carriers = np.zeros(0, dtype=np.int64)
        self._next_look = FIRST * self.rate
        self._heard: Calibrated | CalibrationRefused | None = None
        self._asked: tuple[int, ...] = ()
        self._noticed: list[Event] = []
        self._others = 0

    def feed(self, frame: StreamFrame) -> LivePose | None:
        """The pose of a frame; None where it is late, overtaken, too empty or fits nothing."""
        if not self._is_of_this_stream(frame):
            return None
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
        return self._posed(frame, values)

    def between_frames(self) -> None:
        """What takes milliseconds and is not urgent: do it when a pose is out."""
        self._hear_calibrator()
        self._ask_calibrator()

    def close(self) -> None:
        self.calibrator.close()

    def _is_of_this_stream(self, frame: StreamFrame) -> bool:
        """Whether it holds markers as the stream does, or bodies; the first frame decides.

        One that strayed in must not spoil the stream, nor be the only one that counts.
        """
        bodies = frame.rotations is not None
        self._others = 0 if bodies == self._of_bodies else self._others + 1
        if self._of_bodies is None or self._others > ANOTHER * self.rate:
            self._begin()
            self._of_bodies = bodies
        if bodies == self._of_bodies:
            return True
        kinds = ("bodies", "markers") if bodies else ("markers", "bodies")
        told = f"frame {frame.number}: {kinds[0]} in a stream of {kinds[1]} are left out"
        self.dropped.add("frames of another kind", told)
        return False

    def _values(self, frame: StreamFrame) -> Array:
        """(n_names, 3 or 7) the frame in the order of the session's names."""
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
        """The places of a frame; NaN where nothing can be."""
        far = np.abs(frame.positions).max(axis=1, initial=0.0) > FARTHEST
        if not far.any():
            return frame.positions
        name = frame.names[int(np.argmax(far))]
        told = (
            f"frame {frame.number}: {name} is farther than {FARTHEST:.0f} m from the origin, and "
            "taken as not seen; a stream is in metres"
        )
        self.dropped.add("places out of reach", told, int(far.sum()))
        return np.where(far[:, None], np.nan, frame.positions)

    def _go_on_with_new_names(self) -> None:
        """Columns have changed hands: nothing that was known by column holds, the skeleton does."""
        self._courses = label_watch.Courses(self.rate)
        if self._following is not None:
            self._adopt(Calibrated(self._following.skeleton, self.advice))

    def _with_right_labels(self, number: int, values: Array) -> Array:
        values, changed = self._courses.sorted_out(number, values)
        for pair in changed:
            a, b = (self.memory.names[column] for column in pair)
            now = "exchanged; put right" if pair in self._courses.exchanged else "right again"
            self.say(f"frame {number}: labels {a} and {b} are {now}")
        return values

    def _ask_calibrator(self) -> None:
        seen = self.memory.count
        if not self.calibrator.idle or seen < self._next_look or self.skeleton is not None:
            return
        wait = np.clip(seen / self.rate / 10.0, OFTEN, SELDOM)
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

    def _take_known(self) -> None:
        """Follow with a skeleton that was given, as soon as its markers have names."""
        joined = self._following is not None and self._following.names != self.memory.names
        if self.skeleton is not None and (self._following is None or joined):
            self._adopt(Calibrated(self.skeleton))

    def _hear_calibrator(self) -> None:
        heard, self._heard = self._heard, None
        match heard:
            case Calibrated() as found:
                self.calibrations += 1
                self._adopt(found)
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
            self._notice(in_stream(event, self._asked))
        self._parents = np.array(found.skeleton.parents, dtype=np.int64)
        self._offsets = found.skeleton.offsets
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
        near = SAME * self.rate
        if not any(same_event(event, known, near) for known in self._noticed):
            self._noticed.append(event)
            self.say(event_sentence(event))

    def _say_once(self, sentence: str) -> None:
        if sentence not in self._said:
            self._said.add(sentence)
            self.say(sentence)

    def _posed(self, frame: StreamFrame, values: Array) -> LivePose | None:
        following = self._following
        found = None if following is None else following.follow(values)
        if following is None or found is None or not found.typical < UNTRUE:
            return None
        world, joints = forward_pose(found.rotations, found.root, self._offsets, self._parents)
        if isinstance(following, Follower):
            self._look_for_slips(frame.number, following, values)
        shown = (following.skeleton, found.rotations, world, joints, found.rms, found.settled)
        return LivePose(frame.number, *shown)

    def _look_for_slips(self, number: int, following: Follower, values: Array) -> None:
        assert self._seats is not None
        for column, since, size in self._seats.slipped(number, values[following.columns]):
            name = self.memory.names[following.columns[column]]
            self.say(f"frame {since}: marker {name} slipped, {1e3 * size:.0f} mm or more")
            self.memory.forget(name)
            self._next_look = self.memory.count + self.rate
