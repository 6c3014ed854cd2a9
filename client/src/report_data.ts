// Made from osteon.report.data by write_types.py; change that and run it again.

/** An array as integers: value = origin + step · integer. The data are differences along the first axis, d ≥ 0 as 2·d and d < 0 as −2·d − 1, all lowest bytes first, then all second bytes and so on, deflated and written in base 64. */
export interface Packed {
  data: string;
  shape: number[];
  origin: number;
  step: number;
  /** The integer that stands for NaN: the least of 16 bits where all fit in 16, else of 32. */
  missing: number;
}

/** The range of a hinge about its axis; angle 0 at ``rest``. Radians. */
export interface HingeRow {
  /** In the parent's frame. */
  axis: [number, number, number];
  /** To the parent's frame from the body's. */
  rest: [number, number, number, number];
  low: number;
  high: number;
}

/** Where a bone may point: swings about ``centre``. Radians. */
export interface ConeRow {
  /** To the parent's frame from the body's, in the middle of the cone. */
  centre: [number, number, number, number];
  /** Along the bone, in the body's frame. */
  axis: [number, number, number];
  /** With ``axis`` a right-handed frame; swings are rotation vectors along these two. */
  across: [[number, number, number], [number, number, number]];
  /** Half axes of the ellipse of swings. */
  radii: [number, number];
  /** Swings at the corners of the limit. */
  rim: [number, number][];
  twist: [number, number];
  /** Swing along both directions and twist of poses that were seen, few that stand for all. */
  seen: [number, number, number][];
}

/** A limb's own frame, seen from its body's joint. */
export interface FrameRow {
  origin: [number, number, number];
  rotation: [number, number, number, number];
}

/** How a joint glides as it turns. */
export interface GlideRow {
  /** Radians, and ``high``: the turn that was shown. */
  low: number;
  high: number;
  /** From where it is farthest one way to farthest the other. */
  travel_mm: number;
}

/** One body of the rig. A body's node sits at its joint and is turned like the body. */
export interface BodyRow {
  name: string;
  /** −1 for a root. */
  parent: number;
  /** Of the joint. */
  kind: string;
  /** Its joint from the parent's joint, in the parent's frame, metres. */
  offset: [number, number, number];
  /** Its joint in the body's own frame, metres. */
  in_body: [number, number, number];
  /** End of a bone that has no child, from the joint, in the body's frame. */
  tip: [number, number, number] | null;
  length_mm: number | null;
  measured_mm: number | null;
  /** Standard deviation of the joint in its worst direction. */
  sigma_mm: number | null;
  /** How far the two bodies' ideas of the joint lie apart. */
  rms_mm: number | null;
  /** The same as the calibration found it, noise counted out: gliding, and skin that a body's markers share. */
  gap_mm: number | null;
  /** The part of the gap that skin does not explain; 0 where it may. */
  glide_mm: number | null;
  glide_path: GlideRow | null;
  /** How far each of the body's markers slides on the bone for itself. */
  skin_mm: number | null;
  /** Half axes of one standard deviation about the joint, in the parent's frame, metres. */
  ellipsoid: [[number, number, number], [number, number, number], [number, number, number]] | null;
  /** How clearly the joint beats its best rival: 0 a tie, 0.7 twice the unexplained square. */
  margin: number | null;
  /** The two bodies that would be joined instead. */
  rival: [string, string] | null;
  ambiguous: boolean;
  cone: ConeRow | null;
  hinge: HingeRow | null;
  frame: FrameRow | null;
  /** What turning about each movement axis is called. */
  movement: string[];
}

export interface MarkerRow {
  name: string;
  /** −1 where no body carries it. */
  body: number;
  rms_mm: number | null;
  /** Share of the frames in which it was not seen. */
  missing: number;
  /** Share of the frames in which it was filled in, and not measured. */
  filled: number;
  /** Where the model has it, from its body's joint, in the body's frame, metres. */
  place: [number, number, number] | null;
}

