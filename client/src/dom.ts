// Small makers of page elements.

export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  text = "",
  className = "",
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  if (text) made.textContent = text;
  if (className) made.className = className;
  return made;
}

/** An element of a drawing. */
export function drawn<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Record<string, string | number> = {},
): SVGElementTagNameMap[K] {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
  return made;
}

export function button(label: string, onClick: () => void, title = ""): HTMLButtonElement {
  const made = element("button", label);
  made.type = "button";
  if (title) made.title = title;
  made.addEventListener("click", onClick);
  return made;
}

/** A panel with a heading. */
export function section(title: string, className = ""): HTMLElement {
  const made = element("section", "", className);
  made.append(element("h2", title));
  return made;
}

/** A wide table scrolls inside this; it can be reached by keyboard. */
export function scroller(content: HTMLElement, label: string): HTMLElement {
  const made = element("div", "", "scroller");
  made.tabIndex = 0;
  made.setAttribute("role", "region");
  made.setAttribute("aria-label", label);
  made.append(content);
  return made;
}

/** A check box in its label; stands on unless told. */
export function toggle(label: string, onChange: (on: boolean) => void, on = true): HTMLLabelElement {
  const made = element("label", "", "toggle");
  const box = element("input");
  box.type = "checkbox";
  box.checked = on;
  box.addEventListener("change", () => onChange(box.checked));
  made.append(box, document.createTextNode(label));
  return made;
}

export type Cell = string | number | Node;

/** A table; cells after the first are numbers unless they are nodes. */
export function table(head: string[], rows: Cell[][]): HTMLTableElement {
  const made = element("table");
  const top = made.createTHead().insertRow();
  head.forEach((word, i) => {
    const cell = element("th", word, i > 0 ? "number" : "");
    cell.scope = "col";
    top.append(cell);
  });
  const body = made.createTBody();
  for (const row of rows) {
    const line = body.insertRow();
    row.forEach((value, i) => {
      const cell = line.insertCell();
      cell.append(value instanceof Node ? value : String(value));
      if (i > 0) cell.className = "number";
    });
  }
  return made;
}

/** Pairs of a word and what it stands for. */
export function facts(pairs: [string, string][]): HTMLElement {
  const made = element("dl", "", "facts");
  for (const [word, value] of pairs) {
    const pair = element("div");
    pair.append(element("dt", word), element("dd", value));
    made.append(pair);
  }
  return made;
}

/** Nothing where there are no lines; those beyond the first `most` are folded away. */
export function listing(title: string, lines: string[], className = "", most = 5): HTMLElement[] {
  if (lines.length === 0) return [];
  const made = section(title, className);
  made.append(bullets(lines.slice(0, most)));
  if (lines.length > most) {
    const more = element("details");
    more.append(element("summary", `${lines.length - most} more`), bullets(lines.slice(most)));
    made.append(more);
  }
  return [made];
}

function bullets(lines: string[]): HTMLUListElement {
  const made = element("ul");
  made.append(...lines.map((line) => element("li", line)));
  return made;
}

export const mm = (value: number | null | undefined, digits = 1): string =>
  value === null || value === undefined || !Number.isFinite(value) ? "–" : value.toFixed(digits);
