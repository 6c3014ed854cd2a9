// Which markers ride on which body, and how far skin carries them.

import { element, mm, scroller, section, table } from "../dom";
import type { BodyRow, MarkerRow } from "../report_data";

/** Nothing where no calibration has looked at the skin. */
export function skinTable(bodies: BodyRow[], markers: MarkerRow[]): HTMLElement[] {
  if (!bodies.some((body) => body.skin_mm !== null)) return [];
  const rows = bodies.flatMap((body, index) => {
    const own = markers.filter((marker) => marker.body === index);
    return own.length === 0 ? [] : [[body.name, mm(body.skin_mm), riders(own)]];
  });
  const made = section("Skin", "skin");
  made.append(scroller(table(["body", "skin mm", "markers that ride on it, rms mm"], rows), "Skin"));
  made.append(element("p", EXPLAINED, "quiet"));
  return [made];
}

const EXPLAINED =
  "Skin is how far each marker of a body slides on the bone for itself, rms, as the calibration found it; where " +
  "few postures show it, it leans on what is usual for such a body. What all markers of a body do together shows " +
  "as the gap of its joints. Beside each marker stands how far it is from its place on the rig.";

/** Worst first. */
function riders(own: MarkerRow[]): string {
  const order = [...own].sort((a, b) => (b.rms_mm ?? -1) - (a.rms_mm ?? -1));
  return order.map((marker) => `${marker.name} ${mm(marker.rms_mm)}`).join(", ");
}
