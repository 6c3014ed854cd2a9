// The hierarchy, drawn: who hangs on whom, by what joint, and how clearly.

import { drawn, element, section } from "../dom";
import type { BodyRow } from "../report_data";
import { sideOf } from "../scene/skeleton";

const ROW = 24;
const INDENT = 18;
/** A margin that fills its bar: the best rival leaves e times the unexplained square. */
const FULL = 1;

interface Row {
  index: number;
  depth: number;
  /** Row of the parent, −1 for a root. */
  above: number;
}

/** Depth first, children below their parent. */
export function treeRows(bodies: BodyRow[]): Row[] {
  const rows: Row[] = [];
  const visit = (parent: number, depth: number, above: number): void => {
    bodies.forEach((body, index) => {
      if (body.parent !== parent) return;
      rows.push({ index, depth, above });
      visit(index, depth + 1, rows.length - 1);
    });
  };
  visit(-1, 0, -1);
  return rows;
}

export function hierarchy(bodies: BodyRow[]): HTMLElement {
  const made = section("Hierarchy", "hierarchy");
  const rows = treeRows(bodies);
  const judged = bodies.some((body) => body.margin !== null);
  const list = element("div", "", judged ? "tree judged" : "tree");
  list.append(branches(rows));
  for (const row of rows) list.append(line(bodies, row, judged));
  made.append(list);
  if (judged) made.append(element("p", EXPLAINED, "quiet"));
  return made;
}

const EXPLAINED =
  "Bars show how clearly a joint beats its best rival: empty a tie, full nearly three times the " +
  "unexplained square. Joints that motion does not settle are named with their rival.";

function branches(rows: Row[]): SVGSVGElement {
  const deepest = Math.max(0, ...rows.map((row) => row.depth));
  const size = { width: (deepest + 1) * INDENT, height: rows.length * ROW };
  const made = drawn("svg", { ...size, class: "branches", "aria-hidden": "true" });
  rows.forEach((row, k) => {
    if (row.above < 0) return;
    const x = (row.depth - 0.5) * INDENT;
    const y = (k + 0.5) * ROW;
    made.append(drawn("path", { d: `M${x} ${(row.above + 0.75) * ROW}V${y}H${x + 0.4 * INDENT}` }));
  });
  return made;
}

function line(bodies: BodyRow[], { index, depth }: Row, judged: boolean): HTMLElement {
  const body = bodies[index];
  const made = element("div", "", "tree-row");
  const side = sideOf(body.name, bodies.map((each) => each.name));
  const name = element("span", body.name, `tree-name ${side}`);
  name.style.paddingLeft = `${depth * INDENT}px`;
  made.append(name, element("span", body.parent < 0 ? "root" : body.kind, "quiet"));
  if (judged) made.append(...marginOf(body));
  return made;
}

/** How clear the joint is, and what it might be instead. */
function marginOf(body: BodyRow): HTMLElement[] {
  const margin = element("span", "", body.ambiguous ? "margin doubtful" : "margin");
  const rival = element("span", "", "margin doubtful");
  if (body.margin === null) return [margin, rival];
  const bar = element("span", "", "margin-bar");
  const fill = element("span");
  fill.style.width = `${100 * Math.max(0, Math.min(1, body.margin / FULL))}%`;
  bar.append(fill);
  margin.append(bar, element("span", body.margin.toFixed(2).replace("-", "−")));
  if (body.rival) {
    const told = `${body.rival[0]}–${body.rival[1]}`;
    margin.title = `next best: ${told}`;
    if (body.ambiguous) rival.textContent = `or ${told}`;
  }
  return [margin, rival];
}
