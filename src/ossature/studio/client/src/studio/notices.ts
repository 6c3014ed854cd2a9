// Words to the user at the foot of the page; a problem stays until it is closed.

import { button } from "../dom";
import { make } from "./elements";

const SHOWN = 4000;

export class Notices {
  readonly element = make("div", { class: "notices" });
  private readonly calm = make("div", { role: "status" });
  private readonly urgent = make("div", { role: "alert" });

  constructor() {
    this.element.append(this.calm, this.urgent);
  }

  say(text: string): void {
    const made = make("p", { class: "notice" }, text);
    this.calm.replaceChildren(made);
    setTimeout(() => made.remove(), SHOWN);
  }

  problem(text: string): void {
    const made = make("p", { class: "notice problem" }, text);
    const close = button("×", () => made.remove(), "Close");
    close.setAttribute("aria-label", "Close");
    made.append(close);
    this.urgent.append(made);
    while (this.urgent.children.length > 3) this.urgent.firstChild?.remove();
  }
}
