"""What ``osteon angles`` writes of gait cycles: files, and the rows of its page."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import structs

from osteon.anatomy import AngleChannel, ClinicalAngles
from osteon.delivery.report_of_solve import report_of
from osteon.delivery.solve_files import summary_of
from osteon.errors import counted
from osteon.formats import whole_file, write_readable
from osteon.gait import (
    CYCLE_POINTS,
    FEWEST_CYCLES,
    SIDES,
    UNITS,
    Band,
    GaitTake,
    NumberSpread,
    bands_of,
    between_takes,
    comparable_sides,
    control_bands,
    control_spreads,
    differences_between,
    spreads_of,
)
from osteon.pipeline import GaitComparison, Solved, Walks, analyse
from osteon.report import (
    CurveBand,
    CurveRow,
    GaitData,
    NumberRow,
    Span,
    TrialRow,
    write_report,
)
from osteon.typing import Array

TOLD_DIFFERENCES = 6
"""Count of differences that are told; chosen: as many as a person reads."""
NEAR_MARK = 0.02
"""Seconds within which an event is as marked; chosen: what laboratories ask for."""
SHARE_UNIT = "%"
NO_CYCLE = (
    "note: steps are seen, but no whole gait cycle, from a strike of a foot to its next with the "
    "other foot's between them: no gait page; give longer or more takes"
)
"""Said of who steps and does not walk far enough."""
PIG_WORDS = {
    "PelvisAngles": ("tilt forwards", "own side up", "own side forwards"),
    "ThoraxAngles": ("tilt forwards", "own side up", "own side forwards"),
    "HeadAngles": ("tilt backwards", "own side up", "own side forwards"),
    "SpineAngles": ("flexion", "bending to own side", "rotation to own side"),
    "NeckAngles": ("flexion", "bending to own side", "rotation to own side"),
    "HipAngles": ("flexion", "adduction", "internal rotation"),
    "KneeAngles": ("flexion", "adduction (varus)", "internal rotation"),
    "AnkleAngles": ("dorsiflexion", "eversion", "internal rotation"),
    "FootProgressAngles": ("toes down (−90° flat)", "inversion", "toes in"),
    "ShoulderAngles": ("flexion", "abduction", "internal rotation"),
    "ElbowAngles": ("flexion", "", ""),
    "WristAngles": ("flexion", "ulnar deviation", "pronation"),
}
"""What X, Y and Z of Plug-in Gait's points mean where they are positive: docs/guide/angles.md."""


def title_of_channel(channel: AngleChannel) -> str:
    """Return an angle's name as people say it: ``Knee flexion``."""
    if channel.joint in PIG_WORDS and channel.title.startswith(channel.joint):
        words = PIG_WORDS[channel.joint]["XYZ".index(channel.title[-1])]
        return f"{channel.joint.removesuffix('Angles')} {words}".replace("FootProgress", "Foot")
    text = channel.title.replace("_", " ")
    return text[0].upper() + text[1:]


def deliver_gait(walks: Walks, folder: Path, compared: GaitComparison) -> None:
    """Write cycles and numbers of one person's takes, and the page; the view shows the first take
    that has cycles."""
    takes = walks.takes
    folder.mkdir(parents=True, exist_ok=True)
    write_readable(gait_summary(takes, compared), folder / "gait.json")
    _write_cycles(folder / "gait_cycles.csv", takes)
    _write_numbers(folder / "gait_numbers.csv", takes, compared)
    shown = next((i for i, take in enumerate(takes) if take.cycles), 0)
    one = walks.solved[shown]
    page = report_of(one, analyse(one.motion), summary_of(one))
    page = structs.replace(
        page,
        title=" · ".join(filter(None, (page.subject, _named(takes)))) or page.title,
        gait=gait_data(walks, compared),
        spans=[*page.spans, *event_spans(takes[shown], one.recording.rate)],
        warnings=[*page.warnings, *compared.notes, *differing(takes, compared)],
    )
    write_report(folder / "report.html", page)


def _named(takes: Sequence[GaitTake]) -> str:
    return takes[0].name if len(takes) == 1 else f"{len(takes)} takes"


def event_spans(take: GaitTake, rate: float) -> list[Span]:
    """Return the events of both feet as instants of the page's timeline."""
    return [
        Span(
            "step",
            f"{event.side} foot {event.kind}",
            round(event.time * rate),
            round(event.time * rate),
        )
        for event in take.events
    ]


