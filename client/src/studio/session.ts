// What the page knows of the session; all of it comes from the server.

import {
  type Changed,
  type Compared,
  type Edit,
  type Exported,
  type FindingTable,
  type FromPage,
  type LabelTable,
  type Live,
  type Opened,
  type Pose,
  type Progress,
  type Run,
  type SetPose,
  type Settings,
  type StageDone,
  type TakeState,
  type ToPage,
  type Welcome,
} from "../messages";
import { type Span } from "../report_data";
import { Link, type LinkState } from "./link";
import { Side } from "./side";

interface Happenings {
  link: { state: LinkState; unsaved: number };
  welcome: Welcome;
  opened: Opened;
  /** Edits, undo, redo: state and time line are new. */
  changed: Changed;
  solved: StageDone;
  progress: Progress | null;
  pose: Pose;
  live: Live;
  exported: Exported;
  compared: Side | null;
  problem: string;
  /** Numbers of some frames have come. */
  arrived: { first: number; last: number };
}

type Listener<K extends keyof Happenings> = (what: Happenings[K]) => void;

const NOTHING: TakeState = {
  revision: 0,
  edits: [],
  undone: 0,
  settings: {} as Settings,
  solved: false,
  stale: false,
};

export class Session {
  welcome: Welcome | null = null;
  take: Opened | null = null;
  side: Side | null = null;
  compared: Side | null = null;
  comparedLabel = "";
  spans: Span[] = [];
  state = NOTHING;
  summary: Record<string, unknown> | null = null;
  warnings: string[] = [];
  /** Labels that were found for the tracks. */
  labels: LabelTable | null = null;
  findings: FindingTable = { rows: [], more: 0 };
  /** A pose that is being dragged and stands in for its frame. */
  posed: Pose | null = null;
  livePose: Pose | null = null;
  private serial = 0;
  private readonly listeners: { [K in keyof Happenings]?: Listener<K>[] } = {};
  private readonly link: Link;

  constructor() {
    this.link = new Link(
      (message) => this.receive(message),
      (state, unsaved) => this.tell("link", { state, unsaved }),
      () => this.state.revision,
    );
  }

  on<K extends keyof Happenings>(what: K, listener: Listener<K>): void {
    const list = (this.listeners[what] ??= []) as Listener<K>[];
    list.push(listener);
  }

  send(message: FromPage): void {
    this.link.send(message);
  }

  /** Runs a stage; settings as last time unless given. */
  run(stage: Run["stage"], settings: Settings | null = null, character = ""): void {
    this.send({ type: "run", stage, settings, character });
  }

  edit(edit: Edit): void {
    this.link.change({ type: "edit", edit });
  }

  undo(): void {
    if (this.state.edits.length > 0) this.link.change({ type: "undo" });
  }

  redo(): void {
    if (this.state.undone > 0) this.link.change({ type: "redo" });
  }

  drag(
    frame: number,
    targets: Record<string, [number, number, number]>,
    { limits, limb, pins }: Pick<SetPose, "limits" | "limb" | "pins">,
  ): void {
    this.send({ type: "drag", frame, targets, limits, limb, pins, serial: ++this.serial });
  }

  slide(frame: number, parameter: string, value: number, pins: string[]): void {
    const serial = ++this.serial;
    this.send({ type: "slide", frame, parameter, value, limits: true, serial, pins });
  }

  /** Forgets a pose that was dragged and not kept. */
  letGo(): void {
    this.serial += 1; // answers on their way are for nobody
    const frame = this.posed?.frame ?? 0;
    this.posed = null;
    this.arrived(frame, frame);
  }

  stopComparing(): void {
    this.compared?.stop();
    this.compared = null;
    this.tell("compared", null);
  }

  private tell<K extends keyof Happenings>(what: K, value: Happenings[K]): void {
    (this.listeners[what] as Listener<K>[] | undefined)?.forEach((listener) => listener(value));
  }

  private receive(message: ToPage): void {
    switch (message.type) {
      case "welcome":
        this.welcome = message;
        return this.tell("welcome", message);
      case "opened":
        return this.open(message);
      case "changed":
        return this.change(message);
      case "solved":
        return this.solve(message);
      case "progress":
        return this.tell("progress", message);
      case "cancelled":
        return this.tell("progress", null);
      case "live":
        return this.tell("live", message);
      case "pose":
        if (message.live) this.livePose = message;
        else if (message.serial === this.serial) this.posed = message;
        return this.tell("pose", message);
      case "exported":
        this.tell("progress", null);
        return this.tell("exported", message);
      case "compared":
        return this.compare(message);
      case "problem":
        this.tell("progress", null);
        return this.tell("problem", message.saying);
      default:
        return undefined;
    }
  }

  private arrived = (first: number, last: number): void => this.tell("arrived", { first, last });

  private open(message: Opened): void {
    this.side?.stop();
    this.posed = null;
    this.take = message;
    this.state = message.state;
    this.spans = message.spans;
    this.summary = message.summary;
    this.warnings = message.problems;
    this.labels = message.labels;
    this.findings = message.findings;
    const { frames, rate, markers, kinds } = message;
    const ofSensors = kinds.includes("sensors");
    this.side = new Side("take", frames, rate, markers, this.arrived, ofSensors);
    this.side.setRig(message.rig);
    this.tell("opened", message);
  }

  private change(message: Changed): void {
    const side = this.side;
    if (side === null) return;
    this.state = message.state;
    this.labels = message.labels;
    this.findings = message.findings;
    if (message.spans.length > 0) this.spans = message.spans;
    for (const marker of message.markers) {
      const index = side.markers.findIndex((each) => each.name === marker.name);
      if (index >= 0) side.markers[index] = marker;
    }
    const names = message.markers.map((marker) => marker.name);
    if (message.moved && message.last >= message.first) {
      // the dragged pose stays in sight until the kept one has come
      void side.refreshMotion(message.first, message.last).then(() => this.letGo());
    }
    // words and curves are drawn together, in one picture
    const fetched = side.refreshMarkers(names, message.first, message.last);
    void Promise.resolve(fetched).finally(() => this.tell("changed", message));
  }

  private solve(message: StageDone): void {
    const side = this.side;
    if (side === null) return;
    this.posed = null;
    this.state = message.state;
    this.spans = message.spans;
    this.summary = message.summary;
    this.warnings = message.warnings;
    this.labels = message.labels;
    this.findings = message.findings;
    side.markers = message.markers;
    side.setRig(message.rig);
    this.tell("progress", null);
    this.tell("solved", message);
  }

  private compare(message: Compared): void {
    this.compared?.stop();
    const { frames, rate, markers, rig, label } = message;
    this.compared = new Side("compared", frames, rate, markers, this.arrived);
    this.compared.setRig(rig);
    this.comparedLabel = label;
    this.tell("progress", null);
    this.tell("compared", this.compared);
  }
}
