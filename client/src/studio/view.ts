// One performance in three dimensions: what is drawn, what is clicked, what is dragged.

import * as THREE from "three";
import { type SkinRow } from "../report_data";
import { FrameLayer } from "../scene/axes";
import { FigureLayer } from "../scene/figure";
import { FloorLayer } from "../scene/floor";
import { LimitLayer } from "../scene/limits";
import { MarkerLayer } from "../scene/markers";
import { SkeletonLayer } from "../scene/skeleton";
import { type Poses } from "../scene/sources";
import { Stage } from "../scene/stage";
import { ModelCloud, VirtualMarkerLayer } from "../scene/virtual_markers";
import { type Live, type Pose } from "../messages";
import { follow, make } from "./elements";
import { type Handle, HandleLayer } from "./handles";
import { type Range, withRange } from "./limit_handles";
import { address } from "./link";
import { PinLayer } from "./pins";
import { type Side } from "./side";
import { BlockCloud, BlockPoses, LiveCloud, OnePose } from "./sources";
import { TrailLayer } from "./trail";

const CLICK = 4;
const ROOM = 1.15;
/** Metres: what extends less shows little of a take. */
const SCANTY = 0.1;
const GLANCES = 60;
const MOST_TAGS = 8;
const SKIN_OPACITY = 0.55;

export interface ViewActions {
  chooseMarker(marker: number, adding: boolean): void;
  chooseBody(body: number): void;
  chooseNothing(): void;
}

export class View {
  readonly element = make("div", { class: "view" });
  readonly stage: Stage;
  poses: Poses | null = null;
  frame = 0;
  private readonly title = make("p", { class: "view-title", hidden: true });
  private readonly label = make("div", { class: "hover", hidden: true });
  private readonly handles: HandleLayer;
  private markers: MarkerLayer | null = null;
  private trail: TrailLayer | null = null;
  private side: Side | null = null;
  private framed = false;
  private paired = false;
  private modelled = false;
  private dressed = false;
  private readonly tags = make("div", { class: "tags", "aria-hidden": true });
  private tagged: number[] = [];

  constructor(private readonly actions: ViewActions) {
    this.stage = new Stage(this.element);
    this.handles = new HandleLayer(this.stage.camera);
    this.stage.add("handles", this.handles);
    this.stage.controls.addEventListener("change", () => {
      this.handles.show(this.frame);
      this.placeTags();
    });
    this.element.append(this.tags, this.title, this.label);
    new ResizeObserver(() => this.placeTags()).observe(this.element);
    this.element.addEventListener("pointerdown", (event) => this.down(event), { capture: true });
    this.element.addEventListener("pointermove", (event) => this.hover(event));
    this.element.addEventListener("pointerleave", () => (this.label.hidden = true));
  }

  /** Shows a side from now on; the camera goes there the first time that there is something. */
  setSide(side: Side | null, posed: () => Pose | null, keepCamera = false): void {
    this.side = side;
    this.framed &&= keepCamera;
    for (const name of ["markers", "trail", "skeleton", "limits", "figure", "pins", "virtual", "sensors"])
      this.stage.remove(name);
    this.markers = this.trail = this.poses = null;
    if (side?.points) {
      const cloud = new BlockCloud(side.points);
      this.markers = new MarkerLayer(cloud, "marker", (frame, i) => side.isFilled(frame, i));
      this.trail = new TrailLayer(cloud, side.frames, side.rate);
      this.stage.add("markers", this.markers);
      this.stage.add("trail", this.trail);
    }
    if (side?.points && side.sensors) {
      const worn = new BlockPoses(side.points, side.sensors, () => null);
      const axes = new FrameLayer(side.markers.map(() => ({ frame: null })), worn);
      this.stage.add("sensors", axes);
    }
    if (side?.rig && side.joints && side.turned) {
      const rows = side.rig.bodies;
      this.poses = new BlockPoses(side.joints, side.turned, posed);
      this.stage.add("skeleton", new SkeletonLayer(rows, this.poses));
      this.stage.add("limits", new LimitLayer(rows, this.poses), false);
      if (side.points && side.markers.some(({ place }) => place !== null)) {
        const model = new ModelCloud(side.markers, this.poses);
        const recorded = new BlockCloud(side.points);
        this.stage.add("virtual", new VirtualMarkerLayer(model, recorded), this.modelled);
      }
      void this.dress(side, this.poses);
    }
  }

  /** Shows a performer who is live. */
  setLive(live: Live, pose: () => Pose | null): void {
    this.setSide(null, () => null);
    const rows = live.rig.bodies;
    this.poses = new OnePose(rows.length, pose);
    this.markers = new MarkerLayer(new LiveCloud(live.markers.length, pose));
    this.stage.add("markers", this.markers);
    this.stage.add("skeleton", new SkeletonLayer(rows, this.poses));
  }