def gait_summary(takes: Sequence[GaitTake], compared: GaitComparison) -> dict[str, Any]:
    """Return what gait.json holds."""
    apart = between_takes(takes)
    return {
        "takes": [
            {
                "name": take.name,
                "belt_speed": take.belt,
                "events": [event._asdict() for event in take.events],
                "cycles": [
                    {"side": c.side, "start": c.start, "off": c.off, "end": c.end} | dict(numbers)
                    for c, numbers in zip(take.cycles, take.numbers, strict=True)
                ],
                "events_in_file": _told_apart(take),
            }
            for take in takes
        ],
        "units": UNITS,
        "numbers": _by_side(spreads_of(takes), _spread_facts),
        "between_takes_deg": _by_side(apart, lambda value: round(float(np.degrees(value)), 2)),
        "against": _by_side(spreads_of(compared.other), _spread_facts),
        "controls": {
            "people": len(compared.people),
            "numbers": _by_side(control_spreads(compared.people), _spread_facts),
        },
        "differences": [
            {
                "angle": each.channel,
                "side": each.side,
                "percent": each.part,
                "most_deg": round(float(np.degrees(each.most)), 2),
            }
            for each in differences_between(takes, compared.other)
        ],
        "notes": list(compared.notes),
    }


def differing(takes: Sequence[GaitTake], compared: GaitComparison) -> list[str]:
    """Tell where a session differs from the other beyond what its cycles scatter by."""
    if not compared.other:
        return []
    sides = comparable_sides(takes, compared.other)
    lacking = " and ".join(side for side in SIDES if side not in sides)
    untold = (
        f"whether {lacking} angles differ from {compared.name} beyond noise cannot be told: that "
        f"takes {FEWEST_CYCLES} cycles of a side in both sessions; give more takes"
    )
    rest = [untold] if lacking else []
    found = [str(each) for each in differences_between(takes, compared.other)]
    if not found and sides:
        alike = " and ".join(sides)
        told = f"no {alike} angle differs from {compared.name} beyond what cycles scatter by"
        return [told, *rest]
    more = len(found) - TOLD_DIFFERENCES
    rest += [f"{more} more differences in gait.json"] if more > 0 else []
    return [*found[:TOLD_DIFFERENCES], *rest]


def _spread_facts(spread: NumberSpread) -> dict[str, Any]:
    known = None if np.isnan(spread.deviation) else spread.deviation
    return {"mean": spread.mean, "deviation": known, "count": spread.count}


def _by_side(found: Mapping[Any, Any], told: Any) -> dict[str, dict[str, Any]]:
    return {
        side: {name: told(value) for (name, whose), value in found.items() if whose == side}
        for side in SIDES
    }


def _told_apart(take: GaitTake) -> str:
    """How the events lie against those marked in the file, in words."""
    apart = np.array(take.apart)
    if not len(apart):
        return "none marked in the file"
    found = apart[np.isfinite(apart)]
    near = int(np.sum(np.abs(found) <= NEAR_MARK))
    offset = f"; median {1e3 * np.median(found):+.0f} ms" if len(found) else ""
    return f"{near} of {len(apart)} within 20 ms of those marked in the file{offset}"


def _write_cycles(path: Path, takes: Sequence[GaitTake]) -> None:
    """A column of means and one of deviations per angle and side, degrees, a row per per cent."""
    columns: dict[str, Array] = {"percent": np.linspace(0.0, 100.0, CYCLE_POINTS)}
    for (title, side), band in bands_of(takes).items():
        columns[f"{side}_{title}_mean"] = np.degrees(band.mean)
        columns[f"{side}_{title}_sd"] = np.degrees(band.deviation)
    rows = np.stack([*columns.values()], axis=-1)
    _write_lines(path, [[*columns], *([_cell(value) for value in row] for row in rows)])


def _write_numbers(path: Path, takes: Sequence[GaitTake], compared: GaitComparison) -> None:
    head = ["number", "unit"]
    columns = _number_columns(takes, compared)
    head += [f"{name}_{what}" for name in columns for what in ("mean", "sd", "count")]
    lines = [head]
    for number, unit in UNITS.items():
        line = [number, unit]
        for found in columns.values():
            spread = found.get(number)
            cells = ("", "", "")
            if spread is not None:
                cells = (_cell(spread.mean), _cell(spread.deviation), str(spread.count))
            line += cells
        lines.append(line)
    _write_lines(path, lines)


def _cell(value: float) -> str:
    return "" if np.isnan(value) else f"{value:.4f}"


def _write_lines(path: Path, lines: Sequence[Sequence[str]]) -> None:
    with whole_file(path) as partial:
        partial.write_text("".join(",".join(line) + "\n" for line in lines), encoding="utf-8")


