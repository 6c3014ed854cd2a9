from .dividing import (
    Links as Links,
    divide as divide,
    join as join,
)
