// The report: one page, no server, all data inside.

import { Curves } from "./curves";
import { type ReportData, readPageData } from "./data";
import { Scene } from "./scene";
import "./style.css";

class Player {
  frame = 0;
  private playing = false;
  private last = 0;
  private carry = 0;

  constructor(
    private readonly data: ReportData,
    private readonly shown: number,
    private readonly onFrame: (frame: number) => void,
    private readonly onState: (playing: boolean) => void,
  ) {}

  seek(frame: number): void {
    this.frame = Math.max(0, Math.min(this.shown - 1, Math.round(frame)));
    this.onFrame(this.frame);
  }

  toggle(): void {
    this.playing = !this.playing;
    this.onState(this.playing);
    if (this.playing) {
      this.last = performance.now();
      requestAnimationFrame((now) => this.step(now));
    }
  }

  private step(now: number): void {
    if (!this.playing) return;
    this.carry += ((now - this.last) / 1000) * (this.data.rate / this.data.stride);
    this.last = now;
    const whole = Math.floor(this.carry);
    if (whole > 0) {
      this.carry -= whole;
      this.seek((this.frame + whole) % this.shown);
    }
    requestAnimationFrame((next) => this.step(next));
  }
}

function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  text = "",
  className = "",
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  made.textContent = text;
  if (className) made.className = className;
  return made;
}

function section(title: string): HTMLElement {
  const made = element("section");
  made.append(element("h2", title));
  return made;
}

function table(head: string[], rows: (string | number)[][]): HTMLTableElement {
  const made = element("table");
  const top = made.createTHead().insertRow();
  for (const word of head) {
    const cell = element("th", word);
    cell.scope = "col";
    top.append(cell);
  }
  const body = made.createTBody();
  for (const row of rows) {
    const line = body.insertRow();
    row.forEach((value, i) => {
      const cell = line.insertCell();
      cell.textContent = String(value);
      if (i > 0) cell.className = "number";
    });
  }
  return made;
}

const mm = (value: number | null): string => (value === null ? "–" : value.toFixed(1));

function limbTable(data: ReportData): HTMLElement {
  const made = section("Limbs");
  const rows = data.bodies.map((body) => [
    body.name,
    body.kind,
    mm(body.length_mm),
    mm(body.measured_mm),
    body.sigma_mm === null ? "–" : `± ${body.sigma_mm.toFixed(1)}`,
  ]);
  made.append(table(["body", "joint", "length mm", "measured mm", "joint known to mm"], rows));
  return made;
}

function markerTable(data: ReportData, choose: (marker: number | null) => void): HTMLElement {
  const made = section("Markers, worst first");
  const order = data.markers
    .map((marker, index) => ({ marker, index }))
    .sort((a, b) => (b.marker.rms_mm ?? -1) - (a.marker.rms_mm ?? -1));
  const rows = order.map(({ marker }) => [
    marker.name,
    marker.body < 0 ? "–" : data.bodies[marker.body].name,
    mm(marker.rms_mm),
  ]);
  const made_table = table(["marker", "body", "rms mm"], rows);
  let chosen: HTMLTableRowElement | null = null;
  order.forEach(({ index }, row) => {
    const line = made_table.tBodies[0].rows[row];
    line.tabIndex = 0;
    const pick = () => {
      chosen?.classList.remove("chosen");
      chosen = chosen === line ? null : line;
      chosen?.classList.add("chosen");
      choose(chosen ? index : null);
    };
    line.addEventListener("click", pick);
    line.addEventListener("keydown", (event) => event.key === "Enter" && pick());
  });
  made.append(made_table);
  return made;
}

function tree(data: ReportData): HTMLElement {
  const made = section("Hierarchy");
  const branch = (parent: number): HTMLUListElement => {
    const list = element("ul");
    data.bodies.forEach((body, index) => {
      if (body.parent !== parent) return;
      const item = element("li", body.name);
      if (data.bodies.some((other) => other.parent === index)) item.append(branch(index));
      list.append(item);
    });
    return list;
  };
  const root = branch(-1);
  root.className = "tree";
  made.append(root);
  return made;
}

