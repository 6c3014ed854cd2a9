// Made from osteon.studio.messages by write_types.py; change that and run it again.

import type { BodyRow, MarkerRow, Span } from "./report_data";

/** What was found is right as it is. */
export interface KeepFinding {
  edit: "keep";
  kind: "gap" | "pop" | "slide" | "spike" | "swap";
  /** Markers, or the body. */
  names: string[];
  first: number;
  last: number;
}

/** How the take is solved: names and defaults of ``solve``. */
export interface Settings {
  /** Marker set: ``auto``, ``none`` (by motion alone), or a name. */
  template: string;
  hips: "davis" | "harrington" | "seidel";
  /** Repair exchanged labels and take out spikes. */
  clean: boolean;
  /** One fit over the whole take. */
  smooth: boolean;
  /** Also find joint kinds and limits. */
  limits: boolean;
  /** Also find limb frames and movement axes. */
  axes: boolean;
  /** Label all tracks anew before anything else; without it, only where labels are missing. */
  label: boolean;
}

/** Markers count as not seen for a while. */
export interface Cut {
  edit: "cut";
  markers: string[];
  first: number;
  last: number;
}

/** Missing samples of markers are filled in. */
export interface Fill {
  edit: "fill";
  markers: string[];
  first: number;
  last: number;
  method: "auto" | "lowrank" | "rigid" | "spline";
}

/** Markers are smoothed for a while. */
export interface Filter {
  edit: "filter";
  markers: string[];
  first: number;
  last: number;
  /** Hz. */
  cutoff: number;
  method: "butterworth" | "spline";
}

/** Two markers exchange their labels for a while. */
export interface SwapLabels {
  edit: "swap";
  a: string;
  b: string;
  first: number;
  last: number;
}

/** A stretch of a track has this label, or none. */
export interface SetLabel {
  edit: "label";
  track: string;
  first: number;
  last: number;
  /** Empty: none; it is left out. */
  label: string;
}

/** A marker belongs to a body, wherever on it the recording says; to none where empty. */
export interface Assign {
  edit: "assign";
  marker: string;
  body: string;
}

/** A marker sits at this very place of a body: gluing a marker set onto a figure. */
export interface Place {
  edit: "place";
  marker: string;
  body: string;
  /** In the body's frame, metres. */
  position: [number, number, number];
  /** File name of the character that the marker is glued on; empty: on the solved rig. */
  character: string;
}

/** A body hangs on another one. */
export interface SetParent {
  edit: "parent";
  body: string;
  parent: string;
}

/** A body becomes the root; the joints stay where they are. */
export interface SetRoot {
  edit: "root";
  body: string;
}

/** A joint is of another kind. */
export interface SetKind {
  edit: "kind";
  body: string;
  kind: "ball" | "fixed" | "hinge" | "universal";
  /** In the parent's frame: one for a hinge, two for a universal joint; none: as it moves. */
  axes: [number, number, number][];
}

/** A joint goes this far, degrees; what is left out stays as it was found. */
export interface SetLimits {
  edit: "limits";
  body: string;
  hinge: [number, number] | null;
  /** Half axes of the elliptic cone. */
  swing: [number, number] | null;
  twist: [number, number] | null;
  zyz: [[number, number], [number, number], [number, number]] | null;
}

/** A foot stands on the ground for a while, or does not. */
export interface SetPlant {
  edit: "plant";
  body: string;
  first: number;
  last: number;
  on: boolean;
  /** As in ``SetPose``. */
  found: boolean;
}

/** Another pose in one frame; the frames around it follow, less and less. */
export interface SetPose {
  edit: "pose";
  frame: number;
  /** Body, `` tip`` of a body, or marker → where it is to be in the world, metres. */
  targets: Record<string, [number, number, number]>;
  /** Movement parameter, such as ``left_thigh.bend`` → angle, radians. Turned before targets. */
  parameters: Record<string, number>;
  /** Keep joints within their limits, where these are known. */
  limits: boolean;
  /** Seconds to either side over which the change fades away; 0: this frame alone. */
  spread: number;
  /** Keep to the kinds and limits of joints that were found of the take; false: they were not known when the edit was made, and finding them later does not change it. */
  found: boolean;
  /** Turn only the limbs that are pulled, up to where the tree branches: a hand takes its arm along, not the trunk. False: every joint may turn. */
  limb: boolean;
  /** Bodies that stay where they are, in the frames around as well. */
  pins: string[];
}

