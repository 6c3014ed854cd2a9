// What is under the pointer: its name beside it, and a word when it is clicked.

import { element } from "../dom";
import type { Pick, Stage } from "./stage";

/** A press that moves further than this turns the camera and chooses nothing. */
const STILL = 4;

export interface Pointing {
  /** Layers whose things can be pointed at. */
  layers: string[];
  nameOf: (pick: Pick) => string;
  onChoose: (pick: Pick) => void;
}

export function letPoint(host: HTMLElement, stage: Stage, { layers, nameOf, onChoose }: Pointing): void {
  const label = element("div", "", "pointed");
  label.hidden = true;
  host.append(label);
  let pressed: PointerEvent | null = null;
  host.addEventListener("pointermove", (event) => {
    const pick = event.buttons > 0 ? null : stage.pick(event, layers);
    label.hidden = pick === null;
    host.style.cursor = pick ? "pointer" : "";
    if (pick === null) return;
    const area = host.getBoundingClientRect();
    label.textContent = nameOf(pick);
    label.style.left = `${event.clientX - area.left + 14}px`;
    label.style.top = `${event.clientY - area.top + 10}px`;
  });
  host.addEventListener("pointerleave", () => {
    label.hidden = true;
  });
  host.addEventListener("pointerdown", (event) => {
    pressed = event;
  });
  host.addEventListener("pointerup", (event) => {
    const moved = pressed ? Math.hypot(event.clientX - pressed.clientX, event.clientY - pressed.clientY) : Infinity;
    const pick = moved < STILL ? stage.pick(event, layers) : null;
    if (pick) onChoose(pick);
  });
}
