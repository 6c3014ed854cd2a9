// The curves with what lies over them: selection, current frame, and the mouse and keys.

import { type CurvePlots } from "./curve_plots";
import { follow, make } from "./elements";
import { type FrameWindow } from "./frame_window";

const CLICK = 3;

export class CurveCanvas {
  readonly element = make("div", { class: "curves" });
  private readonly over = make("div", {
    class: "over",
    tabindex: 0,
    role: "group",
    "aria-label":
      "Curves. Drag or press Shift and an arrow to select frames; Delete cuts them out.",
  });
  private readonly band = make("div", { class: "band", hidden: true });
  private readonly line = make("div", { class: "now" });
  private frame = 0;

  constructor(
    private readonly plots: CurvePlots,
    private readonly frames: FrameWindow,
    private readonly onSeek: (frame: number) => void,
    onCut: () => void,
  ) {
    this.over.append(this.band, this.line);
    this.element.append(plots.element, this.over);
    this.over.addEventListener("pointerdown", (event) => this.down(event));
    const wheel = (event: WheelEvent) => frames.wheel(event, this.shareOf(event));
    this.over.addEventListener("wheel", wheel, { passive: false });
    this.over.addEventListener("dblclick", () => frames.showSelection());
    this.over.addEventListener("keydown", (event) => this.key(event, onCut));
    frames.onChange(() => this.place());
  }

  setFrame(frame: number): void {
    this.frame = frame;
    const share = this.frames.share(frame);
    this.line.hidden = share < 0 || share > 1;
    this.line.style.transform = `translateX(${share * this.over.clientWidth}px)`;
  }

  /** Puts band and line where the window wants them. */
  place(): void {
    this.plots.setWindow(this.frames);
    this.setFrame(this.frame);
    const selection = this.frames.selection;
    this.band.hidden = selection === null;
    if (selection === null) return;
    const half = 0.5 / Math.max(1, this.frames.last - this.frames.first);
    const left = Math.max(0, this.frames.share(selection.first) - half);
    const right = Math.min(1, this.frames.share(selection.last) + half);
    this.band.style.left = `${100 * left}%`;
    this.band.style.width = `${100 * Math.max(0, right - left)}%`;
  }

  private shareOf(event: MouseEvent): number {
    const box = this.over.getBoundingClientRect();
    return (event.clientX - box.left) / box.width;
  }

  private down(event: PointerEvent): void {
    this.over.focus({ preventScroll: true });
    if (event.button === 1 || event.altKey) return this.drag(event);
    if (event.button !== 0) return;
    const start = event.clientX;
    const kept = this.frames.selection;
    const anchor = event.shiftKey && kept ? kept.first : this.frames.frameAt(this.shareOf(event));
    follow(
      event,
      (move) => {
        if (Math.abs(move.clientX - start) > CLICK) {
          this.frames.select(anchor, this.frames.frameAt(this.shareOf(move)));
        }
      },
      (end) => {
        if (end === null) this.frames.select(kept?.first ?? null, kept?.last);
        else if (event.shiftKey && kept) {
          this.frames.select(anchor, this.frames.frameAt(this.shareOf(end)));
        } else if (Math.abs(end.clientX - start) <= CLICK) {
          // a click on the selection may be the first of two, which show it
          if (kept === null || anchor < kept.first || anchor > kept.last) this.frames.select(null);
          this.onSeek(anchor);
        }
      },
    );
  }

  private drag(event: PointerEvent): void {
    event.preventDefault();
    let last = this.shareOf(event);
    follow(
      event,
      (move) => {
        const share = this.shareOf(move);
        this.frames.pan((last - share) * (this.frames.last - this.frames.first));
        last = share;
      },
      () => undefined,
    );
  }

  private key(event: KeyboardEvent, onCut: () => void): void {
    if (event.key === "Delete" || event.key === "Backspace") onCut();
    else if (event.shiftKey && event.key === "ArrowRight") this.extend(1);
    else if (event.shiftKey && event.key === "ArrowLeft") this.extend(-1);
    else if (event.key === "Escape" && this.frames.selection) this.frames.select(null);
    else if (event.key === "+" || event.key === "=") this.frames.zoom(0.7, 0.5);
    else if (event.key === "-") this.frames.zoom(1.4, 0.5);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** Moves the current frame and takes the selection along with it. */
  private extend(step: number): void {
    const kept = this.frames.selection;
    const to = Math.max(0, Math.min(this.frames.frames - 1, this.frame + step));
    const fixed = kept === null ? this.frame : kept.first === this.frame ? kept.last : kept.first;
    this.frames.select(fixed, to);
    this.onSeek(to);
  }
}
