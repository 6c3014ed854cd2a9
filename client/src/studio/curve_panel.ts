// The curve editor: one marker's x, y, z and a joint's angles; cut, fill, filter, swap over the
// selected frames.

import { button, toggle } from "../dom";
import { type Blocks } from "./blocks";
import { CurveCanvas } from "./curve_canvas";
import { CHANNELS, CurvePlots } from "./curve_plots";
import { choice, make, number } from "./elements";
import { type FrameWindow } from "./frame_window";
import { type Session } from "./session";
import { fetchArray } from "./side";

const FILLS = [
  ["auto", "best way"],
  ["spline", "spline"],
  ["rigid", "rigid neighbours"],
  ["lowrank", "bending neighbours"],
] as const;
const FILTERS = ["butterworth", "spline"] as const;

export class CurvePanel {
  readonly element = make("section", { class: "curve-panel", "aria-label": "Curve editor" });
  private readonly plots = new CurvePlots(() => this.canvas?.place());
  private readonly canvas: CurveCanvas;
  private readonly title = make("strong", { class: "curve-title" });
  private readonly range = make("output", { class: "range", "aria-live": "polite" });
  private readonly partner = choice("swap with", []);
  private readonly fillMethod = choice(
    "",
    FILLS.map(([value, text]) => [value, text] as const),
  );
  private readonly filterMethod = choice("", FILTERS);
  private readonly cutoff = number("Hz", 6, { min: 0.1, step: 0.5, class: "short" });
  private readonly needSelection: HTMLButtonElement[] = [];
  private readonly repairs: HTMLButtonElement[] = [];
  private markers: number[] = [];
  private overlay = true;
  private offShown = false;
  private before: Float32Array | null = null;
  private body = -1;
  private jointShown = true;
  private readonly legend = make("span", { class: "legend", hidden: true });
  /** What the plots show, so that it is fetched only once. */
  private shown: { points: Blocks | null | undefined; marker: number } = {
    points: null,
    marker: -1,
  };

  constructor(
    private readonly session: Session,
    private readonly frames: FrameWindow,
    onSeek: (frame: number) => void,
  ) {
    this.canvas = new CurveCanvas(this.plots, frames, onSeek, () => this.cut());
    this.element.append(this.tools(), this.canvas.element);
    frames.onChange(() => this.tellRange());
    session.on("arrived", ({ first, last }) => {
      this.plots.take(first, last);
    });
    session.on("opened", () => this.listPartners());
    session.on("solved", () => {
      void this.fetchOff();
      void this.fetchAngles();
    });
    session.on("changed", ({ moved }) => {
      void this.fetchFilled();
      if (moved) void this.fetchAngles();
    });
    this.tellRange();
  }

  setFrame(frame: number): void {
    this.canvas.setFrame(frame);
  }

  /** Shows the last of the chosen markers, its untouched curve beneath; edits are about all. */
  choose(markers: number[]): void {
    const side = this.session.side;
    this.markers = markers;
    const name = side?.markers[this.marker]?.name ?? "no marker chosen";
    this.title.textContent = markers.length > 1 ? `${name} and ${markers.length - 1} more` : name;
    const other = side?.markers[markers.at(-2) ?? -1]?.name;
    if (other !== undefined) this.partner.select.value = other;
    this.tellRange();
    if (side?.points === this.shown.points && this.marker === this.shown.marker) return;
    this.shown = { points: side?.points, marker: this.marker };
    this.plots.setCurve(this.marker < 0 ? null : (side?.points ?? null), this.marker);
    this.plots.setBefore(null);
    if (side?.points && this.marker >= 0) void this.fetchBefore(this.marker);
    void this.fetchOff();
    void this.fetchFilled();
  }

  /** Whether there are markers to show; a file of motion alone has curves of joints only. */
  enableMarkers(on: boolean): void {
    for (let channel = 0; channel < 3; channel++) this.plots.setShown(channel, on);
  }

  /** Whether samples can be filled and filtered: those of sensors cannot. */
  enableRepairs(on: boolean): void {
    for (const each of this.repairs) each.disabled = !on;
  }

  /** Shows the angles of a body's joint beneath; none where it is −1. */
  chooseBody(body: number): void {
    if (body === this.body) return;
    this.body = body;
    void this.fetchAngles();
  }

  private get marker(): number {
    return this.markers.at(-1) ?? -1;
  }

  cut(): void {
    const part = this.part();
    if (part) this.session.edit({ edit: "cut", ...part });
  }

  fill(): void {
    const part = this.part(true);
    if (part) {
      const method = this.fillMethod.select.value as (typeof FILLS)[number][0];
      this.session.edit({ edit: "fill", ...part, method });
    }
  }

  private async fetchBefore(marker: number): Promise<void> {
    const { shown } = this;
    const bytes = await fetchArray("markers", { state: "before", only: marker });
    if (shown !== this.shown) return;
    this.before = new Float32Array(bytes);
    this.plots.setBefore(this.overlay ? this.before : null);
  }

  private async fetchFilled(): Promise<void> {
    const { shown } = this;
    const some = (this.session.side?.markers[this.marker]?.filled ?? 0) > 0;
    const bytes = some ? await fetchArray("filled", { only: this.marker }) : null;
    if (shown === this.shown) this.plots.setFilled(bytes && new Float32Array(bytes));
  }