  /** Says what is seen, where there are two views. */
  setTitle(title: string): void {
    this.title.textContent = title;
    this.title.hidden = title === "";
  }

  /** Shows markers as the model has them beside the recorded ones, or not. */
  setModelled(on: boolean): void {
    this.modelled = on;
    this.stage.setVisible("virtual", on);
  }

  /** Shows the figure's skin, or not. */
  setDressed(on: boolean): void {
    this.dressed = on;
    this.stage.setVisible("figure", on);
  }

  private async dress(side: Side, poses: Poses): Promise<void> {
    const answer = await fetch(address("/api/skin", { of: side.origin }));
    const skin = answer.ok ? ((await answer.json()) as SkinRow | null) : null;
    if (skin === null || this.poses !== poses) return;
    const layer = await FigureLayer.from(skin, poses);
    layer.setOpacity(SKIN_OPACITY);
    if (this.poses === poses) this.stage.add("figure", layer, this.dressed);
  }

  show(frame: number): void {
    const last = (this.side?.frames ?? 1) - 1;
    this.frame = Math.min(frame, last);
    this.stage.show(this.frame);
    this.placeTags();
  }

  /** Numbers have come: draw them, and look at them if nothing was seen before. */
  arrived(): void {
    this.show(this.frame);
    if (this.framed || this.bounds(this.frame).isEmpty()) return;
    this.framed = true;
    this.stage.add("floor", new FloorLayer({ height: 0, slope: [0, 0] }, this.wholeWay()));
    this.stage.show(this.fullest());
    this.lookAtAll();
    this.show(this.frame);
  }

  /** This frame, or where hardly anything is seen in it the one that shows most. */
  private fullest(): number {
    const size = (frame: number) => this.bounds(frame).getSize(new THREE.Vector3()).length();
    if (size(this.frame) > SCANTY) return this.frame;
    const frames = this.side?.frames ?? 0;
    const step = Math.max(1, Math.floor(frames / GLANCES));
    let best = this.frame;
    for (let frame = 0; frame < frames; frame += step) if (size(frame) > size(best)) best = frame;
    return best;
  }

  lookAtAll(): void {
    this.stage.lookAtAll();
    const { camera, controls } = this.stage;
    // the switches lie over the top of the view
    camera.position.sub(controls.target).multiplyScalar(ROOM).add(controls.target);
    controls.update();
    this.handles.show(this.frame);
    this.placeTags();
  }

  /** Lets the camera go along with the figure, or not. */
  setFollow(on: boolean): void {
    const centre = (frame: number, out: THREE.Vector3) => {
      const box = this.bounds(frame);
      if (!this.poses?.place(frame, 0, out)) box.getCenter(out);
      // along the floor only: the picture should not bob with every step
      return !box.isEmpty() && Number.isFinite(out.setZ(0).x);
    };
    this.stage.follow = on ? centre : null;
    this.show(this.frame);
  }

  /** Looks as another view does, now and whenever that one or this one is turned. */
  lookAlong(other: View): void {
    this.framed = true;
    this.stage.add("floor", new FloorLayer({ height: 0, slope: [0, 0] }, other.wholeWay()));
    const copy = (from: View, to: View) => {
      if (from.stage.camera.position.equals(to.stage.camera.position)) return;
      to.stage.camera.position.copy(from.stage.camera.position);
      to.stage.controls.target.copy(from.stage.controls.target);
      to.stage.controls.update();
      to.stage.render();
    };
    copy(other, this);
    if (this.paired) return;
    this.paired = true;
    other.stage.controls.addEventListener("change", () => copy(other, this));
    this.stage.controls.addEventListener("change", () => copy(this, other));
  }

  /** Draws a joint's range as it would be. */
  previewLimits(index: number, range: Range): void {
    const bodies = this.side?.rig?.bodies ?? [];
    const changed = bodies.map((body, i) => (i === index ? withRange(body, range) : body));
    if (this.poses) this.stage.add("limits", new LimitLayer(changed, this.poses));
  }

  chooseMarkers(markers: number[]): void {
    this.markers?.choose(markers);
    this.trail?.choose(markers.at(-1) ?? -1);
    this.tagged = markers.slice(-MOST_TAGS);
    this.tags.replaceChildren(
      ...this.tagged.map((marker) => make("span", {}, this.nameOf("markers", marker))),
    );
    this.show(this.frame);
  }

