// The report: one page, no server, all data inside.

import * as THREE from "three";
import { button, element, facts, listing, section, toggle } from "./dom";
import { unpack } from "./packed";
import { gaitPanels } from "./panels/gait";
import { limbTable } from "./panels/limbs";
import { rangePlots } from "./panels/ranges";
import { type Distances, ResidualPanel } from "./panels/residuals";
import { skinTable } from "./panels/skin";
import { timeline } from "./panels/timeline";
import { hierarchy } from "./panels/tree";
import { isForPage, Player, playerKey } from "./player";
import type { BodyRow, ReportData, Residuals } from "./report_data";
import { FrameLayer } from "./scene/axes";
import { ContactLayer } from "./scene/contacts";
import { EllipsoidLayer } from "./scene/ellipsoids";
import { FigureLayer } from "./scene/figure";
import { FloorLayer } from "./scene/floor";
import { LimitLayer } from "./scene/limits";
import { MarkerLayer } from "./scene/markers";
import { letPoint } from "./scene/pointing";
import { frontOf, SkeletonLayer } from "./scene/skeleton";
import { type Cloud, GridCloud, type Poses, RigPoses } from "./scene/sources";
import { Stage } from "./scene/stage";
import { ModelCloud, VirtualMarkerLayer } from "./scene/virtual_markers";
import { themeButton } from "./theme";
import "./style.css";

/** How much of a skin is drawn where the bones in it should be seen. */
const SEE_THROUGH = 0.45;

function readPageData(): ReportData {
  const carrier = document.getElementById("osteon-data");
  if (carrier === null) throw new Error("the page carries no data");
  return JSON.parse(carrier.textContent ?? "") as ReportData;
}

interface Sources {
  cloud: Cloud | null;
  poses: Poses | null;
}

async function openSources({ points, poses, bodies }: ReportData): Promise<Sources> {
  const cloud = points === null ? null : new GridCloud(await unpack(points));
  if (poses === null) return { cloud, poses: null };
  const [turns, root] = await Promise.all([unpack(poses.turns), unpack(poses.root)]);
  const joints = poses.joints === null ? null : await unpack(poses.joints);
  return { cloud, poses: new RigPoses(bodies, turns, root, joints) };
}

/** What a take reaches over: every so many frames will do. */
function reach({ cloud, poses }: Sources, frames: number): THREE.Box3 {
  const box = new THREE.Box3();
  const at = new THREE.Vector3();
  const every = Math.max(1, Math.floor(frames / 200));
  for (let frame = 0; frame < frames; frame += every) {
    if (poses?.place(frame, 0, at)) box.expandByPoint(at);
    for (let i = 0; !poses && i < (cloud?.count ?? 0); i++) {
      if (cloud?.read(frame, i, at)) box.expandByPoint(at);
    }
  }
  return box;
}

interface Shown {
  name: string;
  label: string;
  on: boolean;
}

/** Fills the stage and says what can be shown or hidden. */
async function fill(
  stage: Stage,
  data: ReportData,
  sources: Sources,
  frames: number,
): Promise<{ shown: Shown[]; markers: MarkerLayer | null }> {
  const { cloud, poses } = sources;
  const shown: Shown[] = [];
  const add = (name: string, label: string, layer: Parameters<Stage["add"]>[1], on = true) => {
    stage.add(name, layer, on);
    shown.push({ name, label, on });
  };
  add("floor", "floor", new FloorLayer(data.ground, reach(sources, frames)));
  const markers = cloud === null ? null : new MarkerLayer(cloud);
  if (markers) add("markers", data.cloud, markers);
  if (poses) {
    const { bodies, spans, ground, stride } = data;
    const skeleton = new SkeletonLayer(bodies, poses);
    add("skeleton", "skeleton", skeleton);
    if (cloud && data.markers.some(({ place }) => place !== null)) {
      const model = new ModelCloud(data.markers, poses);
      add("virtual", "model", new VirtualMarkerLayer(model, cloud), false);
    }
    if (data.skin) {
      const figure = await FigureLayer.from(data.skin, poses);
      const see = () => figure.setOpacity(skeleton.object.visible ? SEE_THROUGH : 1);
      figure.object.onBeforeRender = see;
      add("figure", "skinned figure", figure);
    }
    const contacts = new ContactLayer(bodies, poses, spans, ground, stride);
    if (contacts.count) add("contacts", "contacts", contacts);
    add("frames", "limb frames", new FrameLayer(bodies, poses), false);
    const ellipsoids = new EllipsoidLayer(bodies, poses);
    if (ellipsoids.count) {
      const times = ellipsoids.scale > 1 ? ` ×${ellipsoids.scale}` : "";
      add("ellipsoids", `joint ellipsoids${times}`, ellipsoids, false);
    }
    const limits = new LimitLayer(bodies, poses);
    if (limits.count) add("limits", "limit cones", limits, false);
  }
  return { shown, markers };
}

