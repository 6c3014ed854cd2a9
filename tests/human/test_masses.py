"""What a figure is taken to weigh, against published proportions."""

import numpy as np
import pytest

from osteon.human import name_parts
from osteon.human.anthropometry import SHARES, standing_height
from osteon.values import Body, Joint, Skeleton


def test_shares_make_a_whole_body():
    """[de Leva 1996]; each is rounded to a thousandth."""
    once = SHARES["head"] + SHARES["trunk"]
    limbs = sum(share for part, share in SHARES.items() if part not in ("head", "trunk"))
    assert once + 2.0 * limbs == pytest.approx(1.0, abs=14 * 0.0005)


@pytest.mark.parametrize(("thigh", "shin"), [(0.245, 0.246), (0.2425, 0.2493)])
def test_height_follows_from_the_legs(thigh, shin):
    """People of 1.8 m with the legs of [Drillis 1966] and [de Leva 1996]."""
    bodies = [Body("pelvis", None, Joint("free"))]
    for side in ("left", "right"):
        bodies += [
            Body(f"{side}_thigh", "pelvis", Joint("ball")),
            Body(f"{side}_shin", f"{side}_thigh", _below(1.8 * thigh)),
            Body(f"{side}_foot", f"{side}_shin", _below(1.8 * shin)),
        ]
    person = Skeleton(tuple(bodies))
    assert standing_height(person, name_parts(person)) == pytest.approx(1.8, rel=0.005)


def _below(metres: float) -> Joint:
    return Joint("ball", in_parent=np.array([0.0, 0.0, -metres]))
