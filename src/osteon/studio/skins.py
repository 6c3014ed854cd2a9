"""Skins that pages draw: a character's own mesh where its file has one, else a made one."""

from pathlib import Path

from osteon.errors import OsteonError
from osteon.formats import Triangles, read, read_glb_mesh
from osteon.report import SkinRow, skin_row
from osteon.studio.document import OpenTake, Shown
from osteon.values import Motion, Skeleton, SkinnedMesh

SKIN_POSES = 200
"""Count of poses from which the one to dress in is taken. Chosen: a page does not wait for more."""


def skin_of(shown: OpenTake | Shown) -> SkinRow | None:
    """Return a skin for the rig that moves; None where nothing is solved."""
    if shown.solved is None:
        return None
    draft = shown.motion_draft()
    few = draft.window(0, draft.n_frames - 1, max(1, draft.n_frames // SKIN_POSES))
    file = None
    if isinstance(shown, OpenTake):
        file = shown.path if shown.recording is None else shown.character
    return skin_row(few, None if file is None else own_mesh(file, few.skeleton))


def character_skin(path: Path) -> SkinRow | None:
    """Return a skin for a character at rest."""
    skeleton = read(path).skeleton()
    return skin_row(Motion.at_rest(skeleton), own_mesh(path, skeleton))


def own_mesh(path: Path, skeleton: Skeleton) -> SkinnedMesh | None:
    """Return the mesh that a GLB file has on these bodies; None where it has none."""
    if path.suffix.lower() != ".glb":
        return None
    try:
        worn = read_glb_mesh(path)
    except OsteonError:
        return None
    if isinstance(worn, Triangles) or worn.skeleton.names != skeleton.names:
        return None
    return worn.mesh
