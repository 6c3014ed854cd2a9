// Edits and events in words.

import { type Edit, type FindingRow, type SetPose } from "../messages";
import { type Span } from "../report_data";

const plain = (name: string): string => name.replaceAll("_", " ");

/** What findings are called, one and several. */
export const FINDINGS: Record<FindingRow["kind"], [string, string]> = {
  swap: ["swapped labels", "swapped labels"],
  spike: ["spike", "spikes"],
  gap: ["gap", "gaps"],
  pop: ["pop", "pops"],
  slide: ["slide", "slides"],
};
/** What kinds of events are called, one and several. */
const EVENTS: Record<string, [string, string]> = {
  ...FINDINGS,
  slip: ["slip", "slips"],
  held: ["held pose", "held poses"],
  improbable: ["improbable pose", "improbable poses"],
  attachment: ["held object", "held objects"],
  mark: ["mark", "marks"],
};
/** Events of bodies, whose names are made of words; those of markers stay as they are. */
const OF_BODIES = new Set(["slip", "improbable", "attachment", "pop", "slide"]);

export function sayFinding({ kind, what }: FindingRow): string {
  return OF_BODIES.has(kind) ? plain(what) : what;
}

export function sayEvent({ kind, what, first, last }: Span): string {
  const name = EVENTS[kind]?.[0] ?? kind;
  const about = OF_BODIES.has(kind) ? plain(what) : what;
  return `${name}: ${about}, ${first === last ? `frame ${first}` : `frames ${first}–${last}`}`;
}

/** How many events there are of each kind. */
export function sayEvents(spans: Span[]): string {
  const counts = new Map<string, number>();
  for (const { kind } of spans) counts.set(kind, (counts.get(kind) ?? 0) + 1);
  const said = [...counts].map(([kind, n]) => `${n} ${EVENTS[kind]?.[n === 1 ? 0 : 1] ?? kind}`);
  return said.join(", ") || "no events";
}

export function sayEdit(edit: Edit): string {
  switch (edit.edit) {
    case "cut":
      return `cut ${edit.markers.join(", ")} ${edit.first}–${edit.last}`;
    case "fill":
      return `fill ${edit.markers.join(", ")} ${edit.first}–${edit.last} (${edit.method})`;
    case "filter":
      return `filter ${edit.markers.join(", ")} ${edit.first}–${edit.last} at ${edit.cutoff} Hz`;
    case "swap":
      return `swap ${edit.a} and ${edit.b} ${edit.first}–${edit.last}`;
    case "label":
      return `${edit.track} ${edit.first}–${edit.last} ${edit.label ? `is ${edit.label}` : "has no label"}`;
    case "assign":
      return edit.body ? `${edit.marker} belongs to ${plain(edit.body)}` : `${edit.marker} is free`;
    case "place":
      return `glue ${edit.marker} to ${plain(edit.body)}`;
    case "parent":
      return `hang ${plain(edit.body)} on ${plain(edit.parent)}`;
    case "root":
      return `root is ${plain(edit.body)}`;
    case "kind":
      return `${plain(edit.body)} is a ${edit.kind} joint`;
    case "limits":
      return `limits of ${plain(edit.body)}`;
    case "plant":
      return `${plain(edit.body)} ${edit.on ? "stands" : "is lifted"} ${edit.first}–${edit.last}`;
    case "ease":
      return `${plain(edit.body)} turns evenly ${edit.first}–${edit.last}`;
    case "keep":
      return `no ${edit.kind}: ${edit.names.map(plain).join(", ")} ${edit.first}–${edit.last}`;
    case "pose":
      return `pose frame ${edit.frame}: ${handlesOf(edit)}`;
  }
}

function handlesOf({ targets, parameters }: SetPose): string {
  return [...Object.keys(targets), ...Object.keys(parameters)].map(plain).join(", ");
}
