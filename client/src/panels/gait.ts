// Gait over the cycle: numbers, curves by joint and plane with both sides, takes, what is uncertain.

import { type Cell, drawn, element, scroller, section, table } from "../dom";
import type { CurveBand, CurveRow, GaitData, NumberRow } from "../report_data";

const PLANES = ["from the side", "from the front", "from above"];
/** Joints of the first section, from top to toe; the others follow in a second. */
const LEGS = ["PelvisAngles", "HipAngles", "KneeAngles", "AnkleAngles", "FootProgressAngles"];
/** Told twice: the pelvis in the laboratory is not what a reader of gait looks for. */
const LEFT_OUT = ["PelvisLabAngles"];
const NAMES: Record<string, string> = { left: "Left", right: "Right", usual: "Usual" };
const WIDTH = 300;
const HEIGHT = 140;
const LEFT_EDGE = 34;
const BOTTOM = 20;
const TOP = 8;

/** All that the page tells of gait, in the order in which it is read. */
export function gaitPanels(gait: GaitData): HTMLElement[] {
  const shown = gait.curves.filter(
    ({ bands, joint }) => (bands.left || bands.right) && !LEFT_OUT.includes(joint),
  );
  const top = element("div", "", "gait-top");
  top.append(numbers(gait), peaks(shown.filter(isOfLegs), gait));
  const made: HTMLElement[] = [top];
  made.push(curves("Legs over the gait cycle", shown.filter(isOfLegs), gait));
  const rest = shown.filter((row) => !isOfLegs(row));
  if (rest.length) made.push(curves("Trunk, head and arms", rest, gait));
  made.push(trials(gait), doubts(gait));
  return made;
}

const isOfLegs = ({ joint }: CurveRow): boolean => LEGS.includes(joint);

function columnsOf(rows: NumberRow[]): string[] {
  return [...new Set(rows.flatMap(({ values }) => Object.keys(values)))];
}

function nameOf(column: string, gait: GaitData): string {
  if (column === "usual") return `Usual, ${gait.controls} people`;
  const [side, other] = column.split("_");
  return other ? `${NAMES[side]}, ${gait.against}` : NAMES[side];
}

function numbers(gait: GaitData): HTMLElement {
  const made = section("Gait numbers, mean ± standard deviation", "gait-numbers");
  const columns = columnsOf(gait.numbers);
  const rows = gait.numbers
    // nobody who walks flies, and nobody who runs stands on both feet
    .filter(({ values }) => Object.values(values).some(([mean]) => mean !== 0))
    .map(({ title, unit, digits, values }): Cell[] => [
      `${title[0].toUpperCase()}${title.slice(1)}, ${unit}`,
      ...columns.map((column) => {
        if (!(column in values)) return "–";
        const [mean, spread] = values[column];
        return mean.toFixed(digits) + (spread === null ? "" : ` ± ${spread.toFixed(digits)}`);
      }),
    ]);
  const head = ["", ...columns.map((column) => nameOf(column, gait))];
  made.append(scroller(table(head, rows), "Gait numbers"));
  const shares = "% are of the cycle, from one strike of a foot to its next.";
  made.append(element("p", `A side's step ends with its own foot's strike. ${shares}`, "quiet"));
  return made;
}

/** Largest and least of the angles that are looked at first. */
function peaks(rows: CurveRow[], gait: GaitData): HTMLElement {
  const made = section("Peaks of the mean curves, degrees", "gait-numbers");
  const columns = SIDES.filter((side) => rows.some(({ bands }) => bands[side]));
  const cells = (row: CurveRow, pick: (...values: number[]) => number) =>
    columns.map((side) => (row.bands[side] ? degrees(pick(...row.bands[side].mean)) : "–"));
  const told = rows
    .filter(({ place }) => place === 0)
    .flatMap((row): Cell[][] => [
      [`${row.title}, peak`, ...cells(row, Math.max)],
      [`${row.title}, least`, ...cells(row, Math.min)],
    ]);
  const head = ["", ...columns.map((column) => nameOf(column, gait))];
  made.append(scroller(table(head, told), "Peaks"));
  return made;
}