/** How the bodies are turned, and where they are. */
export interface Poses {
  /** (n_shown, n_bodies, 3) rotation vectors to the world from each body, radians. */
  turns: Packed;
  /** (n_shown, 3) the root's place in the world. */
  root: Packed;
  /** (n_shown, n_bodies, 3) places of the joints, where bones do not keep their length. */
  joints: Packed | null;
}

/** A skin that the bodies carry, in its rest pose. */
export interface SkinRow {
  /** (n_vertices, 3) metres. */
  vertices: Packed;
  /** (n_triangles, 3) */
  triangles: Packed;
  /** (n_vertices, 4) which bodies move a vertex. */
  bodies: Packed;
  /** (n_vertices, 4) how much, summing to one. */
  weights: Packed;
  /** Where each body's joint is in the rest pose. */
  joints: [number, number, number][];
  /** How each body is turned in it. */
  turns: [number, number, number, number][];
}

/** Distances over time of several things of one kind, millimetres. */
export interface Residuals {
  /** What the distance is between, such as ``markers and model``. */
  what: string;
  names: string[];
  /** (n_shown, n_names) */
  values: Packed;
  /** Root mean square of each over all frames. */
  rms_mm: (number | null)[];
}

/** Something that happened from one frame to another. */
export interface Span {
  /** ``gap``, ``swap``, ``slip``, ``contact``, ``step``, ``held``, ``improbable``, ``attachment``, ``mark``. */
  kind: string;
  what: string;
  first: number;
  last: number;
  /** The body it happened to, where it is one. */
  body: number;
}

/** The plane that feet stand on. */
export interface Ground {
  height: number;
  /** How much it rises per metre along x and y. */
  slope: [number, number];
}

/** A curve over the gait cycle: 101 points, degrees. */
export interface CurveBand {
  mean: number[];
  /** Standard deviation at each point, where there are several. */
  deviation: number[] | null;
  /** Cycles that it is the mean of; of controls, people. */
  count: number;
}

/** An angle over the gait cycle. */
export interface CurveRow {
  /** As people say it. */
  title: string;
  joint: string;
  /** Column: 0 sagittal, 1 frontal, 2 transverse plane. */
  place: number;
  /** ``left``, ``right``, ``usual`` of controls; ``left_other``, ``right_other`` of the session it is held against. */
  bands: Record<string, CurveBand>;
  /** By which constant it may be off, one standard deviation, degrees. */
  deviation: number;
}

/** A number of gait: mean and standard deviation by column, as in ``CurveRow.bands``. */
export interface NumberRow {
  title: string;
  unit: string;
  digits: number;
  values: Record<string, [number, number | null]>;
}

/** A take and how good it is. */
export interface TrialRow {
  name: string;
  seconds: number;
  /** Cycles, and ``right``. */
  left: number;
  right: number;
  /** Markers from the rig. */
  rms_mm: number;
  /** Share of marker samples that were not seen. */
  missing: number;
  /** Frames without evidence. */
  held: number;
  /** How ours lie against those that were marked in the file, in words. */
  events: string;
}

/** What is told over gait cycles. */
export interface GaitData {
  convention: string;
  /** Along which direction, in words. */
  walking: string;
  curves: CurveRow[];
  numbers: NumberRow[];
  trials: TrialRow[];
  /** Foot off, per cent of the cycle, by column as in ``CurveRow.bands``. */
  offs: Record<string, number>;
  /** What the session is called that this one is held against. */
  against: string;
  /** People that the usual band is of. */
  controls: number;
  /** Segment, and how its frame was made and how uncertain it is. */
  doubts: [string, string][];
}

export interface ReportData {
  title: string;
  subject: string;
  rate: number;
  /** Of the recording; the page shows every ``stride``-th. */
  frames: number;
  stride: number;
  bodies: BodyRow[];
  markers: MarkerRow[];
  poses: Poses | null;
  /** (n_shown, n_markers, 3) */
  points: Packed | null;
  /** What the points are: ``markers``, ``joints`` or ``sensors``. */
  cloud: string;
  skin: SkinRow | null;
  ground: Ground;
  residuals: Residuals[];
  spans: Span[];
  gait: GaitData | null;
  facts: [string, string][];
  advice: string[];
  history: string[];
  warnings: string[];
}
