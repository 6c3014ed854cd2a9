// How far model and data lie apart: over time, and how often by how much.

import { Chart } from "../chart";
import { button, drawn, element, mm, scroller, section, table } from "../dom";
import type { Grid } from "../packed";
import type { Player } from "../player";

/** Distances of several things of one kind over time, millimetres. */
export interface Distances {
  what: string;
  names: string[];
  /** (n_frames, n_names) */
  values: Grid;
  /** Root mean square of each name as the files say it, null where unknown. */
  rms: (number | null)[];
  /** Further words on each name, such as the body. */
  on: string[];
}

export interface Spread {
  low: number;
  quarter: number;
  middle: number;
  threeQuarters: number;
  high: number;
  most: number;
}

/** Samples that quantiles are taken of: more would not change them visibly. */
const SAMPLES = 20000;
const BARS = 40;

/** 5, 25, 50, 75, 95 per cent and the largest of a column; null where it holds nothing. */
export function spreadOf(values: Float32Array): Spread | null {
  const finite = values.filter((value) => Number.isFinite(value));
  if (finite.length === 0) return null;
  let most = 0;
  for (const value of finite) most = Math.max(most, value);
  const every = Math.max(1, Math.floor(finite.length / SAMPLES));
  const sample = finite.filter((_, i) => i % every === 0).sort();
  const at = (share: number): number => sample[Math.round(share * (sample.length - 1))];
  return { low: at(0.05), quarter: at(0.25), middle: at(0.5), threeQuarters: at(0.75), high: at(0.95), most };
}

export class ResidualPanel {
  readonly element: HTMLElement;
  private readonly chart: Chart;
  private readonly bars: HTMLElement;
  private readonly heading: HTMLElement;
  private shown: Distances;
  private times: number[] = [];
  private chosenRow: HTMLTableRowElement | null = null;
  private readonly tables = element("div");
  private readonly rows = new Map<string, () => void>();
  private readonly tabs: HTMLButtonElement[] = [];

  /** `onChoose` is told which name of which set was chosen, −1 for all together. */
  constructor(
    host: HTMLElement,
    private readonly sets: Distances[],
    private readonly player: Player,
    private readonly onChoose: (set: number, index: number) => void = () => {},
  ) {
    this.element = section("Distances", "residuals");
    host.append(this.element);
    this.heading = element("p", "", "quiet");
    this.element.append(...this.tabBar(), this.heading);
    const curve = element("div", "", "chart");
    this.bars = element("div", "", "bars");
    this.element.append(curve, this.bars, this.tables);
    this.chart = new Chart(
      curve,
      [
        { label: "root mean square", tint: "accent" },
        { label: "worst", tint: "left", width: 1 },
      ],
      "mm",
      190,
      (seconds) => player.seek(seconds * player.rate),
    );
    player.onFrame((frame) => this.chart.at(frame / player.rate));
    this.shown = sets[0];
    this.open(0);
  }

  /** Chooses one by its name, wherever it is; false where nothing is called so. */
  chooseName(name: string): boolean {
    const set = this.sets.findIndex((each) => each.names.includes(name));
    if (set < 0) return false;
    if (this.sets[set] !== this.shown) this.tabs[set].click();
    this.rows.get(name)?.();
    return true;
  }

  private tabBar(): HTMLElement[] {
    if (this.sets.length < 2) return [];
    const made = element("div", "", "tabs");
    made.setAttribute("role", "group");
    made.setAttribute("aria-label", "Distances between");
    this.sets.forEach((set, i) => this.tabs.push(button(set.what, () => this.open(i))));
    made.append(...this.tabs);
    return [made];
  }

  private open(index: number): void {
    this.shown = this.sets[index];
    this.tabs.forEach((tab, i) => {
      tab.classList.toggle("chosen", i === index);
      tab.setAttribute("aria-pressed", String(i === index));
    });
    this.rows.clear();
    const { rate } = this.player;
    this.times = Array.from({ length: this.shown.values.rows }, (_, k) => k / rate);
    this.chosenRow = null;
    this.tables.replaceChildren(this.distributionTable(index));
    this.choose(index, -1);
  }

  private choose(set: number, index: number): void {
    const { names, what, values } = this.shown;
    if (index < 0) {
      const { rms, worst, all } = together(values);
      this.heading.textContent = `Between ${what}, all ${names.length} together. Choose a row for one alone.`;
      this.chart.set([this.times, rms, worst], ["root mean square", "worst"]);
      this.bars.replaceChildren(histogram(all, `Distances between ${what}`));
    } else {
      const column = values.column(index);
      const own = Array.from(column, (v) => (Number.isFinite(v) ? v : null));
      this.heading.textContent = `Between ${what}: ${names[index]}`;
      this.chart.set([this.times, own, own.map(() => null)], [names[index], ""]);
      this.bars.replaceChildren(histogram(column, `Distances of ${names[index]}`));
    }
    this.chart.at(this.player.frame / this.player.rate);
    this.onChoose(set, index);
  }

