// Light and dark: as the machine prefers, until the button says otherwise.

import { button } from "./dom";

export type Theme = "light" | "dark";

const listeners: (() => void)[] = [];
const prefersDark = matchMedia("(prefers-color-scheme: dark)");

export function theme(): Theme {
  const chosen = document.documentElement.dataset.theme;
  if (chosen === "light" || chosen === "dark") return chosen;
  return prefersDark.matches ? "dark" : "light";
}

export function setTheme(to: Theme): void {
  document.documentElement.dataset.theme = to;
  for (const listener of listeners) listener();
}

/** Calls now and whenever the colours change. */
export function onTheme(listener: () => void): void {
  listeners.push(listener);
  listener();
}

prefersDark.addEventListener("change", () => {
  for (const listener of listeners) listener();
});

const probe = document.createElement("span");
probe.hidden = true;

/** A colour of the style sheet by its name without dashes, such as `ink`, as it is now. */
export function colour(name: string): string {
  // the sheet gives each colour for light and dark; only an element's own colour tells which holds
  if (!probe.isConnected) document.body.append(probe);
  probe.style.color = `var(--${name})`;
  return getComputedStyle(probe).color;
}

export function themeButton(): HTMLButtonElement {
  const made = button("", () => setTheme(theme() === "dark" ? "light" : "dark"));
  made.className = "quiet";
  onTheme(() => {
    made.textContent = theme() === "dark" ? "Light" : "Dark";
    made.title = `Switch to ${theme() === "dark" ? "light" : "dark"} colours`;
  });
  return made;
}