function curves(title: string, rows: CurveRow[], gait: GaitData): HTMLElement {
  const made = section(title, "gait-curves");
  made.append(legend(rows, gait));
  const grid = element("div", "", "curve-grid");
  grid.append(...PLANES.map((plane) => element("div", plane, "plane quiet")));
  for (const joint of new Set(rows.map((row) => row.joint))) {
    const own = rows.filter((row) => row.joint === joint);
    PLANES.forEach((_, place) => {
      const cell = element("div", "", "curve-cell");
      cell.append(...own.filter((row) => row.place === place).map((row) => chart(row, gait)));
      grid.append(cell);
    });
  }
  made.append(grid);
  return made;
}

function legend(rows: CurveRow[], gait: GaitData): HTMLElement {
  const made = element("p", "", "curve-legend");
  const known = new Set(rows.flatMap(({ bands }) => Object.keys(bands)));
  for (const column of ["left", "right", "left_other", "right_other", "usual"]) {
    if (!known.has(column)) continue;
    const item = element("span", nameOf(column, gait), `key ${column}`);
    made.append(item);
  }
  const off = "upright lines: foot off";
  made.append(element("span", `bands: ± 1 standard deviation; ${off}; degrees`, "quiet"));
  return made;
}

/** One angle of both sides. */
function chart(row: CurveRow, gait: GaitData): HTMLElement {
  const made = element("figure", "", "curve");
  const head = element("figcaption", "", "curve-head");
  head.append(element("b", row.title));
  const [low, high, step] = scaleOf(Object.values(row.bands));
  const x = (percent: number) => LEFT_EDGE + ((WIDTH - LEFT_EDGE - 4) * percent) / 100;
  const y = (value: number) => TOP + ((HEIGHT - TOP - BOTTOM) * (high - value)) / (high - low);
  const svg = drawn("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img" });
  svg.setAttribute("aria-label", `${row.title}: ${SIDES.map((s) => said(row, s)).join("; ")}`);
  for (let value = low; value <= high + 1e-9; value += step) {
    const still = Math.abs(value) < 1e-9 ? "grid zero" : "grid";
    svg.append(drawn("path", { class: still, d: `M${LEFT_EDGE} ${y(value)}H${x(100)}` }));
    svg.append(label(LEFT_EDGE - 5, y(value) + 4, String(Math.round(value)).replace("-", "−"), "end"));
  }
  for (const percent of [0, 25, 50, 75, 100]) {
    const last = percent === 100;
    const text = last ? "100 %" : String(percent);
    svg.append(label(last ? WIDTH : x(percent), HEIGHT - 5, text, last ? "end" : "middle"));
  }
  const columns = Object.keys(row.bands).sort((a, b) => depth(a) - depth(b));
  for (const column of columns) svg.append(...band(row.bands[column], column, x, y));
  for (const side of SIDES) {
    if (!(side in gait.offs) || !row.bands[side]) continue;
    const at = x(gait.offs[side]);
    svg.append(drawn("path", { class: `foot-off ${side}`, d: `M${at} ${TOP}V${HEIGHT - BOTTOM}` }));
  }
  for (const column of columns) svg.append(line(row.bands[column], column, x, y));
  for (const side of SIDES) if (row.bands[side]) svg.append(peak(row.bands[side], side, x, y));
  made.append(head, svg);
  for (const side of SIDES) {
    if (row.bands[side]) made.append(element("div", said(row, side), `extremes ${side}`));
  }
  made.title = `may be off by a constant of ± ${row.deviation.toFixed(1)}°`;
  return made;
}

const SIDES = ["left", "right"];

/** What lies under what: usual, the other session, then both sides. */
const depth = (column: string): number =>
  column === "usual" ? 0 : column.endsWith("_other") ? 1 : 2;

/** Whole degrees, with a minus that is as wide as a plus. */
const degrees = (value: number): string => value.toFixed(0).replace(/^-0$/, "0").replace("-", "−");

