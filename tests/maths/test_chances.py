"""What chance allows, against scipy."""

import pytest
from scipy.special import fdtri

from osteon.maths import f_quantile


@pytest.mark.parametrize("above", [1.0, 2.0, 3.5, 34.0, 14_400.0])
@pytest.mark.parametrize("below", [1.0, 20.0, 3e5])
@pytest.mark.parametrize("chance", [0.05, 0.5, 0.95, 0.9999])
def test_f_quantiles_are_those_of_scipy(above: float, below: float, chance: float) -> None:
    assert f_quantile(above, below, chance) == pytest.approx(fdtri(above, below, chance), rel=1e-8)


def test_more_certainty_allows_more() -> None:
    found = [f_quantile(5.0, 40.0, chance) for chance in (0.1, 0.5, 0.9, 0.99)]
    assert found == sorted(found)
