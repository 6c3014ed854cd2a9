// What somebody should look at: swaps, spikes, gaps, pops, slides, each to be shown, accepted or refused.

import { button } from "../dom";
import { type Edit, type FindingRow, type FindingTable } from "../messages";
import { choice, make } from "./elements";
import { FINDINGS, sayFinding } from "./say";

export interface FindingActions {
  /** Looks for exchanged labels and spikes. */
  search(): void;
  /** Goes to a finding. */
  look(row: FindingRow): void;
  /** Mends it, or says that it is right. */
  answer(edit: Edit): void;
}

const STATES: Record<FindingRow["state"], string> = {
  open: "",
  mended: "mended by the solve",
  accepted: "accepted",
  refused: "kept as it is",
};

export class FindingList {
  readonly element = make("div", { class: "finding-list" });
  private readonly search: HTMLButtonElement;
  private readonly kind = choice("show", [["", "everything"]], () => this.draw());
  private readonly told = make("p", { class: "hint", role: "status" });
  private readonly list = make("ul", { "aria-label": "Findings" });
  private table: FindingTable = { rows: [], more: 0 };
  private shown = "";

  constructor(private readonly actions: FindingActions) {
    this.search = button(
      "Look for problems",
      () => actions.search(),
      "Exchanged labels and samples that fly off; a solve looks as well",
    );
    this.kind.select.append(
      ...Object.entries(FINDINGS).map(([kind, [, many]]) => make("option", { value: kind }, many)),
    );
    this.element.append(make("div", { class: "row" }, this.search), this.kind.field, this.told, this.list);
    this.draw();
  }

  /** Whether there are samples to look at. */
  enable(on: boolean): void {
    this.search.disabled = !on;
  }

  show(table: FindingTable): void {
    const shown = JSON.stringify(table);
    if (shown === this.shown) return;
    this.shown = shown;
    this.table = table;
    this.draw();
  }

  private draw(): void {
    const { rows, more } = this.table;
    const wanted = this.kind.select.value;
    const open = rows.filter(({ state }) => state === "open" || state === "mended").length;
    const rest = more > 0 ? ` ${more} more are not listed.` : "";
    this.told.textContent = rows.length === 0 ? "Nothing found yet." : `${open} of ${rows.length} to look at.${rest}`;
    const seen = rows.filter(({ kind }) => wanted === "" || kind === wanted);
    this.list.replaceChildren(...seen.map((row) => this.item(row)));
  }

  private item(row: FindingRow): HTMLLIElement {
    const { actions } = this;
    const frames = row.first === row.last ? `${row.first}` : `${row.first}–${row.last}`;
    const said = sayFinding(row);
    const look = button(frames, () => actions.look(row), "Look at these frames");
    look.className = "look";
    look.setAttribute("aria-label", `Look: ${said}, ${frames}`);
    const answers = make("span", { class: "answers" });
    const answer = (sign: string, edit: Edit, title: string) => {
      const made = button(sign, () => actions.answer(edit), title);
      made.setAttribute("aria-label", `${title}: ${said}, ${frames}`);
      answers.append(made);
    };
    const settled = row.state === "accepted" || row.state === "refused";
    // what is mended is an edit, which undo takes back; what was kept may still be mended
    if (row.state !== "accepted") answer("✓", row.accept, `Accept, ${REMEDIES[row.kind]}`);
    if (!settled) answer("✕", row.refuse, "Refuse, it is right as it is");
    return make(
      "li",
      { "data-kind": row.kind, "data-state": row.state, class: settled ? "settled" : "" },
      look,
      make("span", { class: "name" }, said, make("span", { class: "state" }, STATES[row.state])),
      answers,
    );
  }
}

const REMEDIES: Record<FindingRow["kind"], string> = {
  swap: "exchange the labels",
  spike: "cut the samples",
  gap: "fill it",
  pop: "turn evenly",
  slide: "plant the foot",
};
