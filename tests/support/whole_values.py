"""Values with every field set, and the comparison of all fields."""

import dataclasses

import numpy as np

from osteon.values import Attachment, Body, Joint, Limits, Loop, Marker, Skeleton, Slip, Swap


def full_skeleton(subject: str = "S") -> Skeleton:
    """Names that JSON readers like to mistake for something else, and every optional field."""
    hinge = Joint(
        "hinge", (0.1, 0.2, 1 / 3), (1e-300, -0.0, 0.3), [(0, 0, 1)], Limits((-0.1, np.inf)),
        rms=np.nan, covariance=np.diag([1e-6, np.inf, np.nan]),
    )  # fmt: skip
    euler = Limits(euler=(("x", -1.5, 0.25), ("z", -np.inf, 2.0)))
    bodies = (
        Body("null", None, Joint("free"), 0.4, (Marker("m", (1, 2, 3), 0.002, np.eye(3)),)),
        Body("nan", "null", hinge, None, (), (0.0, 0.1, 0.2)),
        Body("true", "nan", Joint("universal", axes=[(1, 0, 0), (0, 1, 0)], limits=euler)),
    )
    events = (
        Slip("nan", 3, np.nan),
        Swap(("a", "b"), (1, 2), True),
        Attachment(("nan", "true"), (0, 9), (0.0, 0.0, 1.0), (1.0, 0.0, 0.0), 0.01),
    )
    loop = Loop(("nan", "true"), (0, 1, 2), (3, 4, 5), np.inf)
    return Skeleton(bodies, subject, (loop,), events, ("made", "by hand"))


def assert_same(a: object, b: object, place: str = "take") -> None:
    """Equal in every field of every value; arrays bit for bit."""
    assert type(a) is type(b), place
    if isinstance(a, np.ndarray):
        assert a.dtype == b.dtype and a.shape == b.shape, place
        assert a.tobytes() == b.tobytes(), place
    elif dataclasses.is_dataclass(a) or hasattr(a, "__struct_fields__"):
        for name in getattr(a, "__struct_fields__", None) or [
            f.name for f in dataclasses.fields(a)
        ]:
            assert_same(getattr(a, name), getattr(b, name), f"{place}.{name}")
    elif isinstance(a, tuple):
        assert len(a) == len(b), place
        for i, pair in enumerate(zip(a, b, strict=True)):
            assert_same(*pair, f"{place}[{i}]")
    else:
        assert a == b or (a != a and b != b), place
