// Time: which frame is shown, and playing on from it.

export class Player {
  frame = 0;
  playing = false;
  /** 1 is real time. */
  speed = 1;
  private last = 0;
  private carry = 0;
  private readonly frameListeners: ((frame: number) => void)[] = [];
  private readonly stateListeners: ((playing: boolean) => void)[] = [];

  constructor(
    public frames: number,
    public rate: number,
  ) {}

  onFrame(listener: (frame: number) => void): void {
    this.frameListeners.push(listener);
  }

  onState(listener: (playing: boolean) => void): void {
    this.stateListeners.push(listener);
  }

  seek(frame: number): void {
    this.frame = Math.max(0, Math.min(this.frames - 1, Math.round(frame)));
    for (const listener of this.frameListeners) listener(this.frame);
  }

  toggle(): void {
    this.playing = !this.playing;
    for (const listener of this.stateListeners) listener(this.playing);
    if (this.playing) {
      this.last = performance.now();
      this.carry = 0;
      requestAnimationFrame((now) => this.step(now));
    }
  }

  pause(): void {
    if (this.playing) this.toggle();
  }

  private step(now: number): void {
    if (!this.playing) return;
    this.carry += (Math.max(0, now - this.last) / 1000) * this.rate * this.speed;
    this.last = now;
    const whole = Math.floor(this.carry);
    if (whole > 0) {
      this.carry -= whole;
      this.seek((this.frame + whole) % this.frames);
    }
    requestAnimationFrame((next) => this.step(next));
  }
}

/** Space plays, arrows step (with shift ten frames), home and end jump; true where a key was taken. */
export function playerKey(player: Player, event: KeyboardEvent): boolean {
  const step = event.shiftKey ? 10 : 1;
  if (event.code === "Space") player.toggle();
  else if (event.key === "ArrowRight") player.seek(player.frame + step);
  else if (event.key === "ArrowLeft") player.seek(player.frame - step);
  else if (event.key === "Home") player.seek(0);
  else if (event.key === "End") player.seek(player.frames - 1);
  else return false;
  return true;
}

const MOVES_A_SLIDER = /^(Arrow|Page|Home|End)/;

/** Whether a key pressed here belongs to the page and not to a field or button. */
export function isForPage(event: KeyboardEvent): boolean {
  const at = event.target;
  if (event.ctrlKey || event.metaKey || event.altKey) return false;
  if (at instanceof HTMLTextAreaElement || at instanceof HTMLSelectElement) return false;
  if (at instanceof HTMLInputElement) {
    if (at.type === "range") return at.closest(".transport") !== null || !MOVES_A_SLIDER.test(event.key);
    return at.type === "checkbox" && event.code !== "Space";
  }
  if (at instanceof HTMLElement && at.closest("button, summary, a, tr[tabindex], [role=tab]")) {
    return event.code !== "Space" && event.key !== "Enter";
  }
  return true;
}
