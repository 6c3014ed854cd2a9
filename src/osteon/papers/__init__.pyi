from .dividing import (
    Links as Links,
    divide as divide,
    joined as joined,
)
