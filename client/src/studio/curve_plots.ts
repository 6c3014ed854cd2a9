// Plots under one another: x, y and z of one marker as it is and as it was before, and how far it
// is from the model.

import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { colour, onTheme } from "../theme";
import { type Blocks } from "./blocks";
import { make } from "./elements";
import { type Window, places, thin } from "./thin";

export const AXIS_WIDTH = 56;
export const CHANNELS = ["x", "y", "z", "off"];
const OFF = 3;

export class CurvePlots {
  readonly element = make("div", { class: "plots" });
  private readonly hosts = CHANNELS.map((name) =>
    make("div", { class: "plot", "data-channel": name }),
  );
  private plots: uPlot[] = [];
  private readonly shown = [true, true, true, false];
  private window: Window = { first: 0, last: 0 };
  private queued = false;
  private blocks: Blocks | null = null;
  private marker = 0;
  /** The marker's own x, y, z, frame by frame: side by side, so that drawing need not jump. */
  private curve = new Float32Array(0);
  private before: Float32Array | null = null;
  private off: Float32Array | null = null;

  constructor(private readonly onSize: () => void) {
    this.element.append(...this.hosts);
    this.hosts[OFF].hidden = true;
    onTheme(() => this.build()); // colours are drawn into the canvas
    new ResizeObserver(() => this.resize()).observe(this.element);
  }

  /** Pixels between which frames are drawn. */
  get columns(): number {
    return Math.max(50, this.element.clientWidth - AXIS_WIDTH);
  }

  setCurve(blocks: Blocks | null, marker: number): void {
    [this.blocks, this.marker] = [blocks, marker];
    this.curve = new Float32Array(3 * (blocks?.frames ?? 0)).fill(NaN);
    this.take(0, blocks?.frames ?? 0);
  }

  /** The untouched curve that lies beneath, or none. */
  setBefore(before: Float32Array | null): void {
    this.before = before;
    this.draw();
  }

  /** Distance from the model, frame by frame, or none. */
  setOff(off: Float32Array | null): void {
    this.off = off;
    this.draw();
  }

  /** Takes over frames that have come. */
  take(first: number, last: number): void {
    const { blocks, curve, marker } = this;
    if (blocks === null) return;
    for (let frame = first; frame < Math.min(last, blocks.frames); frame++) {
      const row = blocks.sample(frame);
      for (let k = 0; k < 3; k++) curve[3 * frame + k] = row[3 * marker + k];
    }
    this.draw();
  }

  setWindow(window: Window): void {
    this.window = window;
    this.draw();
  }

  setShown(channel: number, on: boolean): void {
    this.shown[channel] = on;
    this.hosts[channel].hidden = !on;
    this.resize();
  }

  /** Draws again, at most once per picture of the screen. */
  draw(): void {
    if (this.queued) return;
    this.queued = true;
    requestAnimationFrame(() => {
      this.queued = false;
      this.fill();
    });
  }

  private fill(): void {
    const x = places(this.window, this.columns);
    this.plots.forEach((plot, channel) => {
      if (!this.shown[channel]) return;
      if (channel === OFF) plot.setData([x, [], this.thinned(this.off, 0, 1)], false);
      else {
        const now = this.thinned(this.curve, channel);
        plot.setData([x, where(this.thinned(this.before, channel), now), now], false);
      }
      plot.setScale("x", { min: this.window.first, max: Math.max(this.window.last, 1) });
    });
  }

  /** Millimetres at the places that are drawn. */
  private thinned(values: Float32Array | null, at: number, stride = 3): (number | null)[] {
    if (values === null || values.length === 0) return [];
    return thin(values, at, stride, this.window, this.columns).map((v) => v && 1000 * v);
  }

  private build(): void {
    this.plots.forEach((plot) => plot.destroy());
    this.plots = this.hosts.map((host, channel) => this.plot(host, channel));
    this.resize();
  }

  private plot(host: HTMLElement, channel: number): uPlot {
    const ink = colour("quiet");
    const axis = {
      stroke: ink,
      font: "11px system-ui, sans-serif",
      grid: { stroke: colour("grid"), width: 1 },
      ticks: { show: false },
    };
    const title = {
      label: `${CHANNELS[channel]} mm`,
      labelSize: 14,
      labelGap: 0,
      labelFont: axis.font,
    };
    const options: uPlot.Options = {
      width: 300,
      height: 60,
      legend: { show: false },
      cursor: { show: false },
      padding: [4, 0, 2, 0],
      scales: { x: { time: false, auto: false }, y: { range: padded } },
      axes: [
        { ...axis, show: false },
        {
          ...axis,
          ...title,
          size: AXIS_WIDTH - title.labelSize,
          space: 22,
          values: (_plot, values) => values.map(String),
        },
      ],
      series: [
        {},
        { stroke: colour("before"), width: 1.5, dash: [4, 3], points: { show: false } },
        { stroke: colour(`${CHANNELS[channel]}`), width: 1.5, points: { show: false } },
      ],
    };
    return new uPlot(options, [[], [], []], host);
  }

  private resize(): void {
    const { clientWidth: width, clientHeight: height } = this.element;
    const count = this.shown.filter(Boolean).length;
    if (width === 0 || height === 0 || count === 0) return;
    const each = Math.max(36, Math.floor(height / count));
    this.plots.forEach((plot) => plot.setSize({ width, height: each }));
    this.draw();
    this.onSize();
  }
}

/** The curve of before, only where it differs: elsewhere the other would cover it. */
function where(before: (number | null)[], now: (number | null)[]): (number | null)[] {
  const differs = before.map((value, k) => value !== now[k]);
  return before.map((value, k) => (differs[k] || differs[k - 1] || differs[k + 1] ? value : null));
}

/** The range of a curve with a little room; a still marker gets a centimetre. */
function padded(_plot: uPlot, low: number | null, high: number | null): [number, number] {
  if (low === null || high === null) return [0, 1];
  const room = Math.max(5, 0.08 * (high - low));
  return [low - room, high + room];
}
