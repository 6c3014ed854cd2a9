// The bar at the top: open, solve with its progress, undo, compare, export; and how the server is.

import { button } from "../dom";
import { type Progress } from "../messages";
import { themeButton } from "../theme";
import { choice, make } from "./elements";
import { type LinkState } from "./link";
import { type Session } from "./session";

export interface BarActions {
  open(): void;
  settings(): void;
  compare(): void;
  character(): void;
  export(): void;
  keys(): void;
}

export class TopBar {
  readonly element = make("header", { class: "top-bar" });
  private readonly title = make("h1", {}, "Osteon studio");
  private readonly subject = choice("", [], (subject) => {
    const path = this.session.take?.path ?? "";
    this.session.send({ type: "open", path, subject });
  });
  private readonly solve: HTMLButtonElement;
  private readonly cancel: HTMLButtonElement;
  private readonly undo: HTMLButtonElement;
  private readonly redo: HTMLButtonElement;
  private readonly compare: HTMLButtonElement;
  private readonly character: HTMLButtonElement;
  private readonly buttons: Record<"open" | "export", HTMLButtonElement>;
  private readonly saying = make("span", { class: "saying", role: "status" });
  private readonly meter = make("progress", { "aria-label": "Progress", max: 1 });
  private readonly work = make("span", { class: "work", hidden: true });
  private readonly link = make("span", { class: "link", role: "status" });

  constructor(
    private readonly session: Session,
    actions: BarActions,
  ) {
    const open = button("Open", actions.open, "Open a take (Ctrl O); or drop a file on the page");
    const out = button("Export", actions.export, "Write skeleton, motion and report (Ctrl E)");
    this.buttons = { open, export: out };
    this.solve = button("Solve", () => session.run("solve"), "Recording to rig");
    const settings = button("…", actions.settings, "Solve with other settings");
    settings.setAttribute("aria-label", "Solve settings");
    this.cancel = button("Cancel", () => session.send({ type: "cancel" }), "Stop the work");
    this.undo = button("Undo", () => session.undo(), "Take back the last edit (Ctrl Z)");
    this.redo = button("Redo", () => session.redo(), "Make it again (Ctrl Shift Z)");
    this.compare = button(
      "Compare",
      actions.compare,
      "Another take, or other settings, beside this one",
    );
    this.character = button(
      "Character",
      actions.character,
      "Glue the markers onto another character",
    );
    const keys = button("?", actions.keys, "Keys (?)");
    keys.setAttribute("aria-label", "Keys");
    this.work.append(this.meter, this.saying, this.cancel);
    const group = (...parts: Node[]) => make("span", { class: "group" }, ...parts);
    this.element.append(
      this.title,
      this.subject.select,
      open,
      group(this.solve, settings),
      this.work,
      group(this.undo, this.redo),
      make("span", { class: "spring" }),
      this.link,
      this.character,
      this.compare,
      out,
      themeButton(),
      keys,
    );
    this.subject.select.setAttribute("aria-label", "Subject");
    this.listen();
    this.refresh();
  }

  press(which: "open" | "export"): void {
    if (!this.buttons[which].disabled) this.buttons[which].click();
  }

  /** Nothing is open yet: the eye should find the button. */
  invite(): void {
    this.buttons.open.classList.add("primary");
  }

  private listen(): void {
    const { session } = this;
    for (const what of ["opened", "changed", "solved", "compared"] as const) {
      session.on(what, () => this.refresh());
    }
    session.on("progress", (progress) => this.showProgress(progress));
    session.on("link", ({ state, unsaved }) => this.showLink(state, unsaved));
  }

  private refresh(): void {
    const { session } = this;
    const open = session.take !== null;
    this.title.textContent = session.take?.path ?? "Osteon studio";
    this.title.title = session.take?.path ?? "";
    this.showSubjects(session.take?.subjects ?? [], session.take?.subject ?? "");
    this.buttons.open.classList.toggle("primary", !open);
    this.solve.disabled = !open || (session.side?.markers.length ?? 0) === 0;
    this.solve.classList.toggle("primary", open && (!session.state.solved || session.state.stale));
    this.solve.textContent = session.state.solved ? "Solve again" : "Solve";
    this.undo.disabled = session.state.edits.length === 0;
    this.redo.disabled = session.state.undone === 0;
    this.buttons.export.disabled = !open;
    this.compare.disabled = this.character.disabled = !open;
    this.compare.textContent = session.compared ? "Stop comparing" : "Compare";
  }

  /** Whose markers are shown, where a file holds several people's. */
  private showSubjects(subjects: string[], subject: string): void {
    const { select } = this.subject;
    select.hidden = subjects.length < 2;
    select.replaceChildren(...subjects.map((name) => make("option", { value: name }, name)));
    select.value = subject;
  }

  private showProgress(progress: Progress | null): void {
    this.work.hidden = progress === null;
    if (progress === null) return;
    this.saying.textContent = this.saying.title = progress.saying;
    if (progress.fraction === null) this.meter.removeAttribute("value");
    else this.meter.value = progress.fraction;
  }

  private showLink(state: LinkState, unsaved: number): void {
    const words = {
      open: unsaved > 0 ? "saving …" : "saved",
      waiting: unsaved > 0 ? `no connection; ${unsaved} edits wait` : "no connection",
      refused: "The studio has stopped. Start it again; edits are kept.",
    };
    this.link.className = `link ${state}`;
    this.link.textContent = words[state];
  }
}
