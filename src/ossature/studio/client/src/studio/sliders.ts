// Movement axes of a body as sliders; the server poses the figure while one is moved.

import { button, element } from "../dom";
import { type FigureParameter } from "../messages";
import { make } from "./elements";
import { type PoseSettings } from "./pose_handles";
import { type Session } from "./session";
import { fetchArray } from "./side";

const degrees = (radians: number): string => `${Math.round((180 * radians) / Math.PI)}°`;

export function sliders(
  session: Session,
  body: string,
  frame: () => number,
  settings: PoseSettings,
): HTMLElement {
  const made = element("div", "", "sliders");
  const all = session.side?.figure?.parameters ?? [];
  const own = all.flatMap((parameter, index) =>
    parameter.name.startsWith(`${body}.`) ? [{ parameter, index }] : [],
  );
  if (own.length === 0) {
    const find = button("Find movement axes", () => session.run("axes"), "Sliders for every limb");
    made.append(all.length === 0 ? find : make("p", { class: "hint" }, "No movement axis here."));
    return made;
  }
  const rows = own.map(({ parameter }) => slider(session, parameter, frame, settings));
  made.append(...rows.map((row) => row.field));
  void fetchArray("parameters", { first: frame(), last: frame() }).then((bytes) => {
    const values = new Float32Array(bytes);
    own.forEach(({ index }, i) => rows[i].set(values[index]));
  });
  return made;
}

function slider(
  session: Session,
  parameter: FigureParameter,
  frame: () => number,
  settings: PoseSettings,
): { field: HTMLElement; set: (value: number) => void } {
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
    session.slide(frame(), name, input.valueAsNumber);
  });
  input.addEventListener("change", () => {
    const { spread, limits } = settings;
    const parameters = { [name]: input.valueAsNumber };
    session.edit({ edit: "pose", frame: frame(), targets: {}, parameters, limits, spread });
  });
  return { field: make("label", { class: "field" }, make("span", {}, word), input, said), set };
}
