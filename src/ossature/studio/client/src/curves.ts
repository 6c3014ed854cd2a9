// Residuals over time: all markers together, or one that was chosen in the table.

import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { type ReportData, unpack } from "./data";

export class Curves {
  private readonly errors: Float32Array;
  private readonly plot: uPlot;
  private readonly times: number[];

  constructor(
    host: HTMLElement,
    private readonly data: ReportData,
    onSeek: (frame: number) => void,
  ) {
    this.errors = unpack(data.errors);
    const n = data.markers.length === 0 ? 0 : this.errors.length / data.markers.length;
    this.times = Array.from({ length: n }, (_, k) => (k * data.stride) / data.rate);
    const ink = getComputedStyle(document.documentElement).getPropertyValue("--ink").trim();
    const axis = { stroke: ink, grid: { stroke: "rgba(128,128,128,0.2)" } };
    this.plot = new uPlot(
      {
        width: Math.max(host.clientWidth, 200),
        height: 180,
        scales: { x: { time: false } },
        axes: [
          { ...axis, label: "seconds" },
          { ...axis, label: "mm" },
        ],
        series: [
          { label: "time" },
          { label: "root mean square", stroke: "#d06a2f", width: 1.5 },
          { label: "worst marker", stroke: "#2f8fd0", width: 1 },
        ],
        hooks: {
          ready: [
            (u) => u.over.addEventListener("click", () => onSeek(u.cursor.idx ?? 0)),
          ],
        },
      },
      this.all(),
      host,
    );
    new ResizeObserver(() =>
      this.plot.setSize({ width: Math.max(host.clientWidth, 200), height: 180 }),
    ).observe(host);
  }

  /** Shows one marker's distance, or all markers when given null. */
  choose(marker: number | null): void {
    this.plot.setData(marker === null ? this.all() : this.one(marker));
  }

  private all(): uPlot.AlignedData {
    const m = this.data.markers.length;
    const rms: (number | null)[] = [];
    const worst: (number | null)[] = [];
    for (let k = 0; k < this.times.length; k++) {
      let sum = 0;
      let count = 0;
      let top = 0;
      for (let i = 0; i < m; i++) {
        const value = this.errors[k * m + i];
        if (Number.isFinite(value)) {
          sum += value * value;
          count += 1;
          top = Math.max(top, value);
        }
      }
      rms.push(count ? Math.sqrt(sum / count) : null);
      worst.push(count ? top : null);
    }
    return [this.times, rms, worst];
  }

  private one(marker: number): uPlot.AlignedData {
    const m = this.data.markers.length;
    const own = this.times.map((_, k) => {
      const value = this.errors[k * m + marker];
      return Number.isFinite(value) ? value : null;
    });
    return [this.times, own, own.map(() => null)];
  }
}
