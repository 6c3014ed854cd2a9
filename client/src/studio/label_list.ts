// Labels of the tracks: found by the server, the doubtful ones in order of time, to accept or refuse.

import { button } from "../dom";
import { type LabelRow, type LabelTable, type Welcome } from "../messages";
import { choice, make } from "./elements";

export interface LabelActions {
  /** Finds labels by a marker set, `auto` or `none`. */
  label(set: string): void;
  /** Writes the markers with their labels. */
  write(): void;
  /** Goes to a stretch of a track. */
  look(row: LabelRow): void;
  /** Says whose a stretch of a track is; empty: nobody's. */
  say(row: LabelRow, label: string): void;
}

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;

export class LabelList {
  readonly element = make("div", { class: "label-list" });
  private readonly worn = choice("worn", [["auto", "what the names say"]]);
  private readonly start: HTMLButtonElement;
  private readonly write: HTMLButtonElement;
  private readonly told = make("p", { class: "hint" });
  private names: string[] = [];
  private readonly list = make("ul", { "aria-label": "Labels to look at" });

  constructor(private readonly actions: LabelActions) {
    this.start = button(
      "Label tracks",
      () => actions.label(this.worn.select.value),
      "Find whose marker each track is, also where tracks break or are exchanged",
    );
    this.start.disabled = true;
    this.write = button(
      "Write labels",
      () => actions.write(),
      "Write the markers with their labels, as C3D and in the file's own format",
    );
    this.element.append(
      this.worn.field,
      make("div", { class: "row" }, this.start, this.write),
      this.told,
      this.list,
    );
    this.show(null);
  }

  /** Offers the marker sets that there are. */
  offer(welcome: Welcome, chosen: string): void {
    const sets = welcome.marker_sets.map((name) => [name, name]);
    const all = [["auto", "what the names say"], ["none", "unknown: by motion alone"], ...sets];
    this.worn.select.replaceChildren(
      ...all.map(([value, text]) => make("option", { value }, text)),
    );
    this.worn.select.value = chosen;
  }

  /** Whether there are tracks to label. */
  enable(on: boolean): void {
    this.start.disabled = !on;
  }

  show(table: LabelTable | null): void {
    this.names = table?.names ?? [];
    this.write.hidden = table === null;
    this.told.textContent = table === null ? "" : this.sum(table);
    this.list.replaceChildren(...(table?.rows ?? []).map((row) => this.item(row)));
  }

  private sum(table: LabelTable): string {
    const by = table.by === "motion" ? "motion alone" : table.by;
    const open = table.rows.filter((row) => !row.label && !row.by_hand).length;
    const parts = [
      `${percent(table.labelled)} of the samples have a label by ${by}, ` +
        `${percent(table.doubtful)} are doubtful; ${open} pieces are open.`,
      table.more > 0 ? `${table.more} more are not shown.` : "",
      ...table.warnings,
    ];
    return parts.filter(Boolean).join(" ");
  }

  /** All labels to choose from; filled when somebody wants to. */
  private others(row: LabelRow, frames: string): HTMLSelectElement {
    const select = make("select", { "aria-label": `Another label: ${row.track} ${frames}` });
    select.append(make("option", { value: "" }, "…"));
    select.addEventListener(
      "focus",
      () => select.append(...this.names.map((name) => make("option", { value: name }, name))),
      { once: true },
    );
    select.addEventListener("change", () => select.value && this.actions.say(row, select.value));
    return select;
  }

  private item(row: LabelRow): HTMLLIElement {
    const { actions } = this;
    const frames = row.first === row.last ? `${row.first}` : `${row.first}–${row.last}`;
    const name = row.label || (row.by_hand ? "none" : "open");
    const look = button(frames, () => actions.look(row), `Look at ${row.track} in these frames`);
    look.className = "look";
    const sure = row.by_hand ? "by hand" : row.label ? `${Math.round(100 * row.confidence)} %` : "";
    const answers = make("span", { class: "answers" });
    const answer = (sign: string, label: string, title: string) => {
      const made = button(sign, () => actions.say(row, label), title);
      made.setAttribute("aria-label", `${title}: ${row.track} ${frames}`);
      answers.append(made);
    };
    if (row.label && !row.by_hand) answer("✓", row.label, `Accept ${row.label}`);
    if (row.rival) answer(row.rival, row.rival, `It is ${row.rival}`);
    if (row.label) answer("✕", "", `It is not ${row.label}`);
    answers.append(this.others(row, frames));
    return make(
      "li",
      { "data-track": row.track, class: row.by_hand ? "settled" : "" },
      look,
      make("span", { class: "name", title: `track ${row.track}` }, name),
      make("span", { class: "share" }, sure),
      answers,
    );
  }
}