/** A joint that jumps turns evenly instead, from just before to just after. */
export interface Ease {
  edit: "ease";
  body: string;
  first: number;
  last: number;
}

export type Edit = Cut | Fill | Filter | SwapLabels | KeepFinding | SetLabel | Assign | Place | SetParent | SetRoot | SetKind | SetLimits | SetPlant | SetPose | Ease;

/** Open a file of the folder; every page is told by ``Opened``. */
export interface Open {
  type: "open";
  /** Relative to the opened folder. */
  path: string;
  /** Whose markers, where the file holds several; empty: the first. */
  subject: string;
}

/** Make a change; every page is told by ``Changed``. */
export interface MakeEdit {
  type: "edit";
  edit: Cut | Fill | Filter | SwapLabels | KeepFinding | SetLabel | Assign | Place | SetParent | SetRoot | SetKind | SetLimits | SetPlant | SetPose | Ease;
  /** The revision that the page shows. A change of something that another page has changed meanwhile is refused, others go on top. */
  revision: number;
  /** Made by the page, comes back in ``Changed`` or ``Problem``. A page that lost its socket sends again what was not answered: an id that was seen before is answered, not done twice. */
  id: string;
}

/** Take back the last change; ``Changed`` follows. */
export interface Undo {
  type: "undo";
  revision: number;
  id: string;
}

/** Make again what was taken back last; ``Changed`` follows. */
export interface Redo {
  type: "redo";
  revision: number;
  id: string;
}

/** Run a stage; ``Progress`` … then ``StageDone``, ``Cancelled`` or ``Problem`` follow. */
export interface Run {
  type: "run";
  stage: "axes" | "label" | "limits" | "map" | "solve" | "swaps";
  /** None: as last time. Kept in the file of edits. */
  settings: Settings | null;
  /** For ``map``: file of the skeleton to move, relative to the folder. */
  character: string;
}

/** Stop the running stage as soon as it comes to a step; ``Cancelled`` follows. */
export interface Cancel {
  type: "cancel";
}

/** Pose one frame by pulling at handles, per mouse move; ``Pose`` answers this page alone. Nothing is kept: ``SetPose`` with the same targets makes it an edit. Of drags that pile up only the newest is answered. */
export interface Drag {
  type: "drag";
  frame: number;
  /** Body, `` tip`` of a body, or marker → where it is to be in the world. */
  targets: Record<string, [number, number, number]>;
  limits: boolean;
  /** Comes back in the answer. */
  serial: number;
  /** As in ``SetPose``, and ``pins``. */
  limb: boolean;
  pins: string[];
}

/** Turn a limb about a movement axis in one frame; ``Pose`` answers this page alone. */
export interface Slide {
  type: "slide";
  frame: number;
  parameter: string;
  /** Radians. */
  value: number;
  limits: boolean;
  serial: number;
  /** As in ``SetPose``. */
  pins: string[];
}

/** Write everything into the output folder, as ``solve --edits`` does; ``Exported`` follows. */
export interface Export {
  type: "export";
  /** Endings beside bvh and glb, such as ``amc``. */
  formats: string[];
  /** Scheme of bone names in motion files, as ``mixamo``; empty: our own. */
  names: string;
  /** Of motion.bvh, and ``up``; empty: as usual. */
  unit: "" | "cm" | "in" | "m" | "mm";
  up: "" | "y" | "z";
  /** Convention of joint angles to write as well; empty: none. */
  angles: "" | "isb" | "opensim" | "pig";
  /** Also the cleaned markers, as ``osteon clean`` writes them. */
  markers: boolean;
  /** Only the markers with their labels, as ``osteon label`` writes them; nothing is solved. */
  labels: boolean;
}

