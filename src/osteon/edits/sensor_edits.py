"""Sensors, with place and orientation, as a person has edited them, and the rig that they show.

What ``joints`` finds takes the place of a solve. Stretches are cut, two sensors exchanged; who
hangs on whom and who is the root may be said; kinds, limits, plants and poses are as of any motion.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from osteon.articulation import joints, play_back
from osteon.cleaning import check_range
from osteon.edits.edits_json import Edit, Settings, by_stage
from osteon.edits.recording_edits import Cut, RecordingEdit, SwapLabels
from osteon.edits.replay import describe_motion
from osteon.edits.rig_edits import SetParent, SetRoot, origins_of
from osteon.errors import BadValue, NotEnoughData
from osteon.pipeline import Solved
from osteon.typing import Progress, Step, unheard
from osteon.values import Bodies, Joints, Recording


def sensor_points(sensors: Bodies) -> Recording:
    """Return where sensors are, as points to look at."""
    return Recording(
        sensors.positions,
        sensors.names,
        sensors.rate,
        sensors.subject,
        marks=sensors.marks,
        history=sensors.history,
        source=sensors.source,
    )


def check_sensor_edit(edit: Edit) -> None:
    """Refuse what is for markers alone."""
    meant = isinstance(edit, Cut | SwapLabels | SetParent | SetRoot)
    if edit.stage in ("recording", "labels", "rig", "character") and not meant:
        raise BadValue(
            f"{edit.sentence}: that is for markers; sensors are cut, exchanged, hung on each other"
        )


def edit_sensors(sensors: Bodies, edits: Sequence[RecordingEdit]) -> Bodies:
    """Return sensors after stretches were cut out, and sensors exchanged."""
    positions, rotations = np.array(sensors.positions), np.array(sensors.rotations)
    for edit in edits:
        first, last = edit.touches.first, int(edit.touches.last)
        check_range(sensors.n_frames, first, last)
        frames = slice(first, last + 1)
        columns = [sensors.index(name) for name in edit.touches.names or ()]
        if isinstance(edit, Cut):
            positions[frames, columns] = np.nan
        else:
            for values in (positions, rotations):
                values[frames, columns] = values[frames, columns[::-1]]
    history = (*sensors.history, *(f"by hand: {edit.sentence}" for edit in edits))
    return replace(sensors, positions=positions, rotations=rotations, history=history)


def find_sensor_joints(sensors: Bodies, edits: Sequence[Edit]) -> tuple[Bodies, Joints]:
    """Return sensors as edited, and the joints between them; a hierarchy said by hand counts.

    Sensors that are cut in all frames are left out.
    """
    chosen = by_stage(edits)
    edited = edit_sensors(sensors, chosen.recording)
    seen = np.flatnonzero(edited.seen.any(axis=0)).tolist()
    edited = edited.select([edited.names[column] for column in seen])
    root = next((e.body for e in reversed(chosen.rig) if isinstance(e, SetRoot)), None)
    try:
        found = joints(edited, root=root)
    except NotEnoughData as error:
        said = re.sub(r"`exclude='(.*?)'`", r"\1", str(error))
        raise NotEnoughData(f"{said}; a sensor is left out by cutting it in all frames") from None
    said = {edit.body: edit.parent for edit in chosen.rig if isinstance(edit, SetParent)}
    if said:
        parents = {link.child: link.parent for link in found.connections} | said
        found = joints(edited, root=found.root, parents=parents)
    return edited, found


def solve_sensors(
    sensors: Bodies, edits: Sequence[Edit], settings: Settings, progress: Progress = unheard
) -> Solved:
    """Return the rig that sensors show, and how it moves; up to plants and poses."""
    progress(Step("calibrate", "finding joints between the sensors"))
    edited, found = find_sensor_joints(sensors, edits)
    progress(Step("solve", "playing the take back"))
    described = describe_motion(play_back(edited, found), edits, settings)
    motion = described.motion
    origins = origins_of(motion)[1]
    columns = [motion.skeleton.index(name) for name in edited.names]
    return replace(
        described,
        recording=sensor_points(edited),
        marker_error=np.linalg.norm(edited.positions - origins[:, columns], axis=-1),
        warnings=(*edited.source.problems, *found.warnings),
    )