function switches(stage: Stage, shown: Shown[], sources: Sources, bodies: BodyRow[]): HTMLElement {
  const made = element("div", "", "switches");
  made.setAttribute("role", "group");
  made.setAttribute("aria-label", "Show");
  for (const { name, label, on } of shown) {
    made.append(toggle(label, (now) => stage.setVisible(name, now), on));
  }
  const { cloud, poses } = sources;
  const follow = (frame: number, out: THREE.Vector3): boolean =>
    // along the floor only: the picture should not bob with every step
    (poses ? poses.place(frame, 0, out) : (cloud?.read(frame, 0, out) ?? false)) &&
    Number.isFinite(out.setZ(0).x);
  const goAlong = (on: boolean) => {
    stage.follow = on ? follow : null;
  };
  goAlong(poses !== null);
  if (poses) stage.facing = frontOf(bodies, poses);
  made.append(
    toggle("follow", goAlong, poses !== null),
    button("Frame", () => stage.lookAtAll(), "Bring everything into view: f"),
  );
  return made;
}

async function distances(data: ReportData): Promise<Distances[]> {
  const carrier = new Map(data.markers.map((marker) => [marker.name, marker]));
  const joint = new Map(data.bodies.map((body) => [body.name, body]));
  return Promise.all(
    data.residuals.map(async ({ what, names, values, rms_mm }: Residuals) => ({
      what,
      names,
      values: await unpack(values),
      rms: rms_mm,
      on: names.map((name) => {
        const body = carrier.get(name)?.body ?? joint.get(name)?.parent ?? -1;
        return body < 0 ? "–" : data.bodies[body].name;
      }),
    })),
  );
}

function side(data: ReportData): HTMLElement {
  const made = element("div", "", "side-column");
  const summary = section("Summary");
  summary.append(facts(data.facts));
  made.append(summary);
  made.append(...listing("Take note", data.warnings, "notes"));
  made.append(...listing("To know the joints better", data.advice, "advice"));
  if (data.bodies.length) made.append(hierarchy(data.bodies));
  made.append(...listing("What was done to the data", data.history, "history", 20));
  return made;
}

/** The stage with all that can be shown; null where the browser draws nothing in 3D. */
async function makeStage(
  view: HTMLElement,
  data: ReportData,
  player: Player,
): Promise<{ stage: Stage; markers: MarkerLayer | null; controls: HTMLElement } | null> {
  let stage: Stage;
  try {
    stage = new Stage(view);
  } catch {
    view.replaceChildren(element("p", "This browser draws no 3D (WebGL is off).", "no-stage"));
    return null;
  }
  const sources = await openSources(data);
  const { shown, markers } = await fill(stage, data, sources, player.frames);
  player.onFrame((frame) => stage.show(frame));
  return { stage, markers, controls: switches(stage, shown, sources, data.bodies) };
}

async function build(): Promise<void> {
  const data = readPageData();
  const main = document.querySelector("main");
  if (main === null) throw new Error("the page has no main element");
  document.querySelector("header")?.append(themeButton());

  const frames = Math.max(1, Math.ceil(data.frames / data.stride));
  const player = new Player(frames, data.rate / data.stride);
  const left = element("div", "", "stage-column");
  const view = element("div", "", "view");
  const beside = side(data);
  // where there is gait to read, that comes first and the view stands beside it
  const around = data.gait ? element("div", "", "stage-column") : left;
  if (data.gait) {
    document.body.classList.add("gait");
    left.append(...gaitPanels(data.gait));
    beside.prepend(around);
  }
  around.append(view);
  main.append(left, beside);

  const shown = await makeStage(view, data, player);
  if (shown) around.append(shown.controls);
  around.append(timeline(player, data));
  shown?.stage.lookAtAll();
  const panel = await residualPanel(left, data, player, shown?.markers ?? null);
  if (data.bodies.length) left.append(limbTable(data.bodies));
  left.append(...rangePlots(data.bodies));
  left.append(...skinTable(data.bodies, data.markers));
  if (shown) {
    letPoint(view, shown.stage, {
      layers: ["markers", "skeleton"],
      nameOf: ({ layer, index }) => (layer === "markers" ? data.markers : data.bodies)[index].name,
      onChoose: ({ layer, index }) =>
        panel?.chooseName((layer === "markers" ? data.markers : data.bodies)[index].name),
    });
  }
  document.addEventListener("keydown", (event) => {
    if (!isForPage(event)) return;
    if (event.key === "f") shown?.stage.lookAtAll();
    else if (!playerKey(player, event)) return;
    event.preventDefault();
  });
  player.seek(0);
  document.body.dataset.ready = "yes";
}

async function residualPanel(
  host: HTMLElement,
  data: ReportData,
  player: Player,
  markers: MarkerLayer | null,
): Promise<ResidualPanel | null> {
  const sets = await distances(data);
  if (sets.length === 0) return null;
  return new ResidualPanel(host, sets, player, (set, index) => {
    const name = sets[set].names[index];
    const chosen = data.markers.findIndex((marker) => marker.name === name);
    markers?.choose(chosen < 0 ? [] : [chosen]);
    player.seek(player.frame);
  });
}

void build();
