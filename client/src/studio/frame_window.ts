// The frames that curves and time line show, and the range that is selected among them.

import { type Window } from "./thin";

const FEWEST = 10;

export class FrameWindow {
  first = 0;
  last = 0;
  frames = 0;
  /** First and last selected frame. */
  selection: Window | null = null;
  private readonly listeners: (() => void)[] = [];

  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  setFrames(frames: number): void {
    this.frames = frames;
    this.selection = null;
    this.set(0, frames - 1);
  }

  /** A place between 0 and 1 across the window. */
  share(frame: number): number {
    return (frame - this.first) / Math.max(1, this.last - this.first);
  }

  frameAt(share: number): number {
    const frame = Math.round(this.first + share * (this.last - this.first));
    return Math.max(0, Math.min(this.frames - 1, frame));
  }

  select(one: number | null, other = 0): void {
    this.selection =
      one === null ? null : { first: Math.min(one, other), last: Math.max(one, other) };
    this.tell();
  }

  /** Makes the window `factor` times as long about a place that stays where it is. */
  zoom(factor: number, share: number): void {
    const length = this.last - this.first;
    const wanted = Math.max(FEWEST, Math.min(this.frames - 1, length * factor));
    const first = this.first + share * (length - wanted);
    this.set(first, first + wanted);
  }

  pan(frames: number): void {
    this.set(this.first + frames, this.last + frames);
  }

  /** The mouse wheel about a place: closer and further, or along with Shift. */
  wheel(event: WheelEvent, share: number): void {
    event.preventDefault();
    const along = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
    const length = this.last - this.first;
    if (along) this.pan(((event.deltaX || event.deltaY) / 1000) * length);
    else this.zoom(Math.exp(event.deltaY / 400), share);
  }

  showAll(): void {
    this.set(0, this.frames - 1);
  }

  /** Shows the selection with room about it. */
  showSelection(): void {
    if (this.selection === null) return this.showAll();
    const room = Math.max(FEWEST, this.selection.last - this.selection.first);
    this.set(this.selection.first - room, this.selection.last + room);
  }

  /** Turns the page where a frame lies outside. */
  follow(frame: number): void {
    if (frame < this.first) this.pan(frame - this.first);
    else if (frame > this.last) this.pan(frame - this.first);
  }

  private set(first: number, last: number): void {
    const length = Math.min(Math.max(0, this.frames - 1), Math.round(last - first));
    this.first = Math.max(0, Math.min(this.frames - 1 - length, Math.round(first)));
    this.last = this.first + length;
    this.tell();
  }

  private tell(): void {
    this.listeners.forEach((listener) => listener());
  }
}