/** Solve another take, or this one with other settings, to stand beside; ``Compared`` tells. */
export interface Compare {
  type: "compare";
  /** Relative to the folder; empty: this take. */
  path: string;
  settings: Settings | null;
  /** This take with its edits, or without. */
  edits: boolean;
}

export type FromPage = Open | MakeEdit | Undo | Redo | Run | Cancel | Drag | Slide | Export | Compare;

/** An angle about a movement axis, for a slider. */
export interface SliderRow {
  /** ``left_thigh.bend`` */
  name: string;
  /** Range to offer, radians: a little more than the take shows. */
  low: number;
  high: number;
}

/** The rig: what joints, rotations and parameters are about. */
export interface RigRow {
  bodies: BodyRow[];
  /** Empty where the movement axes have not been found. */
  parameters: SliderRow[];
  subject: string;
}

/** A stretch of a track whose label somebody should look at, or has. */
export interface LabelRow {
  track: string;
  first: number;
  last: number;
  /** Empty: it has none. */
  label: string;
  confidence: number;
  /** The label that is next likely. */
  rival: string;
  by_hand: boolean;
}

/** Labels found for the tracks: how much has one, and what to look at. */
export interface LabelTable {
  /** What they come from: the name of a marker set, or ``motion``. */
  by: string;
  /** Share of the samples. */
  labelled: number;
  /** Share of the samples. */
  doubtful: number;
  /** Labels to choose from: all that were given, and the others of their set. */
  names: string[];
  /** In order of time: doubtful, left open, said by hand. */
  rows: LabelRow[];
  /** How many rows are left out because there are too many. */
  more: number;
  warnings: string[];
}

/** Something that somebody should look at, and mend or leave. */
export interface FindingRow {
  kind: "gap" | "pop" | "slide" | "spike" | "swap";
  what: string;
  first: number;
  last: number;
  /** Markers, or the body. */
  names: string[];
  /** ``mended``: cleaning has put it right for the last solve, and nobody has spoken of it. */
  state: "accepted" | "mended" | "open" | "refused";
  /** The edit that mends it. */
  accept: Cut | Fill | Filter | SwapLabels | KeepFinding | SetLabel | Assign | Place | SetParent | SetRoot | SetKind | SetLimits | SetPlant | SetPose | Ease;
  /** The edit that says it is right as it is. */
  refuse: KeepFinding;
}

/** Exchanged labels, spikes, gaps, pops and slides, in order of time. */
export interface FindingTable {
  rows: FindingRow[];
  /** How many are left out because there are too many. */
  more: number;
}

/** Where the session stands; with every ``Opened`` and ``Changed``. */
export interface TakeState {
  /** Grows with every change, whoever makes it. */
  revision: number;
  edits: (Cut | Fill | Filter | SwapLabels | KeepFinding | SetLabel | Assign | Place | SetParent | SetRoot | SetKind | SetLimits | SetPlant | SetPose | Ease)[];
  /** How many redo could bring back. */
  undone: number;
  settings: Settings;
  /** Whether there is a motion. */
  solved: boolean;
  /** Whether edits were made since the motion was solved. */
  stale: boolean;
}

/** First message on every socket; ``Opened`` follows where a take is open. */
export interface Welcome {
  type: "welcome";
  /** Name of the opened folder. */
  folder: string;
  /** Takes in it that can be opened, relative paths. */
  files: string[];
  /** Skeletons in it that can be moved. */
  characters: string[];
  version: string;
  /** Endings that ``Export`` can write. */
  formats: string[];
  /** Names for ``Settings.template``. */
  marker_sets: string[];
  /** Folder that ``Export`` writes to. */
  output: string;
  /** Schemes of bone names that ``Export`` knows. */
  names: string[];
}

