// Solves again by itself where only the rig was edited: that is quick, and the eye waits for it.

import { type Edit } from "../messages";
import { type Session } from "./session";

const PAUSE = 300;
/** Frames beyond which the user says when. */
const LONGEST = 20_000;

const ofRecording = (edit: Edit): boolean => ["cut", "fill", "filter", "swap"].includes(edit.edit);

/** What the rig is made from; gluing onto another character is no part of it. */
const ofRig = (edit: Edit): boolean =>
  ["assign", "parent", "root", "kind", "limits"].includes(edit.edit) ||
  (edit.edit === "place" && edit.character === "");

export class Again {
  private solved = { recording: "", rig: "" };
  private waiting = 0;
  private busy = false;

  constructor(private readonly session: Session) {
    session.on("opened", () => this.remember());
    session.on("solved", () => {
      this.remember();
      this.consider();
    });
    session.on("changed", () => this.consider());
    session.on("progress", (progress) => (this.busy = progress !== null));
  }

  private remember(): void {
    if (!this.session.state.stale) this.solved = this.signatures();
  }

  private consider(): void {
    const { state, side } = this.session;
    clearTimeout(this.waiting);
    if (!state.solved || !state.stale || this.busy || (side?.frames ?? 0) > LONGEST) return;
    const { recording, rig } = this.signatures();
    if (recording !== this.solved.recording || rig === this.solved.rig) return;
    this.waiting = window.setTimeout(() => this.session.run("solve"), PAUSE);
  }

  private signatures(): { recording: string; rig: string } {
    const { edits } = this.session.state;
    return {
      recording: JSON.stringify(edits.filter(ofRecording)),
      rig: JSON.stringify(edits.filter(ofRig)),
    };
  }
}
