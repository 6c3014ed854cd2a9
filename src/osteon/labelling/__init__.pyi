from .average_human import average_wearer as average_wearer
from .by_hand import (
    SaidLabel as SaidLabel,
    relabel as relabel,
)
from .courses import (
    Chains as Chains,
    sure_chains as sure_chains,
)
from .first_frame import (
    Start as Start,
    find_first as find_first,
    find_start as find_start,
    find_starts as find_starts,
)
from .label_take import (
    DOUBTFUL as DOUBTFUL,
    Labelled as Labelled,
    LabelledPiece as LabelledPiece,
    cloud_of as cloud_of,
    label as label,
    set_named as set_named,
    share_of_samples as share_of_samples,
)
from .pieces import (
    Pieces as Pieces,
    cut_pieces as cut_pieces,
)
from .rigid_joins import join_by_neighbours as join_by_neighbours
from .wearer import (
    Wearer as Wearer,
    wearer_of as wearer_of,
)