function said(row: CurveRow, side: string): string {
  const mean = row.bands[side]?.mean ?? [];
  if (!mean.length) return `${NAMES[side]}: –`;
  const high = Math.max(...mean);
  const low = Math.min(...mean);
  const peakAt = `peak ${degrees(high)}° at ${mean.indexOf(high)} %`;
  return `${NAMES[side]} ${peakAt}, least ${degrees(low)}°`;
}

function label(x: number, y: number, text: string, anchor: string): SVGTextElement {
  const made = drawn("text", { x, y, "text-anchor": anchor });
  made.textContent = text;
  return made;
}

type Along = (value: number) => number;

function band({ mean, deviation }: CurveBand, column: string, x: Along, y: Along): SVGElement[] {
  if (deviation === null) return [];
  const upper = mean.map((value, i) => `${x(i)} ${y(value + deviation[i])}`);
  const lower = mean.map((value, i) => `${x(i)} ${y(value - deviation[i])}`).reverse();
  return [drawn("path", { class: `band ${column}`, d: `M${[...upper, ...lower].join("L")}Z` })];
}

function line({ mean }: CurveBand, column: string, x: Along, y: Along): SVGElement {
  const points = mean.map((value, i) => `${x(i).toFixed(1)} ${y(value).toFixed(1)}`);
  return drawn("path", { class: `mean ${column}`, d: `M${points.join("L")}` });
}

function peak({ mean }: CurveBand, side: string, x: Along, y: Along): SVGElement {
  const high = Math.max(...mean);
  return drawn("circle", { class: `peak ${side}`, cx: x(mean.indexOf(high)), cy: y(high), r: 2.6 });
}

/** Least and largest of the axis, and its step. */
function scaleOf(bands: CurveBand[]): [number, number, number] {
  const edges = bands.flatMap(({ mean, deviation }) =>
    mean.flatMap((value, i) => {
      const spread = deviation === null ? 0 : deviation[i];
      return [value - spread, value + spread];
    }),
  );
  const low = Math.min(...edges);
  const high = Math.max(...edges);
  // no less than 20 degrees: a quiet angle should look quiet
  const span = Math.max(high - low, 20);
  const step = [5, 10, 20, 30, 45, 90].find((each) => span / each <= 5) ?? 180;
  const middle = (low + high) / 2;
  const from = Math.floor(Math.min(low, middle - 10) / step) * step;
  return [from, Math.ceil(Math.max(high, middle + 10) / step) * step, step];
}

function trials(gait: GaitData): HTMLElement {
  const made = section("Takes and how good they are", "trials");
  const rows = gait.trials.map((trial): Cell[] => [
    trial.name,
    trial.seconds.toFixed(1),
    `${trial.left}, ${trial.right}`,
    trial.rms_mm.toFixed(1),
    `${(100 * trial.missing).toFixed(1)} %`,
    trial.held,
    trial.events,
  ]);
  const head = ["Take", "Seconds", "Cycles left, right", "Markers from rig, mm", "Missing"];
  made.append(scroller(table([...head, "Held frames", "Events"], rows), "Takes"));
  return made;
}

function doubts(gait: GaitData): HTMLElement {
  const made = section("What is uncertain, and why", "doubts");
  const off = gait.curves.filter(({ joint }) => !LEFT_OUT.includes(joint));
  const worst = [...off].sort((a, b) => b.deviation - a.deviation).slice(0, 3);
  const named = worst.map((row) => `${row.title} ± ${row.deviation.toFixed(0)}°`).join(", ");
  const text = "Curves keep their shape better than their height: each may be off by a constant";
  made.append(element("p", `${text}, most of all ${named} (one standard deviation).`));
  made.append(element("p", `Pelvis, trunk and feet are told along ${gait.walking}.`));
  const rows = gait.doubts.map(([segment, told]): Cell[] => [segment, element("span", told)]);
  made.append(scroller(table(["Segment", "Its frame is from"], rows), "Frames of segments"));
  return made;
}
