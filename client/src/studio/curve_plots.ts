// Plots under one another: x, y and z of one marker as it is and as it was before, how far it is from
// the model, and the angles of a joint. Samples that were filled in are drawn unlike measured ones.

import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { colour, onTheme } from "../theme";
import { type Blocks } from "./blocks";
import { make } from "./elements";
import { type Window, places, thin } from "./thin";

export const AXIS_WIDTH = 56;
export const CHANNELS = ["x", "y", "z", "off", "joint"];
const OFF = 3;
const JOINT = 4;
/** Pixels from the top of a plot within which a number would meet one of the plot above. */
const EDGE = 5;
const DEGREES = 180 / Math.PI;
/** A joint turns about so many axes at most. */
const AXES = 3;

export class CurvePlots {
  readonly element = make("div", { class: "plots" });
  private readonly hosts = CHANNELS.map((name) =>
    make("div", { class: "plot", "data-channel": name }),
  );
  private plots: uPlot[] = [];
  private readonly shown = [true, true, true, false, false];
  private window: Window = { first: 0, last: 0 };
  private queued = false;
  private blocks: Blocks | null = null;
  private marker = 0;
  /** The marker's own x, y, z, frame by frame: side by side, so that drawing need not jump. */
  private curve = new Float32Array(0);
  private before: Float32Array | null = null;
  private off: Float32Array | null = null;
  /** Frames whose samples were filled in: 1. */
  private filled: Float32Array | null = null;
  private angles: { values: Float32Array; names: string[] } | null = null;

  constructor(private readonly onSize: () => void) {
    this.element.append(...this.hosts);
    this.hosts[OFF].hidden = this.hosts[JOINT].hidden = true;
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

  /** Which frames were filled in, or none. */
  setFilled(filled: Float32Array | null): void {
    this.filled = filled;
    this.draw();
  }

  /** Angles of a joint, frame by frame, with the names of what they turn about; or none. */
  setAngles(angles: { values: Float32Array; names: string[] } | null): void {
    const renamed = angles?.names.join() !== this.angles?.names.join();
    this.angles = angles;
    this.setShown(JOINT, angles !== null);
    if (renamed) this.build();
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
      plot.setData([x, ...this.lines(channel)], false);
      plot.setScale("x", { min: this.window.first, max: Math.max(this.window.last, 1) });
    });
  }

  /** What is drawn over the places of a plot. */
  private lines(channel: number): (number | null)[][] {
    if (channel === JOINT) {
      const { values, names } = this.angles ?? { values: null, names: [] };
      return names.map((_, i) => this.thinned(values, i, names.length, DEGREES));
    }
    if (channel === OFF) return [[], this.thinned(this.off, 0, 1), []];
    const now = this.thinned(this.curve, channel);
    const before = where(this.thinned(this.before, channel), now);
    if (this.filled === null) return [before, now, []];
    const [measured, filled] = apart(this.curve, this.filled);
    return [before, this.thinned(measured, channel), this.thinned(filled, channel)];
  }

  /** Millimetres, or another unit, at the places that are drawn. */
  private thinned(
    values: Float32Array | null,
    at: number,
    stride = 3,
    unit = 1000,
  ): (number | null)[] {
    if (values === null || values.length === 0) return [];
    return thin(values, at, stride, this.window, this.columns).map((v) => v && unit * v);
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
      label: channel === JOINT ? "joint °" : `${CHANNELS[channel]} mm`,
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
          values: (plot, values) => values.map((value) => (hasRoom(plot, value) ? `${value}` : "")),
        },
      ],
      series: [{}, ...(channel === JOINT ? this.jointSeries() : markerSeries(channel))],
    };
    return new uPlot(options, options.series.map(() => []) as unknown as uPlot.AlignedData, host);
  }

  private jointSeries(): uPlot.Series[] {
    const names = this.angles?.names ?? CHANNELS.slice(0, AXES);
    return names.map((name, i) => ({
      label: name,
      stroke: colour(CHANNELS[i]),
      width: 1.5,
      points: { show: false },
    }));
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

function markerSeries(channel: number): uPlot.Series[] {
  const points = { show: false };
  return [
    { stroke: colour("before"), width: 1.5, dash: [4, 3], points },
    { stroke: colour(CHANNELS[channel]), width: 1.5, points },
    { stroke: colour("filled"), width: 2.5, dash: [2, 3], points },
  ];
}

/** The measured part of a marker's x, y, z and the filled one, which reaches to its neighbours. */
function apart(curve: Float32Array, filled: Float32Array): [Float32Array, Float32Array] {
  const [measured, made] = [curve.slice(), curve.slice()];
  for (let frame = 0; frame < filled.length; frame++) {
    const near = filled[frame - 1] === 1 || filled[frame + 1] === 1;
    if (filled[frame] === 1) measured.fill(NaN, 3 * frame, 3 * frame + 3);
    else if (!near) made.fill(NaN, 3 * frame, 3 * frame + 3);
  }
  return [measured, made];
}

/** The curve of before, only where it differs: elsewhere the other would cover it. */
function where(before: (number | null)[], now: (number | null)[]): (number | null)[] {
  const differs = before.map((value, k) => value !== now[k]);
  return before.map((value, k) => (differs[k] || differs[k - 1] || differs[k + 1] ? value : null));
}

/** Whether a number beside the plot is clear of the lowest beside the plot above. */
function hasRoom(plot: uPlot, value: number): boolean {
  return !(plot.valToPos(value, "y") < EDGE);
}

/** The range of a curve with a little room; a still marker gets a centimetre. */
function padded(_plot: uPlot, low: number | null, high: number | null): [number, number] {
  if (low === null || high === null) return [0, 1];
  const room = Math.max(5, 0.08 * (high - low));
  return [low - room, high + room];
}
