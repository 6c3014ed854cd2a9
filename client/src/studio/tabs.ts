// Panels of which one is seen.

import { make } from "./elements";

export class Tabs {
  readonly element = make("div", { class: "panes" });
  private readonly buttons: HTMLButtonElement[] = [];
  private readonly panels: HTMLElement[];

  constructor(label: string, content: Record<string, HTMLElement>) {
    const row = make("div", { role: "tablist", "aria-label": label });
    const names = Object.keys(content);
    this.panels = Object.values(content);
    names.forEach((name, index) => {
      const id = name.toLowerCase();
      const tab = make(
        "button",
        { type: "button", role: "tab", id: `tab-${id}`, "aria-controls": `panel-${id}` },
        name,
      );
      tab.addEventListener("click", () => this.show(index));
      tab.addEventListener("keydown", (event) => this.key(event, index));
      const panel = this.panels[index];
      panel.id = `panel-${id}`;
      panel.setAttribute("role", "tabpanel");
      panel.setAttribute("aria-labelledby", tab.id);
      this.buttons.push(tab);
    });
    row.append(...this.buttons);
    this.element.append(row, ...this.panels);
    this.show(0);
  }

  /** Calls a panel otherwise. */
  rename(index: number, name: string): void {
    this.buttons[index].textContent = name;
  }

  show(index: number): void {
    this.buttons.forEach((tab, i) => {
      tab.setAttribute("aria-selected", String(i === index));
      tab.tabIndex = i === index ? 0 : -1;
      this.panels[i].hidden = i !== index;
    });
  }

  private key(event: KeyboardEvent, index: number): void {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    const to = (index + step + this.buttons.length) % this.buttons.length;
    this.show(to);
    this.buttons[to].focus();
    event.preventDefault();
    event.stopPropagation();
  }
}
