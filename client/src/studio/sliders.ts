// Movement axes of a body as sliders; the server poses the figure while one is moved.

import { button, element } from "../dom";
import { type SliderRow } from "../messages";
import { make } from "./elements";
import { type PoseSettings } from "./pose_handles";
import { type Session } from "./session";
import { fetchArray } from "./side";

const degrees = (radians: number): string => `${Math.round((180 * radians) / Math.PI)}°`;

export interface Sliders {
  element: HTMLElement;
  /** Another frame, or another pose in it: the angles are new. */
  refresh(): void;
}

export function sliders(
  session: Session,
  body: string,
  frame: () => number,
  settings: PoseSettings,
): Sliders {
  const made = element("div", "", "sliders");
  const all = session.side?.rig?.parameters ?? [];
  const own = all.flatMap((parameter, index) =>
    parameter.name.startsWith(`${body}.`) ? [{ parameter, index }] : [],
  );
  if (own.length === 0) {
    const find = button("Find movement axes", () => session.run("axes"), "Sliders for every limb");
    made.append(all.length === 0 ? find : make("p", { class: "hint" }, "No movement axis here."));
    return { element: made, refresh: () => undefined };
  }
  const rows = own.map(({ parameter }) => slider(session, parameter, frame, settings));
  made.append(...rows.map((row) => row.field));
  let shown = -1;
  const refresh = () => {
    const [asked, before] = [frame(), shown];
    void fetchArray("parameters", { first: asked, last: asked }).then((bytes) => {
      if (asked !== frame()) return;
      shown = asked;
      const values = new Float32Array(bytes);
      own.forEach(({ index }, i) => {
        // a slider in use knows best, and is ahead of the server
        if (asked !== before || !rows[i].inUse()) rows[i].set(values[index]);
      });
    });
  };
  refresh();
  return { element: made, refresh };
}

function slider(
  session: Session,
  parameter: SliderRow,
  frame: () => number,
  settings: PoseSettings,
): { field: HTMLElement; set: (value: number) => void; inUse: () => boolean } {
  const { name, low, high } = parameter;
  const word = name.slice(name.indexOf(".") + 1);
  const said = make("output", {});
  const input = make("input", { type: "range", min: low, max: high, step: (high - low) / 500 });
  const set = (value: number) => {
    input.value = String(value);
    said.textContent = degrees(value);
  };
  input.addEventListener("input", () => {
    said.textContent = degrees(input.valueAsNumber);
    session.slide(frame(), name, input.valueAsNumber, settings.pins);
  });
  input.addEventListener("change", () => {
    const parameters = { [name]: input.valueAsNumber };
    session.edit({ edit: "pose", frame: frame(), targets: {}, parameters, found: true, ...settings });
  });
  const field = make("label", { class: "field" }, make("span", {}, word), input, said);
  return { field, set, inUse: () => document.activeElement === input };
}