def _number_columns(
    takes: Sequence[GaitTake], compared: GaitComparison
) -> dict[str, dict[str, NumberSpread]]:
    """Column → number → spread: both sides, those of the other session, what is usual."""
    columns = {side: _of_side(spreads_of(takes), side) for side in SIDES}
    if compared.other:
        other = spreads_of(compared.other)
        columns |= {f"{side}_other": _of_side(other, side) for side in SIDES}
    if compared.people:
        columns["usual"] = _of_side(control_spreads(compared.people), SIDES[0])
    return columns


def _of_side(found: Mapping[Any, Any], side: str) -> dict[str, Any]:
    return {name: value for (name, whose), value in found.items() if whose == side}


def gait_data(walks: Walks, compared: GaitComparison) -> GaitData:
    """Gather the page's rows."""
    takes, told = walks.takes, walks.angles[0]
    columns = _number_columns(takes, compared)
    bands = {side: _of_side(bands_of(takes), side) for side in SIDES}
    if compared.other:
        other = bands_of(compared.other)
        bands |= {f"{side}_other": _of_side(other, side) for side in SIDES}
    if compared.people:
        bands["usual"] = _of_side(control_bands(compared.people), SIDES[0])
    return GaitData(
        convention=told.convention,
        walking=told.walking,
        curves=[_curve_row(channel, bands, told) for channel in told.channels],
        numbers=[_number_row(number, columns) for number in UNITS],
        trials=[_trial_row(one, take) for one, take in zip(walks.solved, takes, strict=True)],
        offs={name: own["stance"].mean for name, own in columns.items() if "stance" in own},
        against=compared.name,
        controls=len(compared.people),
        doubts=[_doubt(name, told) for name in told.segments],
    )


def _doubt(name: str, angles: ClinicalAngles) -> tuple[str, str]:
    segment = angles.segments[name]
    worst = np.degrees(segment.deviation).max()
    return name.replace("_", " "), f"{segment.source}: {segment.told}; ± {worst:.0f}° at worst"


def _curve_row(
    channel: AngleChannel, bands: Mapping[str, Mapping[str, Band]], angles: ClinicalAngles
) -> CurveRow:
    known = {name: own[channel.title] for name, own in bands.items() if channel.title in own}
    column = angles.names.index(channel.names["left"])
    return CurveRow(
        title=title_of_channel(channel),
        joint=channel.joint,
        place=channel.place,
        bands={name: _curve_band(band) for name, band in known.items()},
        deviation=float(np.degrees(angles.deviations[column])),
    )


def _curve_band(band: Band) -> CurveBand:
    spread = None
    if band.count > 1:
        spread = np.round(np.degrees(band.deviation), 2).tolist()
    return CurveBand(np.round(np.degrees(band.mean), 2).tolist(), spread, band.count)


def _number_row(number: str, columns: Mapping[str, Mapping[str, NumberSpread]]) -> NumberRow:
    unit = UNITS[number]
    values = {}
    for name, own in columns.items():
        if (spread := own.get(number)) is not None:
            known = None if np.isnan(spread.deviation) else spread.deviation
            values[name] = (spread.mean, known)
    digits = 0 if unit == "steps/min" else 1 if unit == SHARE_UNIT else 2
    return NumberRow(title=number.replace("_", " "), unit=unit, digits=digits, values=values)


def _trial_row(solved: Solved, take: GaitTake) -> TrialRow:
    facts = summary_of(solved)
    count = {side: sum(cycle.side == side for cycle in take.cycles) for side in SIDES}
    return TrialRow(
        name=take.name,
        seconds=facts["frames"] / facts["rate"],
        left=count["left"],
        right=count["right"],
        rms_mm=facts["marker_rms_mm"],
        missing=facts["missing"],
        held=len(facts["held_frames"]),
        events=_told_apart(take),
    )


def gait_text(takes: Sequence[GaitTake], compared: GaitComparison) -> str:
    """Tell a line per gait number, both sides."""
    cycles = sum(len(take.cycles) for take in takes)
    lines = [f"{counted(cycles, 'gait cycle')} in {counted(len(takes), 'take')}"]
    columns = _number_columns(takes, compared)
    for number, unit in UNITS.items():
        told = [
            f"{name.replace('_', ' ')} {own[number].mean:.3g}"
            for name, own in columns.items()
            if number in own
        ]
        if told:
            lines.append(f"{number.replace('_', ' '):15} {', '.join(told)} {unit}")
    return "\n".join([*lines, *differing(takes, compared)])