  private distributionTable(set: number): HTMLElement {
    const { names, values, rms, on } = this.shown;
    const spreads = names.map((_, i) => spreadOf(values.column(i)));
    const reach = Math.max(1e-6, ...spreads.map((spread) => spread?.high ?? 0));
    const order = names.map((_, i) => i).sort((a, b) => (rms[b] ?? -1) - (rms[a] ?? -1));
    const rows = order.map((i) => [
      names[i],
      mm(rms[i]),
      mm(spreads[i]?.middle),
      mm(spreads[i]?.high),
      mm(spreads[i]?.most),
      strip(spreads[i], reach),
      on[i],
    ]);
    const made = table(["worst first", "rms", "median", "95 %", "most", "distribution", "on"], rows);
    order.forEach((index, row) => this.makeChoosable(made.tBodies[0].rows[row], set, index));
    return scroller(made, "Distributions");
  }

  private makeChoosable(line: HTMLTableRowElement, set: number, index: number): void {
    line.tabIndex = 0;
    line.setAttribute("aria-selected", "false");
    const pick = () => {
      const same = this.chosenRow === line;
      this.chosenRow?.classList.remove("chosen");
      this.chosenRow?.setAttribute("aria-selected", "false");
      this.chosenRow = same ? null : line;
      this.chosenRow?.classList.add("chosen");
      this.chosenRow?.setAttribute("aria-selected", "true");
      if (!same) line.scrollIntoView({ block: "nearest" });
      this.choose(set, same ? -1 : index);
    };
    this.rows.set(this.shown.names[index], pick);
    line.addEventListener("click", pick);
    line.addEventListener("keydown", (event) => {
      if (event.key === "Enter") pick();
    });
  }
}

/** Root mean square and largest of every frame, and all values in one row. */
function together(values: Grid): {
  rms: (number | null)[];
  worst: (number | null)[];
  all: Float32Array;
} {
  const rms: (number | null)[] = [];
  const worst: (number | null)[] = [];
  const all = values.floats();
  for (let k = 0; k < values.rows; k++) {
    let [sum, count, top] = [0, 0, 0];
    for (let i = k * values.row; i < (k + 1) * values.row; i++) {
      const value = all[i];
      if (!Number.isFinite(value)) continue;
      sum += value * value;
      count += 1;
      top = Math.max(top, value);
    }
    rms.push(count ? Math.sqrt(sum / count) : null);
    worst.push(count ? top : null);
  }
  return { rms, worst, all };
}

/** 5 to 95 per cent as a line, the middle half as a box, the median as a notch. */
function strip(spread: Spread | null, reach: number): SVGSVGElement {
  const made = drawn("svg", { class: "strip", viewBox: "0 0 100 12", width: 110, height: 12 });
  made.setAttribute("aria-hidden", "true");
  if (spread === null) return made;
  const x = (value: number) => (96 * Math.min(value, reach)) / reach + 2;
  const box = { x: x(spread.quarter), width: Math.max(1, x(spread.threeQuarters) - x(spread.quarter)) };
  made.append(
    drawn("line", { class: "whisker", x1: x(spread.low), x2: x(spread.high), y1: 6, y2: 6 }),
    drawn("rect", { class: "box", ...box, y: 2, height: 8, rx: 1.5 }),
    drawn("line", { class: "median", x1: x(spread.middle), x2: x(spread.middle), y1: 1, y2: 11 }),
  );
  return made;
}

/** How often by how much, up to the 99.5th percentile; the last bar holds all beyond. */
function histogram(values: Float32Array, label: string): HTMLElement {
  const made = element("figure", "", "histogram");
  const spread = spreadOf(values);
  if (spread === null) return made;
  const reach = Math.min(spread.most, 2.2 * spread.high) || 1;
  const counts = new Array<number>(BARS).fill(0);
  for (const value of values) {
    if (Number.isFinite(value)) counts[Math.min(BARS - 1, Math.floor((BARS * value) / reach))] += 1;
  }
  const top = Math.max(...counts);
  const chart = drawn("svg", { viewBox: `0 0 ${10 * BARS} 60`, preserveAspectRatio: "none", role: "img" });
  chart.setAttribute("aria-label", `${label}: median ${mm(spread.middle)} mm, 95 % below ${mm(spread.high)} mm`);
  counts.forEach((count, i) => {
    const height = (58 * count) / top;
    chart.append(drawn("rect", { x: 10 * i + 0.7, y: 60 - height, width: 8.6, height }));
  });
  const beyond = spread.most > reach ? ` and more, up to ${mm(spread.most)}` : "";
  const words = element("figcaption");
  words.append(
    element("span", "0"),
    element("span", `median ${mm(spread.middle)} mm · 95 % below ${mm(spread.high)} mm`),
    element("span", `${mm(reach)} mm${beyond}`),
  );
  made.append(chart, words);
  return made;
}
