// What is chosen and what can be done with it: marker, body, pose; and what was done so far.

import { button, element, facts, listing, section } from "../dom";
import { type BodyRow } from "../report_data";
import { choice, make, number } from "./elements";
import { type Range, rangeOf, sendRange } from "./limit_handles";
import { type PoseSettings } from "./pose_handles";
import { sayEdit } from "./say";
import { type Session } from "./session";
import { type Sliders, sliders } from "./sliders";

const KINDS = ["fixed", "hinge", "universal", "ball"] as const;
const WHAT_TURNS = [
  ["limb", "this limb"],
  ["body", "the whole body"],
] as const;
const RECENT = 200;
/** Milliseconds that a frame is looked at before its angles are asked for. */
const PAUSE = 100;
const plain = (name: string): string => name.replaceAll("_", " ");
const degrees = (radians: number): number => Math.round((1800 * radians) / Math.PI) / 10;

export interface Chosen {
  markers: number[];
  body: number;
}

export class Inspector {
  readonly element = make("div", { class: "inspector" });
  readonly pose: PoseSettings = { spread: 0.25, limits: true, limb: true, pins: [] };
  private readonly about = element("div");
  private readonly history = section("History", "history");
  private readonly notes = element("div");
  private sliders: Sliders | null = null;
  /** What the parts about the chosen things were made from. */
  private shown = "";
  private pausing = 0;

  constructor(
    private readonly session: Session,
    private readonly frame: () => number,
    private readonly onAssignByClick: () => void,
    private readonly onPins: () => void,
  ) {
    this.element.append(this.about, this.history, this.notes);
    for (const what of ["opened", "changed", "solved"] as const) {
      session.on(what, () => {
        this.showHistory();
        this.showNotes();
      });
    }
    this.showHistory();
  }

  /** Another frame is looked at. */
  follow(): void {
    clearTimeout(this.pausing);
    this.pausing = window.setTimeout(() => this.sliders?.refresh(), PAUSE);
  }

  show(chosen: Chosen): void {
    const side = this.session.side;
    const body = side?.rig?.bodies[chosen.body];
    const markers = chosen.markers.map((index) => side?.markers[index]);
    const shown = JSON.stringify([chosen, markers, side?.rig ?? null]);
    if (shown === this.shown) {
      this.sliders?.refresh(); // nothing is taken from under the fingers of who works here
      return;
    }
    this.shown = shown;
    this.sliders = null;
    const parts: Node[] = [];
    if (chosen.markers.length > 0) parts.push(this.markerPart(chosen.markers));
    if (body) parts.push(this.jointPart(body), this.posePart(body));
    if (parts.length === 0) {
      parts.push(
        make(
          "p",
          { class: "hint" },
          "Click a marker or a bone in the view, or choose one on the left.",
        ),
      );
    }
    this.about.replaceChildren(...parts);
  }

  private markerPart(markers: number[]): HTMLElement {
    const side = this.session.side;
    const names = markers.map((index) => side?.markers[index]?.name ?? "");
    const made = section(names.length === 1 ? names[0] : `${names.length} markers`);
    const bodies = side?.rig?.bodies ?? [];
    if (bodies.length > 0) {
      const options: [string, string][] = [
        ["", "no body"],
        ...bodies.map((body): [string, string] => [body.name, plain(body.name)]),
      ];
      const carrier = choice("belongs to", options, (body) => {
        for (const marker of names) this.session.edit({ edit: "assign", marker, body });
      });
      carrier.select.value = bodies[side?.markers[markers.at(-1) ?? -1]?.body ?? -1]?.name ?? "";
      const byClick = button(
        "Assign by clicking",
        this.onAssignByClick,
        "Click a marker, then a body (a)",
      );
      made.append(carrier.field, byClick);
    }
    const last = side?.markers[markers.at(-1) ?? -1];
    if (last) {
      const rms = last.rms_mm === null ? "–" : `${last.rms_mm.toFixed(1)} mm`;
      made.append(
        facts([
          ["missing", `${(100 * last.missing).toFixed(1)} %`],
          ["filled in", `${(100 * last.filled).toFixed(1)} %`],
          ["from the model", rms],
        ]),
      );
    }
    return made;
  }

  private jointPart(body: BodyRow): HTMLElement {
    const made = section(plain(body.name));
    const bodies = this.session.side?.rig?.bodies ?? [];
    const isRoot = body.parent < 0;
    const others = bodies.filter((each) => each.name !== body.name).map((each) => each.name);
    const parent = choice(
      "hangs on",
      others.map((name): [string, string] => [name, plain(name)]),
      (name) => this.session.edit({ edit: "parent", body: body.name, parent: name }),
    );
    if (isRoot) made.append(make("p", { class: "hint" }, "This is the root."));
    else {
      parent.select.value = bodies[body.parent]?.name ?? "";
      const root = button("Make root", () => this.session.edit({ edit: "root", body: body.name }));
      const kind = choice("joint", KINDS, (value) =>
        this.session.edit({
          edit: "kind",
          body: body.name,
          kind: value as (typeof KINDS)[number],
          axes: [],
        }),
      );
      kind.select.value = body.kind;
      made.append(parent.field, root, kind.field, ...this.rangeFields(body));
    }
    if (body.length_mm !== null) {
      made.append(facts([["length", `${body.length_mm.toFixed(1)} mm`]]));
    }
    return made;
  }

