"""Bodies called by the names of another program, and back by our own."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from osteon.errors import NotEnoughData
from osteon.human.bone_names import NEEDED, OWN, load_names, plain_name, recognise_names
from osteon.human.finger_bones import is_finger
from osteon.human.parts import find_parts, understood
from osteon.values import Motion, Skeleton, Take

HANDS = frozenset(("left_hand", "right_hand"))
NAMED_COUNT = 8
"""Count of bodies that a sentence names; chosen: one line, where hands alone have thirty bones."""


@dataclass(frozen=True)
class Naming:
    """What a skeleton's bodies are called in a scheme."""

    scheme: str
    names: dict[str, str]
    """Of every body → its new name."""
    kept: tuple[str, ...]
    """Bodies that the scheme has no name for."""
    absent: tuple[str, ...]
    """Names of the scheme, without fingers, that no body has."""

    @property
    def sentences(self) -> tuple[str, ...]:
        """What a user should know, for people."""
        told = (
            (self.kept, f"bodies that {self.scheme} has no name for keep theirs"),
            (self.absent, f"bones of {self.scheme} that this skeleton does not have"),
        )
        return tuple(f"{said}: {_some(names)}" for names, said in told if names)


def own_names(skeleton: Skeleton) -> dict[str, str]:
    """Return our names → bodies of a skeleton with anybody's names, as far as they are known."""
    scheme = recognise_names(skeleton)
    found = {} if scheme is None else scheme.found_in(skeleton)
    parts = find_parts(skeleton)
    if "chest" in parts and "chest" not in found:  # the spine of some ends a bone earlier
        found = {own: body for own, body in found.items() if body != parts["chest"]}
    for part, body in parts.items():
        if part not in found and body not in found.values():
            found[part] = body
    return found


def naming_of(skeleton: Skeleton, scheme: str) -> Naming:
    """Return what the bodies are called in a scheme; refuse a skeleton that is not known as a
    human."""
    wanted, found = load_names(scheme), own_names(skeleton)
    if all(is_finger(name) or name in HANDS for name in skeleton.names):  # a hand without a body
        found = {name: name for name in skeleton.names}
    elif not all(part in found for part in NEEDED):
        raise NotEnoughData(
            f"the skeleton's bones cannot be called by {scheme} names, for its own are not known; "
            + understood(skeleton, found)
        )
    names = {body: wanted.written(own) for own, body in found.items() if own in wanted.bones}
    kept = tuple(body for body in skeleton.names if body not in names)
    heard = {plain_name(name) for own in found for name in wanted.bones.get(own, ())}
    for body in kept:
        names[body] = _free(body, set(names.values()), heard)
    lacking = [own for own in wanted.bones if own not in found and not is_finger(own)]
    absent = () if wanted.name == OWN else tuple(wanted.written(own) for own in lacking)
    return Naming(scheme, names, kept, absent)


def rename(motion: Motion, names: Mapping[str, str], did: str) -> Motion:
    """Return the motion with its bodies called otherwise."""
    return replace(motion, skeleton=rename_bodies(motion.skeleton, names, did))


def rename_bodies(skeleton: Skeleton, names: Mapping[str, str], did: str) -> Skeleton:
    """Return the skeleton with its bodies called otherwise, wherever they are named."""
    bodies = [
        replace(body, name=names[body.name], parent=body.parent and names[body.parent])
        for body in skeleton.bodies
    ]
    loops = tuple(
        replace(loop, bodies=tuple(names.get(name, name) for name in loop.bodies))
        for loop in skeleton.loops
    )
    return skeleton.with_bodies(bodies, did, loops=loops)


def rename_take(take: Take, scheme: str) -> tuple[Take, tuple[str, ...]]:
    """Return a take whose skeletons, moving or not, are called by a scheme's names, and what a user
    should know."""
    told: list[str] = []

    def called(skeleton: Skeleton) -> Skeleton:
        naming = naming_of(skeleton, scheme)
        told.extend(naming.sentences)
        return rename_bodies(skeleton, naming.names, f"called by {scheme} names")

    moving = {
        "motions": tuple(replace(each, skeleton=called(each.skeleton)) for each in take.motions),
        "compacts": tuple(replace(each, skeleton=called(each.skeleton)) for each in take.compacts),
    }
    found = tuple(called(skeleton) for skeleton in take.skeletons)
    if not (found or any(moving.values())):
        raise NotEnoughData("the file holds no skeleton whose bones could be called otherwise")
    return replace(take, skeletons=found, **moving), tuple(dict.fromkeys(told))


def _free(name: str, taken: set[str], heard: set[str]) -> str:
    """Return a name that nothing has, and that is not heard as another bone's of the scheme: CMU's
    ``lwrist`` is SMPL's hand."""
    while name in taken or plain_name(name) in heard:
        name += "_own"
    return name


def _some(names: tuple[str, ...]) -> str:
    return ", ".join(names[:NAMED_COUNT]) + (", …" if len(names) > NAMED_COUNT else "")
