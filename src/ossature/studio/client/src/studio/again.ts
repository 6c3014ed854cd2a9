// Solves again by itself where only the rig was edited: that is quick, and the eye waits for it.

import { type Edit } from "../messages";
import { type Session } from "./session";

const OF_RECORDING = new Set(["cut", "fill", "filter", "swap"]);
const PAUSE = 300;
/** Frames beyond which the user says when. */
const LONGEST = 20_000;

export class Again {
  private recordingEdits = "";
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
    if (!this.session.state.stale) this.recordingEdits = this.signature();
  }

  private consider(): void {
    const { state, side } = this.session;
    clearTimeout(this.waiting);
    if (!state.solved || !state.stale || this.busy || (side?.frames ?? 0) > LONGEST) return;
    if (this.signature() !== this.recordingEdits) return;
    this.waiting = window.setTimeout(() => this.session.run("solve"), PAUSE);
  }

  /** The edits that need a whole new solve. */
  private signature(): string {
    const { edits } = this.session.state;
    return JSON.stringify(edits.filter((edit: Edit) => OF_RECORDING.has(edit.edit)));
  }
}