  /** Names beside the chosen markers. */
  private placeTags(): void {
    const area = this.element.getBoundingClientRect();
    const place = new THREE.Vector3();
    this.tagged.forEach((marker, i) => {
      const tag = this.tags.children[i] as HTMLElement;
      place.fromArray(this.side?.points?.at(this.frame) ?? [], 3 * marker);
      tag.hidden = !Number.isFinite(place.x);
      const { x, y } = this.onScreen(place);
      tag.style.transform = `translate(${x - area.left + 10}px, ${y - area.top - 22}px)`;
    });
  }

  /** Marks bodies that are pinned. */
  setPins(names: string[]): void {
    const bodies = this.side?.rig?.bodies ?? [];
    const pinned = names.map((name) => bodies.findIndex((body) => body.name === name));
    if (this.poses && pinned.length > 0) this.stage.add("pins", new PinLayer(this.poses, pinned));
    else this.stage.remove("pins");
    this.show(this.frame);
  }

  setHandles(handles: Handle[]): void {
    this.handles.set(handles);
    this.show(this.frame);
  }

  ray(event: { clientX: number; clientY: number }): THREE.Ray {
    const area = this.element.getBoundingClientRect();
    const at = new THREE.Vector2(
      (2 * (event.clientX - area.left)) / area.width - 1,
      1 - (2 * (event.clientY - area.top)) / area.height,
    );
    const caster = new THREE.Raycaster();
    caster.setFromCamera(at, this.stage.camera);
    return caster.ray;
  }

  /** Where a place in the world is on the page. */
  onScreen(place: THREE.Vector3): { x: number; y: number } {
    return this.stage.onScreen(place);
  }

  /** What is seen at a frame: the markers, else the joints. */
  private bounds(frame: number): THREE.Box3 {
    const box = new THREE.Box3();
    this.markers?.extend(frame, box);
    if (!box.isEmpty()) return box;
    const place = new THREE.Vector3();
    for (let body = 0; body < (this.poses?.count ?? 0); body++) {
      if (this.poses?.place(frame, body, place)) box.expandByPoint(place);
    }
    return box;
  }

  /** A box about the whole take, from some of its frames. */
  private wholeWay(): THREE.Box3 {
    const frames = this.side?.frames ?? 0;
    const box = new THREE.Box3();
    const step = Math.max(1, Math.floor(frames / GLANCES));
    for (let frame = 0; frame < frames; frame += step) box.union(this.bounds(frame));
    return box;
  }

  private down(event: PointerEvent): void {
    if (event.button !== 0) return;
    const grabbed = this.handles.under(this.ray(event));
    if (grabbed) {
      event.stopPropagation(); // the camera stays where it is
      return this.drag(event, grabbed.handle, grabbed.at);
    }
    const start = [event.clientX, event.clientY];
    const up = (end: PointerEvent) => {
      const moved = Math.hypot(end.clientX - start[0], end.clientY - start[1]) > CLICK;
      if (!moved) this.click(end);
    };
    this.element.addEventListener("pointerup", up, { once: true });
  }

  private drag(event: PointerEvent, handle: Handle, start: THREE.Vector3): void {
    const along = this.stage.follow;
    this.stage.follow = null; // a camera that went with a pulled body would pull it further
    follow(
      event,
      (move) => {
        handle.drag(this.ray(move), start);
        this.show(this.frame);
      },
      (end) => {
        this.stage.follow = along;
        return end === null ? handle.cancel() : handle.drop();
      },
    );
  }

  private click(event: PointerEvent): void {
    const hit = this.stage.pick(event, ["markers", "skeleton"]);
    if (hit === null) this.actions.chooseNothing();
    else if (hit.layer === "markers") {
      this.actions.chooseMarker(hit.index, event.ctrlKey || event.metaKey || event.shiftKey);
    } else this.actions.chooseBody(hit.index);
  }

  /** Says what is under the pointer. */
  private hover(event: PointerEvent): void {
    const grabbed = this.handles.under(this.ray(event));
    const hit = grabbed ? null : this.stage.pick(event, ["markers", "skeleton"]);
    const text = grabbed?.handle.label ?? (hit ? this.nameOf(hit.layer, hit.index) : "");
    this.element.style.cursor = grabbed ? "grab" : hit ? "pointer" : "";
    this.label.hidden = text === "" || event.buttons > 0;
    this.label.textContent = text;
    const area = this.element.getBoundingClientRect();
    const [x, y] = [event.clientX - area.left + 14, event.clientY - area.top + 12];
    this.label.style.transform = `translate(${x}px, ${y}px)`;
  }

  private nameOf(layer: string, index: number): string {
    if (layer === "markers") return this.side?.markers[index]?.name ?? "";
    return this.side?.rig?.bodies[index]?.name.replaceAll("_", " ") ?? "";
  }
}
