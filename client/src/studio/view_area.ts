// The place of the 3D views: the take, and beside it another take or a character to glue.

import { toggle } from "../dom";
import { make } from "./elements";
import { Glue } from "./glue";
import { limitHandles } from "./limit_handles";
import { type PoseSettings, poseHandles } from "./pose_handles";
import { type Session } from "./session";
import { View, type ViewActions } from "./view";

const READABLE =
  "C3D, TRC, CSV, TSV, BVH, ASF and AMC, GLB; or press Open for the files of the folder";

export class ViewArea {
  readonly element = make("div", { class: "views" });
  readonly view: View;
  /** Made when they are asked for: a second view costs time. */
  private other: View | null = null;
  private glue: Glue | null = null;
  private readonly mode = make("p", { class: "mode", hidden: true, role: "status" });
  private readonly nothing = make(
    "div",
    { class: "nothing" },
    make("p", {}, "Drop a recording here"),
    make("p", { class: "hint" }, READABLE),
  );
  private handled = { body: -1, pose: { spread: 0, limits: true, limb: true, pins: [] } as PoseSettings };
  private readonly figure = toggle("figure", (on) => this.both((view) => view.setDressed(on)), false);
  private limitsShown = false;
  private marker = -1;

  constructor(
    private readonly session: Session,
    private readonly actions: ViewActions,
  ) {
    this.view = new View(actions);
    this.view.setFollow(true);
    this.element.append(this.view.element, this.layers(), this.mode, this.nothing);
    session.on("opened", () => (this.nothing.hidden = true));
    session.on("pose", (pose) =>
      pose.live ? this.view.arrived() : this.view.show(this.view.frame),
    );
    session.on("live", (live) => {
      this.nothing.hidden = true;
      this.view.setLive(live, () => session.livePose);
    });
    session.on("compared", () => this.showCompared());
  }

  show(frame: number): void {
    this.view.show(frame);
    if (this.session.compared) this.other?.show(frame);
  }

  arrived(): void {
    this.view.arrived();
    if (this.session.compared) this.other?.arrived();
  }

  /** Shows the take from now on. */
  takeSide(keepCamera: boolean): void {
    const { session, view } = this;
    view.setSide(session.side, () => session.posed, keepCamera);
    view.stage.setVisible("limits", this.limitsShown);
  }

  chooseMarkers(markers: number[]): void {
    this.marker = markers.at(-1) ?? -1;
    this.view.chooseMarkers(markers);
    if (this.glue?.element.isConnected) this.glue.choose(this.marker);
  }

  /** Handles for pulling a body, and for its limits where these are shown. */
  setHandles(body: number, pose: PoseSettings): void {
    this.handled = { body, pose };
    const { view, session } = this;
    const preview = (range: Parameters<View["previewLimits"]>[1]) =>
      view.previewLimits(body, range);
    view.setHandles([
      ...poseHandles(view, session, body, pose),
      ...(this.limitsShown ? limitHandles(view, session, body, preview) : []),
    ]);
  }

  /** A line over the view that says what clicks do now, or none. */
  setMode(saying: string): void {
    this.mode.hidden = saying === "";
    this.mode.textContent = saying;
  }

  /** Opens a character beside the take; raises what is wrong with it. */
  async openCharacter(path: string): Promise<void> {
    this.glue ??= new Glue(
      this.session,
      (chosen) => this.actions.chooseMarker(chosen, false),
      () => this.closeCharacter(),
    );
    this.element.classList.add("two");
    this.view.element.after(this.glue.element);
    try {
      await this.glue.open(path);
      this.glue.choose(this.marker);
    } catch (error) {
      this.closeCharacter();
      throw error;
    }
  }

  private closeCharacter(): void {
    this.glue?.element.remove();
    this.element.classList.toggle("two", this.session.compared !== null);
  }

  private showCompared(): void {
    const { session, view } = this;
    this.element.classList.toggle("two", session.compared !== null);
    if (session.compared === null) {
      this.other?.element.remove();
      return;
    }
    this.other ??= new View({ chooseMarker() {}, chooseBody() {}, chooseNothing() {} });
    view.element.after(this.other.element);
    this.other.setSide(session.compared, () => null);
    this.other.setTitle(session.comparedLabel);
    this.other.lookAlong(view);
    this.other.show(view.frame);
  }

  private both(show: (view: View) => void): void {
    show(this.view);
    if (this.other) show(this.other);
  }

  /** What is shown, over the view's corner. */
  private layers(): HTMLElement {
    const both = (show: (view: View) => void) => this.both(show);
    const layer = (name: string) =>
      toggle(name, (on) => both((view) => view.stage.setVisible(name, on)));
    return make(
      "div",
      { class: "layers", role: "group", "aria-label": "Show" },
      layer("markers"),
      layer("skeleton"),
      toggle("model", (on) => both((view) => view.setModelled(on)), false),
      this.figure,
      toggle("limits", (on) => this.showLimits(on), false),
      toggle("follow", (on) => this.view.setFollow(on)),
    );
  }

  /** Shows the skin: a character that is moved is meant to be seen in it. */
  showFigure(): void {
    const box = this.figure.querySelector("input");
    if (box && !box.checked) box.click();
  }

  private showLimits(on: boolean): void {
    this.limitsShown = on;
    this.view.stage.setVisible("limits", on);
    this.setHandles(this.handled.body, this.handled.pose);
  }
}
