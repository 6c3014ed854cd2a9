"""What a person says about a joint: its kind, and how far it goes."""

from dataclasses import replace
from typing import Literal

import msgspec
import numpy as np

from osteon.edits.model import BaseEdit, EditStage, Place3, Touched
from osteon.errors import BadValue
from osteon.joint_limits import limits_toml
from osteon.values import Skeleton

Degrees = tuple[float, float]
"""Low and high."""


class LimitEdit(BaseEdit, frozen=True):
    """A change of one joint's kind or limits."""

    body: str

    @property
    def stage(self) -> EditStage:
        return "limits"

    def bodies_on(self, character: str) -> tuple[str, ...]:
        return (self.body,)

    def change(self, skeleton: Skeleton) -> Skeleton:
        """Return the skeleton with the joint as said."""
        raise NotImplementedError


class SetKind(LimitEdit, frozen=True, tag="kind"):
    """A joint is of another kind."""

    kind: Literal["fixed", "hinge", "universal", "ball"]
    axes: tuple[Place3, ...] = ()
    """In the parent's frame: one for a hinge, two for a universal joint; none: as it moves."""

    @property
    def touches(self) -> Touched:
        return Touched("kind", (self.body,))

    @property
    def sentence(self) -> str:
        return f"{self.body} is {'' if self.kind == 'fixed' else 'a '}{self.kind}"

    def change(self, skeleton: Skeleton) -> Skeleton:
        n_axes = {"hinge": 1, "universal": 2}.get(self.kind, 0)
        if self.axes and len(self.axes) != n_axes:
            raise BadValue(f"a {self.kind} joint has {n_axes} axes, got {len(self.axes)}")
        said = {self.body: limits_toml.Edit(type=self.kind)}
        changed = limits_toml.apply_edits(skeleton, said)
        return self._with_axes(changed) if self.axes else changed

    def _with_axes(self, skeleton: Skeleton) -> Skeleton:
        long = np.array(self.axes)
        length = np.linalg.norm(long, axis=-1, keepdims=True)
        if not (np.isfinite(length).all() and (length > 0.0).all()):
            raise BadValue(f"axes of {self.body!r} must have a length, got {self.axes}")
        joint = replace(skeleton.body(self.body).joint, axes=long / length)
        return skeleton.replacing(self.body, joint=joint)


class SetLimits(LimitEdit, frozen=True, tag="limits"):
    """A joint goes this far, degrees; what is left out stays as it was found."""

    hinge: Degrees | None = None
    swing: Degrees | None = None
    """Half axes of the elliptic cone."""
    twist: Degrees | None = None
    zyz: tuple[Degrees, Degrees, Degrees] | None = None

    @property
    def touches(self) -> Touched:
        return Touched("limits", (self.body,))

    @property
    def sentence(self) -> str:
        return f"limits of {self.body}"

    def change(self, skeleton: Skeleton) -> Skeleton:
        known = skeleton.body(self.body).joint.limits
        if (self.swing or self.twist) and (known is None or known.cone is None):
            raise BadValue(f"joint {self.body!r} has no cone, so it has no swing or twist to set")
        table = msgspec.structs.asdict(self)
        del table["body"]
        return limits_toml.apply_edits(skeleton, {self.body: limits_toml.Edit(**table)})
