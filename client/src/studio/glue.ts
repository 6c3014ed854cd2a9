// Gluing: markers put by hand onto the surface of a character, which the take then moves.

import * as THREE from "three";
import { type Character } from "../messages";
import { type SkinRow } from "../report_data";
import { FigureLayer } from "../scene/figure";
import { MarkerLayer } from "../scene/markers";
import { SkeletonLayer } from "../scene/skeleton";
import { type Cloud } from "../scene/sources";
import { Stage } from "../scene/stage";
import { FloorLayer } from "../scene/floor";
import { button } from "../dom";
import { follow, make } from "./elements";
import { address } from "./link";
import { type Session } from "./session";
import { OnePose } from "./sources";

type Triple = [number, number, number];

class Glued implements Cloud {
  readonly places: (THREE.Vector3 | null)[];

  constructor(readonly count: number) {
    this.places = new Array<THREE.Vector3 | null>(count).fill(null);
  }

  read(_frame: number, index: number, out: THREE.Vector3): boolean {
    const place = this.places[index];
    if (place) out.copy(place);
    return place !== null;
  }
}

export class Glue {
  readonly element = make("div", { class: "view", role: "group", "aria-label": "Character" });
  private readonly stage = new Stage(this.element);
  private readonly note = make("p", { class: "mode", role: "status" });
  private path = "";
  private character: Character | null = null;
  private readonly poses = new OnePose(0, () => this.character);
  private cloud = new Glued(0);
  private markers = new MarkerLayer(this.cloud);
  private skin: FigureLayer | null = null;
  private chosen = -1;

  constructor(
    private readonly session: Session,
    private readonly onChoose: (marker: number) => void,
    onClose: () => void,
  ) {
    const move = button("Move it", () => this.move(), "Let the take move this character");
    move.classList.add("primary");
    const bar = make("div", { class: "layers" }, move, button("Close", onClose));
    this.element.append(bar, this.note);
    this.element.addEventListener("pointerdown", (event) => this.down(event), { capture: true });
    session.on("changed", () => void this.refresh());
  }

  async open(path: string): Promise<void> {
    this.path = path;
    await this.fetch();
    const { character } = this;
    if (character === null) return;
    const rows = character.rig.bodies;
    const skeleton = new SkeletonLayer(rows, this.poses);
    this.stage.add("skeleton", skeleton);
    const answer = await fetch(address("/api/skin", { of: "character", path }));
    const skin = answer.ok ? ((await answer.json()) as SkinRow | null) : null;
    this.skin = skin && (await FigureLayer.from(skin, this.poses));
    if (this.skin) {
      this.skin.setOpacity(0.85);
      this.stage.add("figure", this.skin);
    }
    const box = new THREE.Box3();
    skeleton.extend(0, box);
    this.stage.add("floor", new FloorLayer({ height: box.min.z, slope: [0, 0] }, box));
    this.showPlaced();
    this.stage.lookAtAll();
  }

  choose(marker: number): void {
    this.chosen = marker;
    this.markers.choose(marker < 0 ? [] : [marker]);
    this.stage.show(0);
    const name = this.session.side?.markers[marker]?.name;
    const there = this.cloud.places[marker];
    this.note.textContent = name
      ? `${name}: ${there ? "drag it to its place" : "click its place on the character"}`
      : "Choose a marker on the left, then click its place on the character.";
  }

  /** Edits name the character by its file alone. */
  private get file(): string {
    return this.path.slice(this.path.lastIndexOf("/") + 1);
  }

  /** Where a place in the world is on the page. */
  onScreen(place: THREE.Vector3): { x: number; y: number } {
    return this.stage.onScreen(place);
  }

  private async fetch(): Promise<void> {
    const answer = await fetch(address("/api/character", { path: this.path }));
    if (!answer.ok) throw new Error(await answer.text());
    this.character = (await answer.json()) as Character;
  }

  private async refresh(): Promise<void> {
    if (!this.element.isConnected) return;
    await this.fetch();
    this.showPlaced();
  }

  private showPlaced(): void {
    const names = this.session.side?.markers.map((marker) => marker.name) ?? [];
    this.cloud = new Glued(names.length);
    for (const { marker, body, position } of this.character?.placed ?? []) {
      const index = names.indexOf(marker);
      if (index >= 0) this.cloud.places[index] = this.toWorld(body, position);
    }
    this.markers = new MarkerLayer(this.cloud);
    this.stage.add("markers", this.markers);
    this.choose(this.chosen);
  }

  private toWorld(name: string, position: Triple): THREE.Vector3 | null {
    const index = this.character?.rig.bodies.findIndex((body) => body.name === name) ?? -1;
    if (index < 0 || !this.character) return null;
    const inBody = new THREE.Vector3(...this.character.rig.bodies[index].in_body);
    const turn = new THREE.Quaternion();
    const joint = new THREE.Vector3();
    this.poses.turn(0, index, turn);
    this.poses.place(0, index, joint);
    return new THREE.Vector3(...position).sub(inBody).applyQuaternion(turn).add(joint);
  }

  private down(event: PointerEvent): void {
    if (event.button !== 0 || event.target !== this.stage.renderer.domElement) return;
    const hit = this.stage.pick(event, ["markers"]);
    if (hit) {
      this.onChoose(hit.index);
      return this.drag(event, hit.index);
    }
    const start = [event.clientX, event.clientY];
    const up = (end: PointerEvent) => {
      const still = Math.hypot(end.clientX - start[0], end.clientY - start[1]) < 4;
      if (still && this.chosen >= 0) this.put(end, this.chosen, true);
    };
    this.element.addEventListener("pointerup", up, { once: true });
  }

  private drag(event: PointerEvent, marker: number): void {
    event.stopPropagation(); // the camera stays where it is
    const before = this.cloud.places[marker];
    follow(
      event,
      (move) => this.put(move, marker, false),
      (end) => {
        if (end !== null) return this.put(end, marker, true);
        this.cloud.places[marker] = before;
        this.stage.show(0);
      },
    );
  }

  /** Moves a marker to where the pointer meets the character; for good, or while it is dragged. */
  private put(event: PointerEvent, marker: number, keep: boolean): void {
    const hit = this.stage.pick(event, [this.skin ? "figure" : "skeleton"]);
    if (hit === null || !this.character) return;
    this.cloud.places[marker] = hit.place;
    this.stage.show(0);
    const name = this.session.side?.markers[marker]?.name;
    if (!keep || name === undefined) return;
    const index = this.skin ? this.skin.bodyAt(hit.place) : hit.index;
    const body = this.character.rig.bodies[index];
    const position = this.inBody(index, hit.place);
    this.session.edit({
      edit: "place",
      marker: name,
      body: body.name,
      position,
      character: this.file,
    });
  }

  private inBody(index: number, place: THREE.Vector3): Triple {
    const turn = new THREE.Quaternion();
    const joint = new THREE.Vector3();
    this.poses.turn(0, index, turn);
    this.poses.place(0, index, joint);
    const inBody = new THREE.Vector3(
      ...(this.character?.rig.bodies[index].in_body ?? [0, 0, 0]),
    );
    return place.clone().sub(joint).applyQuaternion(turn.invert()).add(inBody).toArray();
  }

  private move(): void {
    this.session.run("map", null, this.path);
  }
}