/** A take is open. */
export interface Opened {
  type: "opened";
  path: string;
  subject: string;
  subjects: string[];
  frames: number;
  rate: number;
  /** ``markers``, ``sensors`` or ``motion``: what the file holds. */
  kinds: string[];
  /** Rows to show: what, value. */
  facts: [string, string][];
  /** What was odd about the file, one sentence each. */
  problems: string[];
  markers: MarkerRow[];
  /** Timeline: gaps, and what a solve found. */
  spans: Span[];
  /** Where there is a motion. */
  rig: RigRow | null;
  state: TakeState;
  /** As ``summary.json``, where solved. */
  summary: Record<string, unknown> | null;
  /** Where tracks were labelled. */
  labels: LabelTable | null;
  findings: FindingTable;
}

/** An edit was made, taken back or made again; fetch again what changed. */
export interface Changed {
  type: "changed";
  state: TakeState;
  /** What was done, for the history: ``cut LTHI 120–140``. */
  saying: string;
  /** Those whose samples changed. */
  markers: MarkerRow[];
  /** Frames in which they changed. */
  first: number;
  last: number;
  /** The whole timeline anew. */
  spans: Span[];
  /** Whether the motion itself changed (poses): fetch joints and rotations of first…last. */
  moved: boolean;
  /** Where tracks were labelled. */
  labels: LabelTable | null;
  findings: FindingTable;
  /** Of the message that asked for it; empty for other pages. */
  id: string;
}

/** A stage is at work. */
export interface Progress {
  type: "progress";
  stage: string;
  saying: string;
  /** Of the whole, where it can be told. */
  fraction: number | null;
}

/** A stage is done: fetch joints, rotations, residuals, parameters anew. */
export interface StageDone {
  type: "solved";
  stage: string;
  rig: RigRow;
  summary: Record<string, unknown>;
  markers: MarkerRow[];
  spans: Span[];
  state: TakeState;
  frames: number;
  warnings: string[];
  /** Where tracks were labelled. */
  labels: LabelTable | null;
  findings: FindingTable;
}

/** A stage stopped because somebody asked; everything is as before. */
export interface Cancelled {
  type: "cancelled";
  stage: string;
}

/** One frame's pose: the answer to ``Drag`` and ``Slide``, or a live frame. */
export interface Pose {
  type: "pose";
  frame: number;
  /** In the world, one per body. */
  joints: [number, number, number][];
  /** To the world from the body. */
  turned: [number, number, number, number][];
  /** Movement angles where known, in the rig's order. */
  parameters: number[];
  /** Largest distance left to a target, metres. */
  error: number | null;
  serial: number;
  live: boolean;
  /** Live markers, where there are any. */
  points: ([number, number, number] | null)[];
}

/** A stream begins: ``Pose`` messages with ``live`` follow, of this rig. */
export interface Live {
  type: "live";
  rig: RigRow;
  rate: number;
  markers: string[];
}

export interface ExportedFile {
  name: string;
  /** To download it, without the token; empty: it lies in the folder only. */
  url: string;
  size: number;
}

/** Files were written. */
export interface Exported {
  type: "exported";
  folder: string;
  files: ExportedFile[];
}

/** The other side is there: fetch its arrays with ``of=compared``. */
export interface Compared {
  type: "compared";
  label: string;
  frames: number;
  rate: number;
  rig: RigRow;
  markers: MarkerRow[];
  summary: Record<string, unknown>;
  spans: Span[];
}

/** Where a marker is on a character. */
export interface PlacedMarker {
  marker: string;
  body: string;
  /** In the body's frame. */
  position: [number, number, number];
  by_hand: boolean;
}

/** A skeleton to be moved, in its rest pose: the answer to ``/api/character``. */
export interface Character {
  rig: RigRow;
  joints: [number, number, number][];
  turned: [number, number, number, number][];
  /** Markers that are on it so far, by hand or as guessed. */
  placed: PlacedMarker[];
}

/** Something was refused or went wrong; nothing changed. */
export interface Problem {
  type: "problem";
  /** One sentence for people. */
  saying: string;
  /** Type of the message that was refused, or the stage that failed. */
  about: string;
  /** Of the ``Drag`` or ``Slide`` that was refused. */
  serial: number;
  /** Of the change that was refused. */
  id: string;
}

export type ToPage = Welcome | Opened | Changed | Progress | StageDone | Cancelled | Pose | Live | Exported | Compared | Problem;
