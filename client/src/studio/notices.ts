// Words to the user over the view, where they hide no lane; a problem stays until it is closed.

import { button } from "../dom";
import { make } from "./elements";

const SHOWN = 4000;
/** Problems that stand there at once; the oldest give way. */
const MOST = 3;

export class Notices {
  readonly element = make("div", { class: "notices" });
  private readonly calm = make("div", { role: "status" });
  private readonly urgent = make("div", { role: "alert" });
  private readonly problems = new Map<string, { notice: HTMLElement; times: number }>();

  constructor() {
    this.element.append(this.calm, this.urgent);
  }

  say(text: string): void {
    const made = make("p", { class: "notice" }, text);
    this.calm.replaceChildren(made);
    setTimeout(() => made.remove(), SHOWN);
  }

  /** The same problem again is counted, not said again. */
  problem(text: string): void {
    const times = (this.problems.get(text)?.times ?? 0) + 1;
    this.close(text);
    const words = times > 1 ? `${text} (${times} times)` : text;
    const notice = make("p", { class: "notice problem" }, make("span", {}, words));
    const close = button("×", () => this.close(text), "Close");
    close.setAttribute("aria-label", "Close");
    notice.append(close);
    this.problems.set(text, { notice, times });
    this.urgent.append(notice);
    const [oldest] = this.problems.keys();
    if (this.problems.size > MOST) this.close(oldest);
  }

  private close(text: string): void {
    this.problems.get(text)?.notice.remove();
    this.problems.delete(text);
  }
}
