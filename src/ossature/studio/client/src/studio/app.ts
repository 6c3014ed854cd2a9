// The studio's page: its parts, and who tells whom.

import { toggle } from "../dom";
import { Player, isForPage, playerKey } from "../player";
import { Again } from "./again";
import { BodyTree } from "./body_tree";
import { CurvePanel } from "./curve_panel";
import { characterDialog, compareDialog, exportDialog, exportedDialog, keysDialog, openDialog, solveDialog } from "./dialogs";
import { make } from "./elements";
import { FrameWindow } from "./frame_window";
import { Glue } from "./glue";
import { type Chosen, Inspector } from "./inspector";
import { limitHandles } from "./limit_handles";
import { address } from "./link";
import { MarkerList } from "./marker_list";
import { Notices } from "./notices";
import { poseHandles } from "./pose_handles";
import { Session } from "./session";
import { Tabs } from "./tabs";
import { Timeline } from "./timeline";
import { TopBar } from "./top_bar";
import { Transport } from "./transport";
import { View } from "./view";

export class App {
  readonly session = new Session();
  readonly player = new Player(1, 100);
  readonly frames = new FrameWindow();
  readonly again = new Again(this.session);
  readonly view: View;
  private readonly notices = new Notices();
  private readonly bar: TopBar;
  private readonly transport = new Transport(this.player);
  private readonly curves: CurvePanel;
  private readonly timeline: Timeline;
  private readonly markers: MarkerList;
  private readonly tree: BodyTree;
  private readonly inspector: Inspector;
  private readonly views = make("div", { class: "views" });
  private readonly middle = make("div", { class: "middle no-curves" });
  private readonly tabs: Tabs;
  private readonly mode = make("p", { class: "mode", hidden: true, role: "status" });
  private readonly nothing = make(
    "div",
    { class: "nothing" },
    make("p", {}, "Drop a recording here"),
    make("p", { class: "hint" }, "C3D, TRC, CSV, TSV, BVH, ASF and AMC, GLB; or press Open for the files of the folder"),
  );
  private chosen: Chosen = { markers: [], body: -1 };
  /** The other side of a comparison, and the character: drawn only when asked for. */
  private other: View | null = null;
  private glue: Glue | null = null;
  private assigning = false;
  private limitsShown = false;
  private opened = "";

  constructor() {
    const { session, player, frames } = this;
    const actions = {
      chooseMarker: (marker: number, adding: boolean) => this.chooseMarker(marker, adding),
      chooseBody: (body: number) => this.chooseBody(body),
      chooseNothing: () => this.choose({ markers: [], body: -1 }),
    };
    this.view = new View(actions);
    this.bar = new TopBar(session, {
      open: () => session.welcome && openDialog(session.welcome, (path) => this.open(path), (file) => void this.upload(file)),
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
        exportDialog(session.welcome, (formats) => session.send({ type: "export", formats })),
      keys: keysDialog,
    });
    this.curves = new CurvePanel(session, frames, (frame) => player.seek(frame));
    this.timeline = new Timeline(frames, {
      seek: (frame) => player.seek(frame),
      plant: (body, first, last, on) => session.edit({ edit: "plant", body, first, last, on }),
    });
    this.markers = new MarkerList((markers) => this.choose({ ...this.chosen, markers }));
    this.tree = new BodyTree({
      choose: (body) => this.chooseBody(body),
      hang: (body, parent) => session.edit({ edit: "parent", body, parent }),
      makeRoot: (body) => session.edit({ edit: "root", body }),
    });
    this.inspector = new Inspector(session, () => player.frame, () => this.setAssigning(true));
    this.tabs = new Tabs("What there is", {
      Markers: this.markers.element,
      Bodies: this.tree.element,
    });
    this.build();
    this.listen();
  }

  private build(): void {
    document.body.className = "studio";
    this.views.append(this.view.element, this.layers(), this.mode, this.nothing);
    const { tabs, middle } = this;
    middle.append(this.views, this.transport.element, this.curves.element, this.timeline.element);
    const main = document.querySelector("main") ?? make("main");
    main.replaceChildren(
      make("aside", { class: "shelf", "aria-label": "Markers and bodies" }, tabs.element),
      middle,
      make("aside", { class: "desk", "aria-label": "Properties" }, this.inspector.element),
    );
    document.body.replaceChildren(this.bar.element, main, this.notices.element);
    this.inspector.show(this.chosen);
  }

