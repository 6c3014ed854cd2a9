// Makers of page elements that only the studio needs: fields, and dragging.

type Attributes = Record<string, string | number | boolean | undefined>;
type Child = Node | string;

/** An element with attributes; `class` as in HTML, a false or undefined attribute is left out. */
export function make<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) {
      made.setAttribute(name, value === true ? "" : String(value));
    }
  }
  made.append(...children);
  return made;
}

/** A select with a label before it; options are values, or pairs of value and text. */
export function choice(
  label: string,
  options: readonly (string | readonly [string, string])[],
  onChange: (value: string) => void = () => undefined,
): { field: HTMLLabelElement; select: HTMLSelectElement } {
  const select = make("select");
  for (const option of options) {
    const [value, text] = typeof option === "string" ? [option, option] : option;
    select.append(make("option", { value }, text));
  }
  select.addEventListener("change", () => onChange(select.value));
  return { field: make("label", { class: "field" }, make("span", {}, label), select), select };
}

export function number(
  label: string,
  value: number,
  attributes: Attributes,
  onChange: (value: number) => void = () => undefined,
): { field: HTMLLabelElement; input: HTMLInputElement } {
  const input = make("input", { type: "number", value, ...attributes });
  input.addEventListener("change", () => {
    if (Number.isFinite(input.valueAsNumber)) onChange(input.valueAsNumber);
  });
  return { field: make("label", { class: "field" }, make("span", {}, label), input), input };
}

/** Scrolls a list, and nothing around it, until an item is in sight. */
export function reveal(item: HTMLElement | undefined, list: HTMLElement): void {
  if (item === undefined) return;
  const [inner, outer] = [item.getBoundingClientRect(), list.getBoundingClientRect()];
  if (inner.top < outer.top) list.scrollTop -= outer.top - inner.top;
  else if (inner.bottom > outer.bottom) list.scrollTop += inner.bottom - outer.bottom;
}

/** Follows a pointer from where it went down until it goes up or the key Escape is pressed. */
export function follow(
  down: PointerEvent,
  onMove: (event: PointerEvent) => void,
  onEnd: (event: PointerEvent | null) => void,
): void {
  const target = down.currentTarget as HTMLElement;
  target.setPointerCapture(down.pointerId);
  const finish = (event: PointerEvent | null) => {
    target.removeEventListener("pointermove", onMove);
    target.removeEventListener("pointerup", up);
    target.removeEventListener("pointercancel", cancel);
    document.removeEventListener("keydown", escape, true);
    onEnd(event);
  };
  const up = (event: PointerEvent) => finish(event);
  const cancel = () => finish(null);
  const escape = (event: KeyboardEvent) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    finish(null);
  };
  target.addEventListener("pointermove", onMove);
  target.addEventListener("pointerup", up);
  target.addEventListener("pointercancel", cancel);
  document.addEventListener("keydown", escape, true);
}
