from . import batch as batch, live as live, synth as synth
from .anatomy import axes as axes, normalise as normalise
from .articulation import JointStatistics as JointStatistics, joints as joints
from .cleaning import clean as clean
from .delivery import deliver as deliver
from .errors import OsteonError as OsteonError
from .fixed_lengths import fit as fit, rectify as rectify
from .formats import read as read, write as write
from .joint_limits import LimitOptions as LimitOptions, limits as limits
from .labelling import label as label
from .pipeline import (
    MapOptions as MapOptions,
    SolveOptions as SolveOptions,
    angles as angles,
    map_to as map_to,
    moments as moments,
    solve as solve,
)
from .posing import reach as reach
from .values import (
    Bodies as Bodies,
    Joints as Joints,
    Motion as Motion,
    Recording as Recording,
    Skeleton as Skeleton,
    Take as Take,
)

__version__: str
