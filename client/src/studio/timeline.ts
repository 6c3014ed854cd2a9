// The time line: what happened, and when feet stand on the ground; plants are drawn by mouse.

import { type Span } from "../report_data";
import { colour, onTheme } from "../theme";
import { follow, make } from "./elements";
import { type FrameWindow } from "./frame_window";
import { sayEvent, sayEvents } from "./say";

const EDGE = 6;
/** Events in sight up to which each has a name of its own; of more, the pointer tells. */
const NAMED = 1000;
/** Events that are named where several lie on top of each other. */
const TOLD = 6;
/** Kinds of events that have a colour of their own. */
const TINTED = new Set(["gap", "swap", "spike", "pop", "slide", "slip", "held", "improbable", "attachment"]);

export interface PlantActions {
  seek(frame: number): void;
  /** A foot stands from first to last, or does not. */
  plant(body: string, first: number, last: number, on: boolean): void;
}

interface Plant {
  body: string;
  first: number;
  last: number;
}

export class Timeline {
  readonly element = make("section", { class: "timeline", "aria-label": "Time line" });
  private readonly events = make("canvas", { class: "event-strip", role: "img" });
  private readonly names = make("div", { class: "event-names" });
  private readonly rows = make("div", { class: "plant-rows" });
  private readonly now = make("div", { class: "now" });
  private spans: Span[] = [];
  private bodies: string[] = [];
  private feet: string[] = [];
  private frame = 0;

  constructor(
    private readonly frames: FrameWindow,
    private readonly actions: PlantActions,
  ) {
    const labelled = make("div", { class: "track" }, make("span", { class: "label" }, "events"));
    const lane = make("div", { class: "lane" }, this.events, this.names);
    labelled.append(lane);
    this.element.append(labelled, this.rows, make("div", { class: "now-lane" }, this.now));
    lane.addEventListener("pointerdown", (event) => this.scrub(event));
    lane.addEventListener("pointermove", (event) => this.tellEvents(event));
    this.element.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    frames.onChange(() => this.draw());
    onTheme(() => this.drawEvents());
    new ResizeObserver(() => this.draw()).observe(this.events);
  }

  setSpans(spans: Span[], bodies: string[]): void {
    const before = JSON.stringify([this.bodies, this.plants()]);
    this.spans = spans;
    this.bodies = bodies;
    const planted = new Set(this.plants().map((plant) => plant.body));
    const feet = bodies.filter((name) => planted.has(name) || /foot|paw|hoof/i.test(name));
    this.feet = feet.slice(0, 4);
    if (before === JSON.stringify([this.bodies, this.plants()])) this.drawEvents();
    else this.draw();
  }

  setFrame(frame: number): void {
    this.frame = frame;
    const share = this.frames.share(frame);
    this.now.hidden = share < 0 || share > 1;
    this.now.style.transform = `translateX(${share * this.events.clientWidth}px)`;
  }

  /** The nearest frame before or after this one at which something begins. */
  nextEvent(step: 1 | -1): number | null {
    const starts = this.happened()
      .map((span) => span.first)
      .filter((first) => step * (first - this.frame) > 0);
    if (starts.length === 0) return null;
    return step > 0 ? Math.min(...starts) : Math.max(...starts);
  }

  /** What begins at a frame, in words. */
  eventsAt(frame: number): string {
    return told(this.happened().filter((span) => span.first === frame)).join("; ");
  }

  /** Events; plants have lanes of their own. */
  private happened(): Span[] {
    return this.spans.filter((span) => span.kind !== "contact");
  }

  private plants(): Plant[] {
    return this.spans
      .filter((span) => span.kind === "contact")
      .map((span) => ({ body: this.bodies[span.body], first: span.first, last: span.last }));
  }

  private draw(): void {
    this.drawEvents();
    this.rows.replaceChildren(...this.feet.map((body) => this.row(body)));
    this.setFrame(this.frame);
  }

  private drawEvents(): void {
    const canvas = this.events;
    const scale = Math.min(devicePixelRatio, 2);
    const width = (canvas.width = Math.max(1, canvas.clientWidth * scale));
    const height = (canvas.height = Math.max(1, canvas.clientHeight * scale));
    const brush = canvas.getContext("2d");
    if (brush === null) return;
    const colours = new Map<string, string>();
    const happened = this.happened();
    const inSight: Span[] = [];
    for (const span of happened) {
      const from = width * this.frames.share(span.first - 0.5);
      const to = width * this.frames.share(span.last + 0.5);
      if (to < 0 || from > width) continue;
      inSight.push(span);
      brush.fillStyle =
        colours.get(span.kind) ?? colour(TINTED.has(span.kind) ? span.kind : "accent");
      colours.set(span.kind, String(brush.fillStyle));
      brush.globalAlpha = span.kind === "gap" ? 0.5 : 0.9;
      brush.fillRect(from, 0, Math.max(scale, to - from), height);
    }
    canvas.setAttribute("aria-label", sayEvents(happened));
    const named = inSight.length > NAMED ? [] : inSight;
    this.names.replaceChildren(...named.map((span) => this.name(span)));
  }

  /** Lies unseen over an event that is drawn, and says what it is. */
  private name(span: Span): HTMLElement {
    const said = sayEvent(span);
    const made = make("span", { class: "event", role: "img", "aria-label": said, title: said });
    this.place(made, span.first, span.last);
    return made;
  }

