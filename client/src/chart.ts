// Curves over time in the page's colours, with a line at the frame that is shown.

import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { colour, onTheme } from "./theme";

export interface Curve {
  label: string;
  /** Name of a colour in the style sheet. */
  tint: string;
  width?: number;
}

export class Chart {
  readonly plot: uPlot;
  private readonly head = document.createElement("div");
  private shown = 0;

  constructor(
    host: HTMLElement,
    curves: Curve[],
    unit: string,
    height: number,
    /** Called with the time that was clicked or dragged to, seconds. */
    onSeek: (seconds: number) => void,
  ) {
    const width = () => Math.max(host.clientWidth, 200);
    const axis = (label: string): uPlot.Axis => ({
      label,
      labelSize: 18,
      gap: 3,
      labelFont: "12px system-ui",
      font: "12px system-ui",
      stroke: () => colour("quiet"),
      grid: { stroke: () => colour("line"), width: 1 },
      ticks: { stroke: () => colour("line"), width: 1 },
    });
    this.plot = new uPlot(
      {
        width: width(),
        height,
        scales: { x: { time: false } },
        axes: [{ ...axis("seconds"), size: 30 }, { ...axis(unit), size: 40 }],
        padding: [8, 8, 0, 0],
        legend: { live: true },
        cursor: { drag: { x: true, y: false, setScale: true } },
        series: [
          { label: "time", value: (_, v) => (v === null ? "–" : `${v.toFixed(2)} s`) },
          ...curves.map((curve) => ({
            label: curve.label,
            stroke: () => colour(curve.tint),
            width: curve.width ?? 1.4,
            points: { show: false },
            value: (_: uPlot, v: number | null) =>
              v === null || v === undefined ? "–" : `${v.toFixed(2)} ${unit}`,
          })),
        ],
      },
      [[0], ...curves.map(() => [null])] as uPlot.AlignedData,
      host,
    );
    this.head.className = "chart-head";
    this.plot.over.append(this.head);
    this.plot.over.addEventListener("click", (event) => onSeek(this.plot.posToVal(event.offsetX, "x")));
    const fit = () => {
      this.plot.setSize({ width: width(), height });
      this.at(this.shown);
    };
    new ResizeObserver(fit).observe(host);
    onTheme(() => this.plot.redraw(false));
  }

  set(data: uPlot.AlignedData, labels: string[] = []): void {
    labels.forEach((label, i) => {
      const shown = this.plot.root.querySelectorAll(".u-series .u-label")[i + 1];
      if (shown) shown.textContent = label;
    });
    this.plot.setData(data);
  }

  /** Puts the line at a time. */
  at(seconds: number): void {
    this.shown = seconds;
    const x = this.plot.valToPos(seconds, "x");
    this.head.style.transform = `translateX(${x}px)`;
    this.head.hidden = !(x >= 0 && x <= this.plot.over.clientWidth);
  }
}
