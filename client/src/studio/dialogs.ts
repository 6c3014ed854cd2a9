// Dialogs: open a file, settings of the solve, compare, export, keys.

import { button, element, table } from "../dom";
import { type Export, type Exported, type Run, type Settings, type Welcome } from "../messages";
import { choice, make } from "./elements";
import { address } from "./link";

const MOST_FILES = 400;

/** A dialog with a heading and a button that closes it; Escape does as well. */
export function dialog(title: string, ...content: Node[]): HTMLDialogElement {
  const heading = make("h2", { id: `dialog-${title.toLowerCase().replaceAll(" ", "-")}` }, title);
  const made = make("dialog", { "aria-labelledby": heading.id });
  const close = button("×", () => made.close(), "Close (Escape)");
  close.className = "close";
  close.setAttribute("aria-label", "Close");
  made.append(make("header", {}, heading, close), ...content);
  made.addEventListener("close", () => made.remove());
  made.addEventListener("click", (event) => event.target === made && made.close());
  document.body.append(made);
  made.showModal();
  return made;
}

/** A list of files to choose from, with a field to find one. */
function fileList(files: string[], choose: (path: string) => void): HTMLElement[] {
  const list = make("ul", { class: "files" });
  const search = make("input", {
    type: "search",
    placeholder: "Find a file",
    "aria-label": "Find a file",
    autofocus: true,
  });
  const show = () => {
    const wanted = search.value.toLowerCase();
    const shown = files.filter((path) => path.toLowerCase().includes(wanted));
    list.replaceChildren(
      ...shown.slice(0, MOST_FILES).map((path) =>
        make(
          "li",
          {},
          button(path, () => choose(path)),
        ),
      ),
    );
    if (shown.length === 0) list.append(make("li", { class: "hint" }, "no such file here"));
  };
  search.addEventListener("input", show);
  show();
  return [search, list];
}

export function openDialog(
  welcome: Welcome,
  open: (path: string) => void,
  upload: (file: File) => void,
): void {
  const picker = make("input", {
    type: "file",
    class: "hidden",
    tabindex: -1,
    "aria-hidden": true,
  });
  picker.addEventListener("change", () => {
    if (picker.files?.[0]) upload(picker.files[0]);
    made.close();
  });
  const hint = `In the folder ${welcome.folder}. Files can also be dropped anywhere on the page.`;
  const made = dialog(
    "Open a take",
    make("p", { class: "hint" }, hint),
    ...fileList(welcome.files, (path) => {
      open(path);
      made.close();
    }),
    make(
      "footer",
      {},
      button("From another place …", () => picker.click()),
      picker,
    ),
  );
}

export function characterDialog(welcome: Welcome, open: (path: string) => void): void {
  const hint = "A skeleton to be moved by this take. Markers are then put onto it by hand.";
  const made = dialog(
    "Choose a character",
    make("p", { class: "hint" }, hint),
    ...fileList(welcome.characters, (path) => {
      open(path);
      made.close();
    }),
  );
}

/** Fields for the settings of a solve, and what they say when asked. */
export function settingsForm(
  welcome: Welcome,
  now: Settings,
): { form: HTMLElement; read: () => Settings } {
  const sets: [string, string][] = [
    ["auto", "recognise by labels"],
    ["none", "by motion alone"],
    ...welcome.marker_sets.map((name): [string, string] => [name, name]),
  ];
  const template = choice("marker set", sets);
  template.select.value = now.template;
  const hips = choice("hip centres", ["harrington", "davis", "seidel"]);
  hips.select.value = now.hips;
  const box = (label: string, on: boolean) => {
    const input = make("input", { type: "checkbox" });
    input.checked = on;
    return { field: make("label", { class: "toggle" }, input, label), input };
  };
  const label = box("label all tracks anew, whatever they are called", now.label);
  const clean = box("repair swapped labels and spikes first", now.clean);
  const smooth = box("use time: one smooth fit over the whole take", now.smooth);
  const limits = box("find joint types and limits", now.limits);
  const axes = box("find movement axes (sliders)", now.axes);
  const form = make(
    "div",
    { class: "form" },
    ...[template, hips, label, clean, smooth, limits, axes].map((each) => each.field),
  );
  const read = (): Settings => ({
    template: template.select.value,
    hips: hips.select.value as Settings["hips"],
    clean: clean.input.checked,
    smooth: smooth.input.checked,
    limits: limits.input.checked,
    axes: axes.input.checked,
    label: label.input.checked,
  });
  return { form, read };
}

/** Stages beside the solve itself, and what they are called. */
const STAGES: [Run["stage"], string][] = [
  ["swaps", "Look for swapped labels"],
  ["limits", "Find joint limits"],
  ["axes", "Find movement axes"],
];

export function solveDialog(
  welcome: Welcome,
  now: Settings,
  run: (stage: Run["stage"], settings: Settings) => void,
): void {
  const { form, read } = settingsForm(welcome, now);
  const start = (stage: Run["stage"], label: string) =>
    button(label, () => {
      run(stage, read());
      made.close();
    });
  const solve = start("solve", "Solve");
  solve.className = "primary";
  const single = make(
    "details",
    { class: "stages" },
    make("summary", {}, "One stage alone"),
    ...STAGES.map(([stage, label]) => start(stage, label)),
  );
  const made = dialog("Solve settings", form, single, make("footer", {}, solve));
}

