from .fit_joints import (
    FitResult as FitResult,
    fit as fit,
)
from .lengths import fit_lengths as fit_lengths
from .moments import (
    LengthEstimate as LengthEstimate,
    debiased as debiased,
    length_moments as length_moments,
)
from .rectification import rectify as rectify
from .trees import read_tree as read_tree