  /** The same limits that the handles in the view change, as numbers. */
  private rangeFields(body: BodyRow): Node[] {
    const range = rangeOf(body);
    const pair = (label: string, key: keyof Range): Node[] => {
      const ends = range[key];
      if (ends === null || !ends.every(Number.isFinite)) return [];
      const words = key === "swing" ? ["first", "second"] : ["least", "largest"];
      const inputs = ends.map((end, i) =>
        make("input", {
          type: "number",
          step: 1,
          class: "short",
          value: degrees(end),
          "aria-label": `${label}, ${words[i]}, degrees`,
        }),
      );
      const send = () => {
        if (!inputs.every((input) => Number.isFinite(input.valueAsNumber))) return;
        inputs.forEach((input, i) => (ends[i] = (input.valueAsNumber * Math.PI) / 180));
        sendRange(this.session, body, { hinge: null, swing: null, twist: null, [key]: ends });
      };
      inputs.forEach((input) => input.addEventListener("change", send));
      return [make("div", { class: "field" }, make("span", {}, `${label} °`), ...inputs)];
    };
    const fields =
      body.kind === "hinge"
        ? pair("angle", "hinge")
        : [...pair("swing", "swing"), ...pair("twist", "twist")];
    if (fields.length > 0 || body.kind === "fixed") return fields;
    return [
      button(
        "Find limits",
        () => this.session.run("limits"),
        "From how far the joints go in this take",
      ),
    ];
  }

  private posePart(body: BodyRow): HTMLElement {
    const made = section("Pose");
    this.sliders = sliders(this.session, body.name, this.frame, this.pose);
    const turns = choice("turns", WHAT_TURNS, (value) => (this.pose.limb = value === "limb"));
    turns.select.value = this.pose.limb ? "limb" : "body";
    made.append(
      make("p", { class: "hint" }, "Drag the round handle in the view; the change fades away over"),
      number("seconds", this.pose.spread, { min: 0, step: 0.05, class: "short" }, (value) => {
        this.pose.spread = value;
      }).field,
      turns.field,
      this.pinPart(body.name),
      this.sliders.element,
    );
    return made;
  }

  /** Pins the body, or lets it go; says which are pinned. */
  private pinPart(body: string): HTMLElement {
    const { pins } = this.pose;
    const pinned = pins.includes(body);
    const pin = button(
      pinned ? "Unpin" : "Pin",
      () => this.togglePin(body),
      "A pinned body stays where it is while others are pulled (p)",
    );
    pin.setAttribute("aria-pressed", String(pinned));
    const said = pins.length > 0 ? `pinned: ${pins.map(plain).join(", ")}` : "nothing is pinned";
    return make("div", { class: "field pins" }, pin, make("span", {}, said));
  }

  /** Pins a body where it is, or lets it go. */
  togglePin(body: string): void {
    const { pins } = this.pose;
    this.pose.pins = pins.includes(body) ? pins.filter((name) => name !== body) : [...pins, body];
    this.element.querySelector(".pins")?.replaceWith(this.pinPart(body));
    this.onPins();
  }

  private showHistory(): void {
    const { edits, undone } = this.session.state;
    const list = element("ol", "", "edits");
    edits.slice(-RECENT).forEach((edit) => list.append(element("li", sayEdit(edit))));
    const title = element("h2", edits.length === 0 ? "No edits yet" : `Edits (${edits.length})`);
    this.history.replaceChildren(title, list);
    if (undone > 0)
      this.history.append(
        make("p", { class: "hint" }, `${undone} taken back; redo brings them again`),
      );
    list.scrollTop = list.scrollHeight;
  }

  private showNotes(): void {
    const { summary, take, warnings } = this.session;
    const known = (key: string): [string, string][] => {
      const value = summary?.[key];
      return typeof value === "number"
        ? [[key.replaceAll("_", " "), String(Math.round(10 * value) / 10)]]
        : [];
    };
    const judged = summary !== null && (this.session.side?.markers.length ?? 0) > 0;
    const result = judged ? [section("Result")] : [];
    result[0]?.append(
      facts([...known("marker_rms_mm"), ...known("marker_max_mm"), ...known("missing")]),
    );
    const file = section("Recording");
    file.append(facts(take?.facts ?? []));
    this.notes.replaceChildren(...result, ...listing("Take note", warnings), file);
  }
}
