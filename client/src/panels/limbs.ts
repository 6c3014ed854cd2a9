// Lengths that were found, beside those measured by hand.

import { type Cell, element, mm, scroller, section, table } from "../dom";
import type { BodyRow } from "../report_data";

interface Column {
  head: string;
  cell: (body: BodyRow) => Cell;
  /** Whether any body has something to say here. */
  used: (body: BodyRow) => boolean;
}

const COLUMNS: Column[] = [
  { head: "length mm", cell: (b) => mm(b.length_mm), used: () => true },
  { head: "measured mm", cell: (b) => mm(b.measured_mm), used: (b) => b.measured_mm !== null },
  { head: "apart mm", cell: apart, used: (b) => b.measured_mm !== null },
  { head: "joint ± mm", cell: (b) => mm(b.sigma_mm), used: (b) => b.sigma_mm !== null },
  { head: "joint rms mm", cell: (b) => mm(b.rms_mm), used: (b) => b.rms_mm !== null },
  { head: "gap mm", cell: (b) => mm(b.gap_mm), used: (b) => b.gap_mm !== null },
  { head: "glides mm", cell: glides, used: (b) => !!b.glide_mm },
  { head: "range", cell: range, used: (b) => b.hinge !== null || b.cone !== null },
  { head: "moves by", cell: (b) => b.movement.join(", ") || "–", used: (b) => b.movement.length > 0 },
];

export function limbTable(bodies: BodyRow[]): HTMLElement {
  const made = section("Limbs", "limbs");
  const columns = COLUMNS.filter((column) => bodies.some(column.used));
  const rows = bodies.map((body) => [
    body.name,
    body.parent < 0 ? "root" : body.kind,
    ...columns.map((column) => column.cell(body)),
  ]);
  const head = ["body", "joint", ...columns.map((column) => column.head)];
  made.append(scroller(table(head, rows), "Limbs"));
  const said = [
    ...(bodies.some((body) => body.sigma_mm !== null) ? [SPREAD] : []),
    ...(bodies.some((body) => body.gap_mm !== null) ? [GAP] : []),
    ...(bodies.some((body) => body.glide_mm) ? [GLIDES] : []),
  ];
  if (said.length) made.append(element("p", said.join(" "), "quiet"));
  return made;
}

const SPREAD = "± is one standard deviation of the joint centre in its worst direction.";
const GAP =
  "The gap is how far the two ends of a joint move apart as the calibration found it, rms, noise counted " +
  "out: skin that all markers of a body share, and joints that glide.";
const GLIDES =
  "Glides is the part of it that skin does not explain; such a joint is no fixed point. In brackets: how far it " +
  "goes as the joint turns between two angles.";

function apart(body: BodyRow): string {
  if (body.length_mm === null || body.measured_mm === null) return "–";
  const value = body.length_mm - body.measured_mm;
  return `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(1)}`;
}

const degrees = (radians: number): string =>
  `${radians < 0 ? "−" : ""}${Math.abs((180 / Math.PI) * radians).toFixed(0)}°`;

function glides(body: BodyRow): string {
  if (!body.glide_mm) return "–";
  const path = body.glide_path;
  if (path === null) return mm(body.glide_mm);
  return `${mm(body.glide_mm)} (${mm(path.travel_mm)} from ${degrees(path.low)} to ${degrees(path.high)})`;
}

/** How far a joint goes, in words short enough for a cell. */
export function range(body: BodyRow): string {
  if (body.hinge) return `${degrees(body.hinge.low)} to ${degrees(body.hinge.high)}`;
  if (!body.cone) return "–";
  const reach = Math.max(...body.cone.rim.map(([a, b]) => Math.hypot(a, b)));
  const [low, high] = body.cone.twist;
  return `swing ${degrees(reach)}, twist ${degrees(low)} to ${degrees(high)}`;
}
