// The studio's page: its parts, and who tells whom.

import { type Export, type FindingRow } from "../messages";
import { Player, isForPage, playerKey } from "../player";
import { Again } from "./again";
import { BodyTree } from "./body_tree";
import { CurvePanel } from "./curve_panel";
import {
  characterDialog,
  compareDialog,
  exportDialog,
  exportedDialog,
  keysDialog,
  openDialog,
  solveDialog,
} from "./dialogs";
import { make } from "./elements";
import { FindingList } from "./finding_list";
import { FrameWindow } from "./frame_window";
import { type Chosen, Inspector } from "./inspector";
import { LabelList } from "./label_list";
import { address } from "./link";
import { MarkerList } from "./marker_list";
import { Notices } from "./notices";
import { Session } from "./session";
import { Tabs } from "./tabs";
import { Timeline } from "./timeline";
import { TopBar } from "./top_bar";
import { Transport } from "./transport";
import { type View } from "./view";
import { ViewArea } from "./view_area";

const NOTHING_MORE: Omit<Export, "type" | "labels"> = {
  formats: [],
  names: "",
  unit: "",
  up: "",
  angles: "",
  markers: false,
};
const ASSIGNING = "Assigning: click a marker, then the body that carries it. Escape ends.";

export class App {
  readonly session = new Session();
  readonly player = new Player(1, 100);
  readonly frames = new FrameWindow();
  readonly again = new Again(this.session);
  private readonly area: ViewArea;
  private readonly notices = new Notices();
  private readonly bar: TopBar;
  private readonly transport = new Transport(this.player);
  private readonly curves: CurvePanel;
  private readonly timeline: Timeline;
  private readonly markers: MarkerList;
  private readonly tree: BodyTree;
  private readonly labels: LabelList;
  private readonly findings: FindingList;
  private readonly inspector: Inspector;
  private readonly middle = make("div", { class: "middle no-curves" });
  private readonly tabs: Tabs;
  private chosen: Chosen = { markers: [], body: -1 };
  private assigning = false;
  private opened = "";

  constructor() {
    const { session, player, frames } = this;
    const actions = {
      chooseMarker: (marker: number, adding: boolean) => this.chooseMarker(marker, adding),
      chooseBody: (body: number) => this.chooseBody(body),
      chooseNothing: () => this.choose({ markers: [], body: -1 }),
    };
    this.area = new ViewArea(session, actions);
    this.bar = new TopBar(session, {
      open: () =>
        session.welcome &&
        openDialog(
          session.welcome,
          (path) => this.open(path),
          (file) => void this.upload(file),
        ),
      settings: () =>
        session.welcome &&
        solveDialog(session.welcome, session.state.settings, (stage, settings) =>
          session.run(stage, settings),
        ),
      compare: () => this.compare(),
      character: () =>
        session.welcome &&
        characterDialog(session.welcome, (path) => void this.openCharacter(path)),
      export: () =>
        session.welcome &&
        exportDialog(session.welcome, session.take?.kinds.includes("markers") ?? false, (asked) =>
          session.send({ type: "export", labels: false, ...asked }),
        ),
      keys: keysDialog,
    });
    this.curves = new CurvePanel(session, frames, (frame) => player.seek(frame));
    this.timeline = new Timeline(frames, {
      seek: (frame) => player.seek(frame),
      plant: (body, first, last, on) => session.edit({ edit: "plant", body, first, last, on, found: true }),
    });
    this.markers = new MarkerList((markers) => this.choose({ ...this.chosen, markers }));
    this.tree = new BodyTree({
      choose: (body) => this.chooseBody(body),
      hang: (body, parent) => session.edit({ edit: "parent", body, parent }),
      makeRoot: (body) => session.edit({ edit: "root", body }),
    });
    this.inspector = new Inspector(
      session,
      () => player.frame,
      () => this.setAssigning(true),
      () => this.view.setPins(this.inspector.pose.pins),
    );
    this.labels = new LabelList({
      label: (template) => session.run("label", { ...session.state.settings, template }),
      write: () => session.send({ type: "export", labels: true, ...NOTHING_MORE }),
      look: ({ track, first, last }) => this.look([track], first, last),
      say: ({ track, first, last }, label) =>
        session.edit({ edit: "label", track, first, last, label }),
    });
    this.findings = new FindingList({
      search: () => session.run("swaps"),
      look: (row) => this.lookAtFinding(row),
      answer: (edit) => session.edit(edit),
    });
    this.tabs = new Tabs("What there is", {
      Markers: this.markers.element,
      Bodies: this.tree.element,
      Labels: this.labels.element,
      Findings: this.findings.element,
    });
    this.build();
    this.listen();
  }

