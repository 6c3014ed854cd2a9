// What happened when: one lane for each kind of event and for each foot, above it the slider.

import { button, drawn, element } from "../dom";
import type { Player } from "../player";
import type { Span } from "../report_data";

export const KINDS: Record<string, string> = {
  step: "strikes, offs",
  contact: "contacts",
  held: "held",
  improbable: "improbable",
  gap: "gaps",
  swap: "swaps",
  slip: "slips",
  attachment: "held objects",
  mark: "marks",
};
const LANE = 14;
/** Spans of a kind up to which each tells its name under the pointer. */
const NAMED = 1000;
/** Spans that are listed as buttons; the lanes show all. */
const LISTED = 200;

export interface TimelineOptions {
  /** Frames of the recording. */
  frames: number;
  /** Frames of the recording between two that the player shows. */
  stride: number;
  rate: number;
  spans: Span[];
}

/** Play button, slider, clock and lanes that follow a player. */
export function timeline(player: Player, options: TimelineOptions): HTMLElement {
  const made = element("div", "", "timeline");
  made.append(transport(player, options));
  const rows = lanesOf(options.spans);
  if (rows.length > 0) {
    made.append(lanes(player, options, rows), eventList(player, options));
  }
  return made;
}

interface Lane {
  kind: string;
  label: string;
  spans: Span[];
}

/** A lane for each kind; feet stand at the same time, so each body on the ground has its own. */
function lanesOf(spans: Span[]): Lane[] {
  return Object.entries(KINDS).flatMap(([kind, name]) => {
    const own = spans.filter((span) => span.kind === kind);
    if (own.length === 0) return [];
    if (kind !== "contact") return [{ kind, label: name, spans: own }];
    return [...new Set(own.map(({ what }) => what))].sort().map((what) => ({
      kind,
      label: what.replace(" on the ground", "").replaceAll("_", " "),
      spans: own.filter((span) => span.what === what),
    }));
  });
}

function transport(player: Player, { stride, rate }: TimelineOptions): HTMLElement {
  const bar = element("div", "", "transport");
  const play = button("Play", () => player.toggle(), "Space");
  play.className = "play";
  const slider = element("input");
  slider.type = "range";
  slider.max = String(Math.max(player.frames - 1, 0));
  slider.value = "0";
  slider.setAttribute("aria-label", "frame");
  slider.addEventListener("input", () => player.seek(Number(slider.value)));
  const clock = element("output", "", "clock");
  player.onFrame((frame) => {
    slider.value = String(frame);
    const number = frame * stride;
    slider.setAttribute("aria-valuetext", `frame ${number}`);
    clock.textContent = `frame ${number} · ${(number / rate).toFixed(2)} s`;
  });
  player.onState((playing) => {
    play.textContent = playing ? "Pause" : "Play";
  });
  bar.append(play, slider, clock, speedChoice(player));
  return bar;
}

export function speedChoice(player: Player): HTMLSelectElement {
  const made = element("select");
  made.setAttribute("aria-label", "speed");
  for (const speed of [0.1, 0.25, 0.5, 1, 2, 4]) {
    const option = element("option", `${speed}×`);
    option.value = String(speed);
    option.selected = speed === 1;
    made.append(option);
  }
  made.addEventListener("change", () => {
    player.speed = Number(made.value);
  });
  return made;
}

function lanes(player: Player, options: TimelineOptions, rows: Lane[]): HTMLElement {
  const made = element("div", "", "lanes");
  const labels = element("div", "", "lane-labels");
  const { frames, stride } = options;
  const height = rows.length * LANE;
  const chart = drawn("svg", {
    viewBox: `0 0 1000 ${height}`,
    preserveAspectRatio: "none",
    height,
    role: "img",
    "aria-label": `Events over time: ${rows.map(({ label }) => label).join(", ")}`,
  });
  rows.forEach(({ kind, label, spans: own }, lane) => {
    labels.append(element("span", `${label} ${own.length}`));
    if (own.length > NAMED) chart.append(outline(kind, own, lane, frames));
    else chart.append(...own.map((span) => mark(span, lane, frames)));
  });
  const head = drawn("line", { class: "playhead", y1: 0, y2: height });
  chart.append(head);
  player.onFrame((frame) => {
    const x = String((1000 * (frame * stride + 0.5)) / frames);
    head.setAttribute("x1", x);
    head.setAttribute("x2", x);
  });
  const seek = (event: PointerEvent) => {
    const area = chart.getBoundingClientRect();
    player.seek(((event.clientX - area.left) / area.width) * player.frames);
  };
  chart.addEventListener("pointerdown", (event) => {
    chart.setPointerCapture(event.pointerId);
    seek(event);
  });
  chart.addEventListener("pointermove", (event) => {
    if (event.buttons & 1) seek(event);
  });
  made.append(labels, chart);
  return made;
}

function mark(span: Span, lane: number, frames: number): SVGRectElement {
  const made = drawn("rect", {
    class: `mark kind-${span.kind}`,
    x: (1000 * span.first) / frames,
    y: lane * LANE + 2,
    width: Math.max(2, (1000 * (span.last - span.first + 1)) / frames),
    height: LANE - 4,
  });
  const title = drawn("title");
  title.textContent = told(span);
  made.append(title);
  return made;
}

/** So many that names would not be read: one shape for all. */
function outline(kind: string, spans: Span[], lane: number, frames: number): SVGPathElement {
  const top = lane * LANE + 2;
  const boxes = spans.map(({ first, last }) => {
    const width = Math.max(1, (1000 * (last - first + 1)) / frames);
    return `M${((1000 * first) / frames).toFixed(2)} ${top}h${width.toFixed(2)}v${LANE - 4}h${(-width).toFixed(2)}z`;
  });
  return drawn("path", { class: `mark kind-${kind}`, d: boxes.join("") });
}

const told = (span: Span): string =>
  span.first === span.last
    ? `${span.what}, frame ${span.first}`
    : `${span.what}, frames ${span.first}–${span.last}`;

/** The same events in words, each a button that goes there. */
function eventList(player: Player, { spans, stride }: TimelineOptions): HTMLElement {
  const made = element("details", "", "events");
  made.append(element("summary", `${spans.length} event${spans.length === 1 ? "" : "s"} in words`));
  made.addEventListener(
    "toggle",
    () => {
      const list = element("ul");
      for (const span of [...spans].sort((a, b) => a.first - b.first).slice(0, LISTED)) {
        const item = element("li", "", `kind-${span.kind}`);
        item.append(button(told(span), () => player.seek(span.first / stride)));
        list.append(item);
      }
      if (spans.length > LISTED) list.append(element("li", `and ${spans.length - LISTED} more`));
      made.append(list);
    },
    { once: true },
  );
  return made;
}
