// Poses that were seen, with the limits drawn about them: swings in their plane, twist against swing.

import { drawn, element, section } from "../dom";
import type { BodyRow, ConeRow } from "../report_data";

const SIZE = 150;
const MARGIN = 8;
const DEGREES = 180 / Math.PI;

/** Nothing where no joint tells which poses were seen. */
export function rangePlots(bodies: BodyRow[]): HTMLElement[] {
  // a hinge is told by its interval: its dots are a line
  const shown = bodies.filter((body) => !body.hinge && body.cone && body.cone.seen.length > 0);
  if (shown.length === 0) return [];
  const made = section("Where joints went", "ranges");
  const grid = element("div", "", "range-grid");
  for (const body of shown) if (body.cone) grid.append(plots(body.name, body.cone));
  made.append(grid, element("p", EXPLAINED, "quiet"));
  return [made];
}

const EXPLAINED =
  "Dots are poses that were seen, a few that stand for all. Left: where the bone pointed, as swings about the middle " +
  "of its cone; the line is the cone's polygon, the dashed one its ellipse. Right: twist upwards against swing along " +
  "the longer direction; the frame is what the cone allows. Where dots leave most of the frame empty, twist depends on swing.";

function plots(name: string, cone: ConeRow): HTMLElement {
  const made = element("figure", "", "range");
  const main = cone.radii[0] >= cone.radii[1] ? 0 : 1;
  made.append(element("figcaption", `${name}, ±${(DEGREES * cone.radii[main]).toFixed(0)}°`));
  const reach = Math.max(cone.radii[0], cone.radii[1], ...cone.rim.flat().map(Math.abs));
  made.append(swings(name, cone, reach), twists(name, cone, main, reach));
  return made;
}

function swings(name: string, cone: ConeRow, reach: number): SVGSVGElement {
  const made = picture(`Swings of ${name}`);
  const at = (value: number) => place(value, -reach, reach);
  const size = at(reach) - at(0);
  made.append(
    drawn("ellipse", {
      cx: at(0),
      cy: at(0),
      rx: (size * cone.radii[0]) / reach,
      ry: (size * cone.radii[1]) / reach,
      class: "range-ellipse",
    }),
    drawn("polygon", {
      points: cone.rim.map(([x, y]) => `${at(x).toFixed(1)},${at(-y).toFixed(1)}`).join(" "),
      class: "range-limit",
    }),
  );
  for (const [x, y] of cone.seen) made.append(dot(at(x), at(-y)));
  return made;
}

function twists(name: string, cone: ConeRow, main: number, reach: number): SVGSVGElement {
  const made = picture(`Twist of ${name} against its swing`);
  const [low, high] = cone.twist;
  // a twist is told up to whole turns: bring it to its interval
  const middle = 0.5 * (low + high);
  const near = (twist: number) => twist - 2 * Math.PI * Math.round((twist - middle) / (2 * Math.PI));
  const room = Math.max(0.5 * (high - low), 0.1);
  const x = (value: number) => place(value, -reach, reach);
  const y = (value: number) => place(middle - value, -1.1 * room, 1.1 * room);
  const sides = cone.rim.map((corner) => corner[main]);
  const [left, right] = [Math.min(...sides), Math.max(...sides)];
  made.append(
    drawn("rect", {
      x: x(left),
      y: y(high),
      width: x(right) - x(left),
      height: y(low) - y(high),
      class: "range-limit",
    }),
  );
  for (const pose of cone.seen) made.append(dot(x(pose[main]), y(near(pose[2]))));
  return made;
}

const place = (value: number, low: number, high: number): number =>
  MARGIN + ((SIZE - 2 * MARGIN) * (value - low)) / (high - low);

const dot = (x: number, y: number): SVGCircleElement =>
  drawn("circle", { cx: x.toFixed(1), cy: y.toFixed(1), r: 1.6, class: "range-dot" });

function picture(label: string): SVGSVGElement {
  return drawn("svg", { viewBox: `0 0 ${SIZE} ${SIZE}`, width: SIZE, height: SIZE, role: "img", "aria-label": label });
}