  private build(): void {
    document.body.className = "studio";
    const { tabs, middle } = this;
    middle.append(
      this.area.element,
      this.transport.element,
      this.curves.element,
      this.timeline.element,
    );
    const main = document.querySelector("main") ?? make("main");
    main.replaceChildren(
      make("aside", { class: "shelf", "aria-label": "Markers and bodies" }, tabs.element),
      middle,
      make("aside", { class: "desk", "aria-label": "Properties" }, this.inspector.element),
    );
    this.area.element.append(this.notices.element);
    document.body.replaceChildren(this.bar.element, main);
    this.inspector.show(this.chosen);
  }

  /** The view of the take. */
  get view(): View {
    return this.area.view;
  }

  private listen(): void {
    const { session, player } = this;
    player.onFrame((frame) => this.show(frame));
    session.on("opened", () => this.take());
    session.on("changed", (change) => {
      this.refreshTimes();
      this.inspector.show(this.chosen);
      if (change.saying) this.notices.say(change.saying);
    });
    session.on("solved", ({ stage }) => this.solved(stage));
    session.on("arrived", ({ first, last }) => this.arrived(first, last));
    session.on("problem", (saying) => {
      session.letGo();
      this.notices.problem(saying);
    });
    session.on("exported", exportedDialog);
    session.on("welcome", (welcome) => {
      this.labels.offer(welcome, session.state.settings.template ?? "auto");
      if (session.take === null && welcome.files.length > 0 && !this.opened) this.bar.invite();
    });
    document.addEventListener("keydown", (event) => this.key(event));
    document.addEventListener("dragover", (event) => event.preventDefault());
    document.addEventListener("drop", (event) => {
      event.preventDefault();
      const file = event.dataTransfer?.files[0];
      if (file) void this.upload(file);
    });
  }

  private open(path: string): void {
    this.session.send({ type: "open", path, subject: "" });
  }

  private async upload(file: File): Promise<void> {
    this.notices.say(`Bringing in ${file.name} …`);
    const answer = await fetch(address("/api/upload", { name: file.name }), {
      method: "POST",
      body: file,
    });
    if (!answer.ok) this.notices.problem(await answer.text());
  }

  /** A take was opened, or the socket came back: everything is as the server says. */
  private take(): void {
    const { session, player } = this;
    const side = session.side;
    if (side === null) return;
    const name = `${session.take?.path} ${session.take?.subject}`;
    const again = name === this.opened && side.frames === this.frames.frames;
    this.opened = name;
    this.area.takeSide(again);
    this.view.setPins(this.keptPins());
    this.transport.setTake(side.frames, side.rate);
    this.middle.classList.toggle("no-markers", side.markers.length === 0);
    this.curves.enableMarkers(side.markers.length > 0);
    this.middle.classList.remove("no-curves");
    if (!again) {
      this.tabs.show(side.markers.length > 0 ? 0 : 1);
      this.frames.setFrames(side.frames);
      this.chosen = side.markers.length > 0 ? { markers: [0], body: -1 } : { markers: [], body: 0 };
      player.seek(0);
    }
    const ofMarkers = side.markers.length > 0 && !side.ofSensors;
    this.labels.enable(ofMarkers);
    this.findings.enable(ofMarkers);
    this.curves.enableRepairs(ofMarkers);
    this.tabs.rename(0, side.ofSensors ? "Sensors" : "Markers");
    if (session.welcome) this.labels.offer(session.welcome, session.state.settings.template);
    document.title = `${session.take?.path} · Osteon studio`;
    this.refreshLists();
  }

  private solved(stage: string): void {
    const { session } = this;
    this.area.takeSide(true);
    this.view.setPins(this.keptPins());
    this.refreshLists();
    if (stage === "label") return this.notices.say("Labelled");
    if (stage === "map") this.area.showFigure();
    if (stage === "swaps") return this.notices.say("Looked for swapped labels and spikes");
    const rms = session.summary?.marker_rms_mm;
    this.notices.say(typeof rms === "number" ? `Solved: ${rms.toFixed(1)} mm rms` : "Done");
  }

  /** Another rig may lack what was pinned. */
  private keptPins(): string[] {
    const { pose } = this.inspector;
    const known = this.session.side?.rig?.bodies.map(({ name }) => name) ?? [];
    return (pose.pins = pose.pins.filter((name) => known.includes(name)));
  }

  private refreshLists(): void {
    this.tree.setBodies(this.session.side?.rig?.bodies ?? []);
    this.refreshTimes();
    this.choose(this.chosen);
  }

  /** What any edit may change: shares of the markers, and the time line. */
  private refreshTimes(): void {
    const { session } = this;
    const bodies = session.side?.rig?.bodies ?? [];
    this.markers.setMarkers(session.side?.markers ?? [], bodies);
    this.labels.show(session.labels);
    this.findings.show(session.findings);
    this.timeline.setSpans(
      session.spans,
      bodies.map((body) => body.name),
    );
  }

