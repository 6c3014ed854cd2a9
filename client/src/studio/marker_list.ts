// The markers of the take: how much of each is there, who carries it, and which is chosen.

import { make, reveal } from "./elements";
import { type BodyRow, type MarkerRow } from "../report_data";

export class MarkerList {
  readonly element = make("div", { class: "marker-list" });
  private readonly search = make("input", {
    type: "search",
    placeholder: "Find a marker",
    "aria-label": "Find a marker",
  });
  private readonly list = make("ul", {
    role: "listbox",
    tabindex: 0,
    "aria-label": "Markers; Ctrl and click adds to the choice",
  });
  private items: HTMLLIElement[] = [];
  private chosen: number[] = [];

  /** Hears of the chosen markers; the last one is shown in the curves. */
  constructor(private readonly onChoose: (markers: number[]) => void) {
    this.element.append(this.search, this.list);
    this.search.addEventListener("input", () => this.sieve());
    this.list.addEventListener("keydown", (event) => this.key(event));
  }

  /** Shows these markers; items that say the same already are left alone. */
  setMarkers(markers: MarkerRow[], bodies: BodyRow[]): void {
    const same =
      markers.length === this.items.length &&
      markers.every((marker, index) => this.items[index].dataset.name === marker.name);
    if (!same) {
      this.items = markers.map((marker, index) => this.item(marker, index));
      this.list.replaceChildren(...this.items);
      this.sieve();
      this.paint();
    }
    markers.forEach((marker, index) => this.tell(this.items[index], marker, bodies[marker.body]?.name ?? ""));
  }

  /** Shows what is chosen without telling anybody. */
  show(markers: number[]): void {
    this.chosen = markers;
    this.paint();
    reveal(this.items[markers.at(-1) ?? -1], this.list);
  }

  private item(marker: MarkerRow, index: number): HTMLLIElement {
    const made = make(
      "li",
      { role: "option", id: `marker-${index}`, "data-name": marker.name },
      make("span", { class: "name" }, marker.name),
      make("span", { class: "carrier" }),
      make("span", { class: "share" }),
    );
    made.addEventListener("click", (event) => this.pick(index, event.ctrlKey || event.metaKey));
    return made;
  }

  /** Who carries the marker, and how much of it is there. */
  private tell(item: HTMLLIElement, marker: MarkerRow, carriedBy: string): void {
    const [, carrier, share] = item.children as unknown as HTMLElement[];
    const percent = Math.round(1000 * (1 - marker.missing)) / 10;
    const said = `${percent < 100 ? percent.toFixed(1) : 100} %`;
    const body = carriedBy.replaceAll("_", " ");
    if (carrier.textContent !== body) carrier.textContent = body;
    if (share.textContent === said) return;
    share.textContent = said;
    share.title = `seen in ${percent} % of the frames`;
    share.classList.toggle("gappy", percent < 100);
  }

  private pick(index: number, adding: boolean): void {
    const without = this.chosen.filter((each) => each !== index);
    if (!adding) this.chosen = [index];
    else this.chosen = without.length < this.chosen.length ? without : [...without, index];
    this.paint();
    this.onChoose(this.chosen);
  }

  private paint(): void {
    this.items.forEach((item, index) => {
      item.setAttribute("aria-selected", String(this.chosen.includes(index)));
    });
    const last = this.chosen.at(-1);
    if (last === undefined) this.list.removeAttribute("aria-activedescendant");
    else this.list.setAttribute("aria-activedescendant", `marker-${last}`);
  }

  private sieve(): void {
    const wanted = this.search.value.trim().toLowerCase();
    for (const item of this.items) {
      item.hidden = !item.dataset.name?.toLowerCase().includes(wanted);
    }
  }

  private key(event: KeyboardEvent): void {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined) return;
    const open = this.items.flatMap((item, index) => (item.hidden ? [] : [index]));
    const at = open.indexOf(this.chosen.at(-1) ?? -1);
    const next = open[Math.max(0, Math.min(open.length - 1, at + step))];
    if (next === undefined) return;
    this.pick(next, false);
    reveal(this.items[next], this.list);
    event.preventDefault();
    event.stopPropagation();
  }
}