function listing(title: string, lines: string[]): HTMLElement[] {
  if (lines.length === 0) return [];
  const made = section(title);
  const list = element("ul");
  list.append(...lines.map((line) => element("li", line)));
  made.append(list);
  return [made];
}

function timeline(data: ReportData, seek: (frame: number) => void): HTMLElement {
  const made = element("div", "", "spans");
  for (const span of data.spans) {
    const mark = element("button", "", `span ${span.kind}`);
    mark.title = `${span.kind}: ${span.what}, frames ${span.first}–${span.last}`;
    mark.setAttribute("aria-label", mark.title);
    mark.style.left = `${(100 * span.first) / data.frames}%`;
    mark.style.width = `${Math.max(0.4, (100 * (span.last - span.first + 1)) / data.frames)}%`;
    mark.addEventListener("click", () => seek(span.first / data.stride));
    made.append(mark);
  }
  return made;
}

function toggle(label: string, onChange: (on: boolean) => void): HTMLElement {
  const made = element("label", "", "toggle");
  const box = element("input");
  box.type = "checkbox";
  box.checked = true;
  box.addEventListener("change", () => onChange(box.checked));
  made.append(box, document.createTextNode(label));
  return made;
}

function build(): void {
  const data = readPageData();
  const shown = Math.max(1, Math.ceil(data.frames / data.stride));
  const main = document.querySelector("main");
  if (main === null) throw new Error("the page has no main element");

  const stage = element("div", "", "stage");
  const view = element("div", "", "view");
  const bar = element("div", "", "bar");
  const play = element("button", "Play");
  const slider = element("input");
  slider.type = "range";
  slider.max = String(shown - 1);
  slider.value = "0";
  slider.setAttribute("aria-label", "frame");
  const clock = element("output", "", "clock");
  stage.append(view, bar);
  main.append(stage);

  const scene = new Scene(view, data);
  const player = new Player(
    data,
    shown,
    (frame) => {
      scene.show(frame);
      slider.value = String(frame);
      const number = frame * data.stride;
      clock.textContent = `frame ${number} · ${(number / data.rate).toFixed(2)} s`;
    },
    (playing) => {
      play.textContent = playing ? "Pause" : "Play";
    },
  );
  play.addEventListener("click", () => player.toggle());
  slider.addEventListener("input", () => player.seek(Number(slider.value)));
  bar.append(
    play,
    slider,
    clock,
    toggle("markers", (on) => scene.setVisible("markers", on)),
    toggle("skeleton", (on) => scene.setVisible("skeleton", on)),
  );
  if (data.spans.length) stage.append(timeline(data, (frame) => player.seek(frame)));

  const side = element("div", "", "side");
  main.append(side);
  const facts = section("Summary");
  facts.append(table(["", ""], data.facts));
  side.append(facts, ...listing("Take note", data.warnings));
  if (data.errors !== null) {
    const residuals = section("Distance between model and markers");
    const host = element("div");
    residuals.append(host);
    stage.append(residuals);
    const curves = new Curves(host, data, (frame) => player.seek(frame));
    side.append(markerTable(data, (marker) => curves.choose(marker)));
  }
  if (data.bodies.length) side.append(limbTable(data), tree(data));
  side.append(...listing("What was done to the data", data.history));

  document.addEventListener("keydown", (event) => {
    if (event.target instanceof HTMLInputElement && event.target.type !== "range") return;
    if (event.code === "Space") player.toggle();
    else if (event.key === "ArrowRight") player.seek(player.frame + 1);
    else if (event.key === "ArrowLeft") player.seek(player.frame - 1);
    else if (event.key === "f") scene.lookAtAll();
    else return;
    event.preventDefault();
  });
  player.seek(0);
  scene.lookAtAll();
}

build();
