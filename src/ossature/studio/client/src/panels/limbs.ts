// Lengths that were found, beside those measured by hand.

import { type Cell, element, mm, scroller, section, table } from "../dom";
import type { BodyRow } from "../report_data";

export function limbTable(bodies: BodyRow[]): HTMLElement {
  const made = section("Limbs", "limbs");
  const measured = bodies.some((body) => body.measured_mm !== null);
  const moves = bodies.some((body) => body.movement.length > 0);
  const limited = bodies.some((body) => body.hinge ?? body.cone);
  const head = ["body", "joint", "length mm"];
  if (measured) head.push("measured mm", "apart mm");
  head.push("joint ± mm", "joint rms mm");
  if (limited) head.push("range");
  if (moves) head.push("moves by");
  const rows = bodies.map((body) => {
    const row: Cell[] = [body.name, body.parent < 0 ? "root" : body.kind, mm(body.length_mm)];
    if (measured) row.push(mm(body.measured_mm), apart(body));
    row.push(mm(body.sigma_mm), mm(body.rms_mm));
    if (limited) row.push(range(body));
    if (moves) row.push(body.movement.join(", ") || "–");
    return row;
  });
  made.append(scroller(table(head, rows), "Limbs"));
  made.append(
    element("p", "± is one standard deviation of the joint centre in its worst direction.", "quiet"),
  );
  return made;
}

function apart(body: BodyRow): string {
  if (body.length_mm === null || body.measured_mm === null) return "–";
  const value = body.length_mm - body.measured_mm;
  return `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(1)}`;
}

const degrees = (radians: number): string =>
  `${radians < 0 ? "−" : ""}${Math.abs((180 / Math.PI) * radians).toFixed(0)}°`;

/** How far a joint goes, in words short enough for a cell. */
export function range(body: BodyRow): string {
  if (body.hinge) return `${degrees(body.hinge.low)} to ${degrees(body.hinge.high)}`;
  if (!body.cone) return "–";
  const reach = Math.max(...body.cone.rim.map(([a, b]) => Math.hypot(a, b)));
  const [low, high] = body.cone.twist;
  return `swing ${degrees(reach)}, twist ${degrees(low)} to ${degrees(high)}`;
}
