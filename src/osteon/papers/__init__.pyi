from .directions import em as em, pca as pca
from .dividing import (
    Links as Links,
    divide as divide,
    join as join,
)
from .thresholds import absolute as absolute, variance95 as variance95