  /** Says all that is under the pointer. */
  private tellEvents(event: PointerEvent): void {
    const at = this.frameAt(event, this.events);
    const near = (this.frames.last - this.frames.first) / Math.max(1, this.events.clientWidth);
    const there = this.happened().filter(
      (span) => span.first - near <= at && at <= span.last + near,
    );
    (event.target as HTMLElement).title = told(there).join("\n");
  }

  private row(body: string): HTMLElement {
    const label = body.replaceAll("_", " ");
    const lane = make("div", {
      class: "lane plants",
      "data-body": body,
      title: `Drag to plant the ${label}`,
    });
    for (const plant of this.plants()) {
      if (plant.body !== body || plant.last < this.frames.first || plant.first > this.frames.last) {
        continue;
      }
      lane.append(this.bar(plant));
    }
    lane.addEventListener("pointerdown", (event) => this.drawNew(event, lane, body));
    return make("div", { class: "track" }, make("span", { class: "label" }, label), lane);
  }

  private bar(plant: Plant): HTMLElement {
    const { body, first, last } = plant;
    const said = `${body.replaceAll("_", " ")} planted, frames ${first} to ${last}`;
    const bar = make("button", {
      type: "button",
      class: "plant",
      "aria-label": said,
      title: `${said}. Drag an end; Delete removes; [ and ] move an end to the current frame`,
    });
    this.place(bar, plant.first, plant.last);
    bar.addEventListener("pointerdown", (event) => this.resize(event, bar, plant));
    bar.addEventListener("keydown", (event) => this.key(event, plant));
    return bar;
  }

  private place(bar: HTMLElement, first: number, last: number): void {
    const from = Math.max(0, this.frames.share(first - 0.5));
    const to = Math.min(1, this.frames.share(last + 0.5));
    bar.style.left = `${100 * from}%`;
    bar.style.width = `${100 * Math.max(0, to - from)}%`;
  }

  private wheel(event: WheelEvent): void {
    const box = this.events.getBoundingClientRect();
    this.frames.wheel(event, (event.clientX - box.left) / box.width);
  }

  private frameAt(event: PointerEvent, lane: HTMLElement): number {
    const box = lane.getBoundingClientRect();
    return this.frames.frameAt((event.clientX - box.left) / box.width);
  }

  private scrub(event: PointerEvent): void {
    const seek = (at: PointerEvent) => this.actions.seek(this.frameAt(at, this.events));
    seek(event);
    follow(event, seek, () => undefined);
  }

  private drawNew(event: PointerEvent, lane: HTMLElement, body: string): void {
    if (event.button !== 0 || event.target !== lane) return;
    const start = this.frameAt(event, lane);
    const bar = make("div", { class: "plant" });
    lane.append(bar);
    const ends = (at: PointerEvent): [number, number] => {
      const here = this.frameAt(at, lane);
      return [Math.min(start, here), Math.max(start, here)];
    };
    follow(
      event,
      (move) => this.place(bar, ...ends(move)),
      (end) => {
        bar.remove();
        if (end === null) return;
        const [first, last] = ends(end);
        if (first === last) this.actions.seek(first);
        else this.actions.plant(body, first, last, true);
      },
    );
  }

  private resize(event: PointerEvent, bar: HTMLElement, plant: Plant): void {
    event.stopPropagation();
    const lane = bar.parentElement;
    if (event.button !== 0 || lane === null) return;
    const box = bar.getBoundingClientRect();
    const left = event.clientX - box.left < EDGE;
    const right = box.right - event.clientX < EDGE;
    if (!left && !right) return this.actions.seek(this.frameAt(event, lane));
    const moved = (at: PointerEvent): Plant => {
      const here = this.frameAt(at, lane);
      return left
        ? { ...plant, first: Math.min(here, plant.last) }
        : { ...plant, last: Math.max(here, plant.first) };
    };
    follow(
      event,
      (move) => this.place(bar, moved(move).first, moved(move).last),
      (end) => this.change(plant, end === null ? plant : moved(end)),
    );
  }

  private key(event: KeyboardEvent, plant: Plant): void {
    const { body, first, last } = plant;
    if (event.key === "Delete" || event.key === "Backspace") {
      this.actions.plant(body, first, last, false);
    } else if (event.key === "[" && this.frame <= last) {
      this.change(plant, { ...plant, first: this.frame });
    } else if (event.key === "]" && this.frame >= first) {
      this.change(plant, { ...plant, last: this.frame });
    } else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** Says what was added at an end, or taken away. */
  private change(from: Plant, to: Plant): void {
    const { body } = from;
    if (to.first < from.first) this.actions.plant(body, to.first, from.last, true);
    if (to.first > from.first) this.actions.plant(body, from.first, to.first - 1, false);
    if (to.last > from.last) this.actions.plant(body, from.first, to.last, true);
    if (to.last < from.last) this.actions.plant(body, to.last + 1, from.last, false);
    this.draw();
  }
}

function told(spans: Span[]): string[] {
  const said = spans.slice(0, TOLD).map(sayEvent);
  return spans.length > TOLD ? [...said, `and ${spans.length - TOLD} more`] : said;
}