  /** Goes to a stretch of some markers, with these chosen and the stretch selected. */
  private look(names: string[], first: number, last: number): void {
    const known = this.session.side?.markers ?? [];
    const markers = names
      .map((name) => known.findIndex((marker) => marker.name === name))
      .filter((index) => index >= 0);
    if (markers.length > 0) this.choose({ ...this.chosen, markers });
    this.frames.select(first, last);
    this.frames.showSelection();
    this.player.seek(Math.round((first + last) / 2));
  }

  private lookAtFinding({ kind, names, first, last }: FindingRow): void {
    const ofBody = kind === "pop" || kind === "slide";
    const body = this.session.side?.rig?.bodies.findIndex(({ name }) => name === names[0]) ?? -1;
    if (ofBody && body >= 0) this.choose({ ...this.chosen, body });
    this.look(ofBody ? [] : names, first, last);
  }

  private show(frame: number): void {
    this.area.show(frame);
    this.frames.follow(frame);
    this.curves.setFrame(frame);
    this.timeline.setFrame(frame);
    this.inspector.follow();
  }

  private arrived(first: number, last: number): void {
    if (this.player.frame < first || this.player.frame > last) return;
    document.body.dataset.ready = "";
    this.area.arrived();
  }

  private chooseMarker(marker: number, adding: boolean): void {
    const { markers } = this.chosen;
    const without = markers.filter((each) => each !== marker);
    const more = without.length < markers.length ? without : [...without, marker];
    this.choose({ ...this.chosen, markers: adding ? more : [marker] });
  }

  private chooseBody(body: number): void {
    if (this.assigning) return this.assign(body);
    this.choose({ ...this.chosen, body });
  }

  private choose(chosen: Chosen): void {
    this.chosen = chosen;
    this.curves.choose(chosen.markers);
    this.curves.chooseBody(chosen.body);
    this.area.chooseMarkers(chosen.markers);
    this.markers.show(chosen.markers);
    this.tree.show(chosen.body);
    this.inspector.show(chosen);
    this.area.setHandles(chosen.body, this.inspector.pose);
  }

  private setAssigning(on: boolean): void {
    this.assigning = on && (this.session.side?.rig ?? null) !== null;
    this.area.setMode(this.assigning ? ASSIGNING : "");
  }

  private assign(body: number): void {
    const name = this.session.side?.rig?.bodies[body]?.name;
    for (const index of this.chosen.markers) {
      const marker = this.session.side?.markers[index]?.name;
      if (marker && name) this.session.edit({ edit: "assign", marker, body: name });
    }
  }

  private compare(): void {
    const { session } = this;
    if (session.compared) return session.stopComparing();
    if (session.welcome === null) return;
    compareDialog(session.welcome, session.state.settings, (path, settings, edits) =>
      session.send({ type: "compare", path, settings, edits }),
    );
  }

  private async openCharacter(path: string): Promise<void> {
    try {
      await this.area.openCharacter(path);
    } catch (error) {
      this.notices.problem(error instanceof Error ? error.message : String(error));
    }
  }

  private key(event: KeyboardEvent): void {
    const strong = event.ctrlKey || event.metaKey;
    const key = event.key.toLowerCase();
    if (document.querySelector("dialog[open]")) return;
    if (strong && key === "z") event.shiftKey ? this.session.redo() : this.session.undo();
    else if (strong && key === "y") this.session.redo();
    else if (strong && key === "o") this.bar.press("open");
    else if (strong && key === "e") this.bar.press("export");
    else if (!isForPage(event)) return;
    else if (playerKey(this.player, event)) void 0;
    else if (key === "f") this.view.lookAtAll();
    else if (key === "a") this.setAssigning(!this.assigning);
    else if (key === "p") this.pin();
    else if (key === "delete") this.curves.cut();
    else if (key === "," || key === ".") this.seekEvent(key === "." ? 1 : -1);
    else if (key === "escape") this.escape();
    else if (key === "?") keysDialog();
    else return;
    event.preventDefault();
  }

  /** Pins the chosen body, or lets it go. */
  private pin(): void {
    const body = this.session.side?.rig?.bodies[this.chosen.body];
    if (body) this.inspector.togglePin(body.name);
  }

  private seekEvent(step: 1 | -1): void {
    const frame = this.timeline.nextEvent(step);
    if (frame === null) return;
    this.player.seek(frame);
    this.notices.say(this.timeline.eventsAt(frame));
  }

  private escape(): void {
    if (this.assigning) this.setAssigning(false);
    else if (this.frames.selection) this.frames.select(null);
    else this.choose({ markers: [], body: -1 });
  }
}
