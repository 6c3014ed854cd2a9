"""What flows between the stages: Recording → Bodies → Joints → Skeleton → Motion.

Values are frozen, their arrays read-only, and they check themselves when made: a value that exists
is consistent. Time first, xyz last; metres, seconds, radians; z up; quaternions w, x, y, z; a
missing sample is NaN. ``history`` says what has been done, oldest first.
"""

from ossature.values.bodies import Bodies
from ossature.values.compact import CompactMotion
from ossature.values.events import Attachment, Event, Mark, Slip, Swap
from ossature.values.joints import Advice, Connection, Joints
from ossature.values.limb import Frame, Movement
from ossature.values.limits import Bind, Cone, Evidence, Limits
from ossature.values.motion import Motion
from ossature.values.recording import Analog, Recording
from ossature.values.skeleton import Body, Joint, Loop, Marker, Skeleton
from ossature.values.skin import SkinnedMesh
from ossature.values.source import Source
from ossature.values.take import Take

__all__ = [
    "Advice",
    "Analog",
    "Attachment",
    "Bind",
    "Bodies",
    "Body",
    "CompactMotion",
    "Cone",
    "Connection",
    "Event",
    "Evidence",
    "Frame",
    "Joint",
    "Joints",
    "Limits",
    "Loop",
    "Mark",
    "Marker",
    "Motion",
    "Movement",
    "Recording",
    "Skeleton",
    "SkinnedMesh",
    "Slip",
    "Source",
    "Swap",
    "Take",
]