  private async fetchAngles(): Promise<void> {
    const { body, session } = this;
    const name = session.side?.rig?.bodies[body]?.name;
    if (name === undefined || !this.jointShown) return this.showAngles(null, "");
    const all = session.side?.rig?.parameters ?? [];
    const own = all.flatMap((row) => (row.name.startsWith(`${name}.`) ? row.name.slice(name.length + 1) : []));
    const values = new Float32Array(await fetchArray("angles", { body: name }));
    const names = body > 0 && all.length > 0 ? own : ["x", "y", "z"];
    if (body === this.body) this.showAngles(names.length > 0 ? { values, names } : null, name);
  }

  private showAngles(angles: { values: Float32Array; names: string[] } | null, body: string): void {
    this.plots.setAngles(angles);
    this.legend.hidden = angles === null;
    this.legend.replaceChildren(
      `${body.replaceAll("_", " ")} °: `,
      ...(angles?.names ?? []).map((name, i) => make("span", { class: `turn-${i}` }, name)),
    );
  }

  private setJoint(on: boolean): void {
    this.jointShown = on;
    void this.fetchAngles();
  }

  private setOff(on: boolean): void {
    this.offShown = on;
    this.plots.setShown(CHANNELS.indexOf("off"), on);
    void this.fetchOff();
  }

  private async fetchOff(): Promise<void> {
    const { shown } = this;
    this.plots.setOff(null);
    if (!this.offShown || this.marker < 0 || !this.session.state.solved) return;
    const bytes = await fetchArray("residuals", { only: this.marker });
    if (shown === this.shown) this.plots.setOff(new Float32Array(bytes));
  }

  private filter(): void {
    const part = this.part(true);
    if (part === null) return;
    const method = this.filterMethod.select.value as (typeof FILTERS)[number];
    const cutoff = this.cutoff.input.valueAsNumber;
    this.session.edit({ edit: "filter", ...part, cutoff, method });
  }

  private swap(): void {
    const part = this.part();
    const a = part?.markers.at(-1);
    const b = this.partner.select.value;
    if (part === null || a === undefined || a === b) return;
    this.session.edit({ edit: "swap", a, b, first: part.first, last: part.last });
  }

  /** Markers and frames that the next edit is about; without a selection all frames, if allowed. */
  private part(orAll = false): { markers: string[]; first: number; last: number } | null {
    const known = this.session.side?.markers ?? [];
    const markers = this.markers.flatMap((index) => known[index]?.name ?? []);
    const all = orAll ? { first: 0, last: this.frames.frames - 1 } : null;
    const range = this.frames.selection ?? all;
    return markers.length === 0 || range === null
      ? null
      : { markers, first: range.first, last: range.last };
  }

  private tools(): HTMLElement {
    const row = make("div", { class: "tools", role: "toolbar", "aria-label": "Curve tools" });
    const channels = CHANNELS.slice(0, 3).map((name, i) =>
      toggle(name, (on) => this.plots.setShown(i, on)),
    );
    const off = toggle("off", (on) => this.setOff(on), false);
    off.title = "How far the marker is from the solved model";
    const fill = button("Fill", () => this.fill(), "Fill what is missing in the selected frames, or in all");
    const filter = button("Filter", () => this.filter(), "Smooth the selected frames, or all");
    this.repairs.push(fill, filter);
    const joint = toggle("joint", (on) => this.setJoint(on));
    joint.title = "Angles of the chosen body's joint";
    const cut = button("Cut", () => this.cut(), "Take the selected samples out (Delete)");
    const swap = button("Swap", () => this.swap(), "Exchange the labels in the selected frames");
    this.needSelection.push(cut, swap);
    this.fillMethod.select.setAttribute("aria-label", "How to fill");
    this.filterMethod.select.setAttribute("aria-label", "Filter");
    const group = (...parts: Node[]) => make("span", { class: "group" }, ...parts);
    row.append(
      this.title,
      group(
        ...channels,
        off,
        toggle("before", (on) => this.setOverlay(on)),
        joint,
      ),
      this.legend,
      this.range,
      make("span", { class: "break" }),
      group(cut),
      group(
        this.fillMethod.select,
        fill,
      ),
      group(
        this.filterMethod.select,
        this.cutoff.field,
        filter,
      ),
      group(this.partner.field, swap),
    );
    return row;
  }

  private setOverlay(on: boolean): void {
    this.overlay = on;
    this.plots.setBefore(on ? this.before : null);
  }

  private listPartners(): void {
    const names = this.session.side?.markers.map((marker) => marker.name) ?? [];
    this.partner.select.replaceChildren(
      ...names.map((name) => make("option", { value: name }, name)),
    );
  }

  private tellRange(): void {
    const selection = this.frames.selection;
    for (const each of this.needSelection) {
      each.disabled = selection === null || this.marker < 0;
    }
    if (selection === null) {
      this.range.textContent = "drag to select frames";
      return;
    }
    const n = selection.last - selection.first + 1;
    const rate = this.session.side?.rate ?? 1;
    const seconds = (n / rate).toFixed(2);
    const { first, last } = selection;
    this.range.textContent = `${first}–${last} · ${n} frames · ${seconds} s`;
  }
}