  /** What the view shows, over its corner. */
  private layers(): HTMLElement {
    const both = (show: (view: View) => void) => {
      show(this.view);
      if (this.other) show(this.other);
    };
    const layer = (name: string) =>
      toggle(name, (on) => both((view) => view.stage.setVisible(name, on)));
    const limits = toggle("limits", (on) => this.showLimits(on), false);
    return make(
      "div",
      { class: "layers", role: "group", "aria-label": "Show" },
      layer("markers"),
      layer("skeleton"),
      toggle("figure", (on) => both((view) => view.setDressed(on)), false),
      limits,
      toggle("follow", (on) => this.view.setFollow(on), false),
    );
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
    session.on("solved", () => this.solved());
    session.on("arrived", ({ first, last }) => this.arrived(first, last));
    session.on("pose", (pose) => (pose.live ? this.view.arrived() : this.view.show(player.frame)));
    session.on("live", (live) => {
      this.nothing.hidden = true;
      this.view.setLive(live, () => session.livePose);
    });
    session.on("problem", (saying) => {
      session.letGo();
      this.notices.problem(saying);
    });
    session.on("exported", exportedDialog);
    session.on("compared", () => this.showCompared());
    session.on("welcome", (welcome) => {
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
    const again = session.take?.path === this.opened && side.frames === this.frames.frames;
    this.opened = session.take?.path ?? "";
    this.view.setSide(side, () => session.posed, again);
    this.transport.setTake(side.frames, side.rate);
    // a file of motion alone has no curves to edit
    this.middle.classList.toggle("no-curves", side.markers.length === 0);
    if (!again) {
      this.tabs.show(side.markers.length > 0 ? 0 : 1);
      this.frames.setFrames(side.frames);
      this.chosen = { markers: side.markers.length > 0 ? [0] : [], body: -1 };
      player.seek(0);
    }
    this.nothing.hidden = true;
    document.title = `${this.opened} · Ossature studio`;
    this.refreshLists();
  }

  private solved(): void {
    const { session } = this;
    this.view.setSide(session.side, () => session.posed, true);
    this.view.stage.setVisible("limits", this.limitsShown);
    this.refreshLists();
    const rms = session.summary?.marker_rms_mm;
    this.notices.say(typeof rms === "number" ? `Solved: ${rms.toFixed(1)} mm rms` : "Done");
  }

  private refreshLists(): void {
    this.tree.setBodies(this.session.side?.figure?.bodies ?? []);
    this.refreshTimes();
    this.choose(this.chosen);
  }

  /** What any edit may change: shares of the markers, and the time line. */
  private refreshTimes(): void {
    const { session } = this;
    const bodies = session.side?.figure?.bodies ?? [];
    this.markers.setMarkers(session.side?.markers ?? []);
    this.timeline.setSpans(session.spans, bodies.map((body) => body.name));
  }

  private show(frame: number): void {
    this.view.show(frame);
    if (this.session.compared) this.other?.show(frame);
    this.frames.follow(frame);
    this.curves.setFrame(frame);
    this.timeline.setFrame(frame);
  }

  private arrived(first: number, last: number): void {
    if (this.player.frame < first || this.player.frame > last) return;
    document.body.dataset.ready = "";
    this.view.arrived();
    if (this.session.compared) this.other?.arrived();
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
    const marker = chosen.markers.at(-1) ?? -1;
    this.chosen = chosen;
    this.curves.choose(chosen.markers);
    this.view.chooseMarkers(chosen.markers);
    this.markers.show(chosen.markers);
    this.tree.show(chosen.body);
    this.inspector.show(chosen);
    if (this.glue?.element.isConnected) this.glue.choose(marker);
    this.setHandles();
  }

  private setHandles(): void {
    const { view, session, chosen } = this;
    if (chosen.body < 0) return view.setHandles([]);
    view.setHandles([
      ...poseHandles(view, session, chosen.body, this.inspector.pose),
      ...(this.limitsShown
        ? limitHandles(view, session, chosen.body, (range) => view.previewLimits(chosen.body, range))
        : []),
    ]);
  }

  private showLimits(on: boolean): void {
    this.limitsShown = on;
    this.view.stage.setVisible("limits", on);
    this.setHandles();
  }

  private setAssigning(on: boolean): void {
    this.assigning = on && (this.session.side?.figure ?? null) !== null;
    this.mode.hidden = !this.assigning;
    this.mode.textContent = "Assigning: click a marker, then the body that carries it. Escape ends.";
  }

  private assign(body: number): void {
    const name = this.session.side?.figure?.bodies[body]?.name;
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
    this.glue ??= new Glue(
      this.session,
      (marker) => this.chooseMarker(marker, false),
      () => this.closeCharacter(),
    );
    this.views.classList.add("two");
    this.view.element.after(this.glue.element);
    try {
      await this.glue.open(path);
      this.glue.choose(this.chosen.markers.at(-1) ?? -1);
    } catch (error) {
      this.closeCharacter();
      this.notices.problem(error instanceof Error ? error.message : String(error));
    }
  }

  private closeCharacter(): void {
    this.glue?.element.remove();
    this.views.classList.toggle("two", this.session.compared !== null);
  }

  private showCompared(): void {
    const { session, views, view } = this;
    views.classList.toggle("two", session.compared !== null);
    if (session.compared === null) return this.other?.element.remove();
    this.other ??= new View({ chooseMarker() {}, chooseBody() {}, chooseNothing() {} });
    view.element.after(this.other.element);
    this.other.setSide(session.compared, () => null, false);
    this.other.setTitle(session.comparedLabel);
    this.other.lookAlong(view);
    this.other.show(this.player.frame);
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
    else if (key === "delete") this.curves.cut();
    else if (key === "," || key === ".") this.seekEvent(key === "." ? 1 : -1);
    else if (key === "escape") this.escape();
    else if (key === "?") keysDialog();
    else return;
    event.preventDefault();
  }

  private seekEvent(step: 1 | -1): void {
    const frame = this.timeline.nextEvent(step);
    if (frame !== null) this.player.seek(frame);
  }

  private escape(): void {
    if (this.assigning) this.setAssigning(false);
    else if (this.frames.selection) this.frames.select(null);
    else this.choose({ markers: [], body: -1 });
  }
}
