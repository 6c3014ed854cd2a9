// Edits in words, for the list of what was done.

import { type Edit, type SetPose } from "../messages";

const plain = (name: string): string => name.replaceAll("_", " ");

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
    case "pose":
      return `pose frame ${edit.frame}: ${handlesOf(edit)}`;
  }
}

function handlesOf({ targets, parameters }: SetPose): string {
  return [...Object.keys(targets), ...Object.keys(parameters)].map(plain).join(", ");
}
