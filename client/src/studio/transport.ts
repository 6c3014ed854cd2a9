// Playing: buttons, the slider over the whole take, the frame by number.

import { button } from "../dom";
import { speedChoice } from "../panels/timeline";
import { type Player } from "../player";
import { make, number } from "./elements";

export class Transport {
  readonly element = make("div", { class: "transport", role: "group", "aria-label": "Playing" });
  private readonly play: HTMLButtonElement;
  private readonly slider = make("input", {
    type: "range",
    min: 0,
    value: 0,
    "aria-label": "Frame",
  });
  private readonly clock = make("output", { class: "clock" });
  private readonly frame: HTMLInputElement;

  constructor(private readonly player: Player) {
    this.play = button("▶", () => player.toggle(), "Play (Space)");
    this.play.classList.add("play");
    this.play.setAttribute("aria-label", "Play");
    const box = number("frame", 0, { min: 0, class: "short" }, (frame) => player.seek(frame));
    this.frame = box.input;
    this.slider.addEventListener("input", () => player.seek(this.slider.valueAsNumber));
    this.element.append(this.play, this.slider, box.field, this.clock, speedChoice(player));
    player.onState((playing) => {
      this.play.textContent = playing ? "❚❚" : "▶";
      this.play.setAttribute("aria-label", playing ? "Pause" : "Play");
    });
    player.onFrame((frame) => this.show(frame));
  }

  setTake(frames: number, rate: number): void {
    this.player.pause();
    this.player.frames = Math.max(1, frames);
    this.player.rate = rate;
    this.slider.max = this.frame.max = String(Math.max(0, frames - 1));
  }

  private show(frame: number): void {
    this.slider.value = String(frame);
    if (document.activeElement !== this.frame) this.frame.value = String(frame);
    const seconds = frame / this.player.rate;
    const minutes = Math.floor(seconds / 60);
    this.clock.textContent = `${minutes}:${(seconds - 60 * minutes).toFixed(2).padStart(5, "0")}`;
  }
}
