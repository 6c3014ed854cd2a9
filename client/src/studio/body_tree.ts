// The hierarchy as a tree: a body dragged onto another hangs on it, dragged to the top it is root.

import { type BodyRow } from "../report_data";
import { follow, make, reveal } from "./elements";

const START = 5;

export interface TreeActions {
  choose(body: number): void;
  hang(body: string, parent: string): void;
  makeRoot(body: string): void;
}

export class BodyTree {
  readonly element = make("div", { class: "body-tree" });
  private readonly rootPlace = make("div", { class: "root-place", "data-root": true }, "root");
  private readonly list = make("ul", { role: "tree", "aria-label": "Bodies" });
  private readonly empty = make("p", { class: "hint" }, "Solve the take to see its bodies.");
  private rows: HTMLElement[] = [];
  private bodies: BodyRow[] = [];
  private chosen = -1;

  constructor(private readonly actions: TreeActions) {
    this.element.append(this.rootPlace, this.list, this.empty);
    this.list.addEventListener("keydown", (event) => this.key(event));
  }

  setBodies(bodies: BodyRow[]): void {
    this.bodies = bodies;
    this.rows = bodies.map((body, index) => this.row(body, index));
    this.list.replaceChildren(...this.branch(-1, 1));
    this.rootPlace.hidden = bodies.length === 0;
    this.empty.hidden = bodies.length > 0;
    this.show(this.chosen < bodies.length ? this.chosen : -1);
  }

  /** Shows what is chosen without telling anybody. */
  show(body: number): void {
    this.chosen = body;
    this.rows.forEach((row, index) => {
      row.parentElement?.setAttribute("aria-selected", String(index === body));
      row.parentElement?.setAttribute("tabindex", index === Math.max(0, body) ? "0" : "-1");
    });
    reveal(this.rows[body], this.element);
  }

  private branch(parent: number, level: number): HTMLLIElement[] {
    return this.bodies.flatMap((body, index) => {
      if (body.parent !== parent) return [];
      const item = make("li", { role: "treeitem", "aria-level": level }, this.rows[index]);
      item.dataset.index = String(index);
      const children = this.branch(index, level + 1);
      if (children.length > 0) {
        item.setAttribute("aria-expanded", "true");
        item.append(make("ul", { role: "group" }, ...children));
      }
      return [item];
    });
  }

  private row(body: BodyRow, index: number): HTMLElement {
    const made = make(
      "div",
      { class: "row", "data-body": body.name },
      make("span", { class: "name" }, body.name.replaceAll("_", " ")),
      make("span", { class: "carrier" }, body.parent < 0 ? "root" : body.kind),
    );
    made.addEventListener("pointerdown", (event) => this.down(event, index));
    return made;
  }

  private down(event: PointerEvent, index: number): void {
    if (event.button !== 0) return;
    const name = this.bodies[index].name;
    const start = [event.clientX, event.clientY];
    let target: HTMLElement | null = null;
    let dragging = false;
    const mark = (to: HTMLElement | null) => {
      target?.classList.remove("target");
      target = to;
      target?.classList.add("target");
    };
    follow(
      event,
      (move) => {
        dragging ||= Math.hypot(move.clientX - start[0], move.clientY - start[1]) > START;
        if (!dragging) return;
        this.element.classList.add("dragging");
        mark(this.placeUnder(move, index));
      },
      (end) => {
        this.element.classList.remove("dragging");
        const to = target;
        mark(null);
        if (!dragging) this.actions.choose(index);
        else if (end !== null && to !== null) this.drop(name, to);
      },
    );
  }

  private drop(name: string, to: HTMLElement): void {
    if (to.dataset.body === undefined) this.actions.makeRoot(name);
    else this.actions.hang(name, to.dataset.body);
  }

  /** Row or root place under the pointer where the body may be dropped: not in its own branch. */
  private placeUnder(event: PointerEvent, index: number): HTMLElement | null {
    const at = document.elementFromPoint(event.clientX, event.clientY);
    const place = at?.closest<HTMLElement>(".row, .root-place") ?? null;
    if (place === null || !this.element.contains(place)) return null;
    const own = this.rows[index].parentElement;
    return own?.contains(place) ? null : place;
  }

  private key(event: KeyboardEvent): void {
    const order = [...this.list.querySelectorAll<HTMLElement>('[role="treeitem"]')];
    const at = order.findIndex((item) => item === event.target);
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined && event.key !== "Enter") return;
    const item = order[Math.max(0, Math.min(order.length - 1, at + (step ?? 0)))];
    this.actions.choose(Number(item.dataset.index));
    item.focus();
    event.preventDefault();
    event.stopPropagation();
  }
}