export function compareDialog(
  welcome: Welcome,
  now: Settings,
  compare: (path: string, settings: Settings, edits: boolean) => void,
): void {
  const take = choice("with", [
    ["", "this take, other settings"],
    ...welcome.files.map((path): [string, string] => [path, path]),
  ]);
  const { form, read } = settingsForm(welcome, now);
  const edits = make("input", { type: "checkbox" });
  edits.checked = true;
  const start = button("Compare", () => {
    compare(take.select.value, read(), edits.checked);
    made.close();
  });
  start.className = "primary";
  form.prepend(take.field);
  form.append(make("label", { class: "toggle" }, edits, "with the edits made here"));
  const made = dialog("Compare side by side", form, make("footer", {}, start));
}

/** Bone names in motion files; ours are as good as none. */
const OWN_NAMES = "osteon";
const UNITS = [["", "centimetres"], ["m", "metres"], ["mm", "millimetres"], ["in", "inches"]] as const;
const UPS = [["", "y up"], ["z", "z up"]] as const;
const ANGLES = [["", "none"], ["isb", "ISB"], ["pig", "Plug-in Gait"], ["opensim", "OpenSim"]] as const;

/** Writes all that `osteon solve` can, and cleaned markers and joint angles as their verbs do. */
export function exportDialog(
  welcome: Welcome,
  ofMarkers: boolean,
  write: (asked: Omit<Export, "type" | "labels">) => void,
): void {
  const boxes = welcome.formats.map((name) => {
    const input = make("input", { type: "checkbox", value: name });
    input.checked = name === "bvh" || name === "glb";
    input.disabled = input.checked;
    return { field: make("label", { class: "toggle" }, input, `.${name}`), input };
  });
  const names = choice("bone names", [
    ["", "as in the skeleton"],
    ...welcome.names.filter((name) => name !== OWN_NAMES).map((name): [string, string] => [name, name]),
  ]);
  const unit = choice("BVH in", UNITS);
  const up = choice("BVH with", UPS);
  const angles = choice("joint angles", ANGLES);
  const markers = make("input", { type: "checkbox" });
  const more = ofMarkers
    ? [angles.field, make("label", { class: "toggle" }, markers, "cleaned markers, joint centres beside them (markers.c3d)")]
    : [];
  const start = button("Write files", () => {
    const chosen = boxes.filter(({ input }) => input.checked && !input.disabled);
    write({
      formats: chosen.map(({ input }) => input.value),
      names: names.select.value,
      unit: unit.select.value as Export["unit"],
      up: up.select.value as Export["up"],
      angles: angles.select.value as Export["angles"],
      markers: markers.checked,
    });
    made.close();
  });
  start.className = "primary";
  const place = welcome.output || "the output folder";
  const made = dialog(
    "Export",
    make(
      "p",
      { class: "hint" },
      `Skeleton, motion, report and summary go to ${place}. Further formats:`,
    ),
    make(
      "div",
      { class: "formats", role: "group", "aria-label": "Formats" },
      ...boxes.map(({ field }) => field),
    ),
    make("div", { class: "form" }, names.field, unit.field, up.field, ...more),
    make("footer", {}, start),
  );
  start.focus();
}

export function exportedDialog(exported: Exported): void {
  const rows = exported.files.map((file) => {
    const link = () => make("a", { href: address(file.url), download: file.name }, file.name);
    return [file.url ? link() : file.name, size(file.size)];
  });
  dialog(
    "Exported",
    make("p", { class: "hint" }, `Written to ${exported.folder}. Click to download one.`),
    table(["file", "size"], rows),
  );
}

function size(bytes: number): string {
  return bytes < 1e6
    ? `${Math.max(1, Math.round(bytes / 1e3))} kB`
    : `${(bytes / 1e6).toFixed(1)} MB`;
}

const KEYS: [string, string][] = [
  ["Space", "play, pause"],
  ["← →", "one frame; with Shift ten, in the curves: select"],
  ["Home End", "first, last frame"],
  [", .", "to the event before, after"],
  ["f", "frame the figure in the 3D view"],
  ["a", "assign: click a marker, then a body"],
  ["p", "pin the chosen body where it is, or let it go"],
  ["Delete", "cut the selected samples"],
  ["Ctrl Z", "undo"],
  ["Ctrl Shift Z", "redo"],
  ["[ ]", "on a foot plant: its end to the current frame"],
  ["+ −", "in the curves: closer, further; the wheel does it too"],
  ["Ctrl O, Ctrl E", "open, export"],
  ["Escape", "let go of what is being dragged; clear the choice"],
  ["?", "this list"],
];

export function keysDialog(): void {
  const list = element("dl", "", "keys");
  for (const [key, does] of KEYS) {
    const pair = element("div");
    pair.append(element("dt", key), element("dd", does));
    list.append(pair);
  }
  dialog("Keys", list);
}
