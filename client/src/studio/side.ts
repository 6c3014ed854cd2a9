// One performance with its arrays: the take itself, or the one it is compared with.

import { type RigRow } from "../messages";
import { type MarkerRow } from "../report_data";
import { Blocks, type Fetcher } from "./blocks";
import { address } from "./link";

export type Origin = "take" | "compared";

/** Fetches an array of the server as float32 numbers. */
export async function fetchArray(
  name: string,
  query: Record<string, string | number>,
): Promise<ArrayBuffer> {
  const answer = await fetch(address(`/api/arrays/${name}`, query));
  if (!answer.ok) throw new Error(`${name}: ${answer.status} ${await answer.text()}`);
  return answer.arrayBuffer();
}

function fetcher(name: string, of: Origin): Fetcher {
  return (first, last, stride, columns) => {
    const only: Record<string, string> = columns === null ? {} : { only: columns.join(",") };
    return fetchArray(name, { first, last: last - 1, stride, of, ...only });
  };
}

export class Side {
  points: Blocks | null = null;
  /** Which samples were filled in; fetched where there are any. */
  filled: Blocks | null = null;
  /** How sensors are turned, as recorded; their places are the points. */
  sensors: Blocks | null = null;
  joints: Blocks | null = null;
  turned: Blocks | null = null;
  rig: RigRow | null = null;

  constructor(
    readonly origin: Origin,
    readonly frames: number,
    readonly rate: number,
    public markers: MarkerRow[],
    private readonly onArrival: (first: number, last: number) => void,
    readonly ofSensors = false,
  ) {
    if (markers.length > 0) this.points = this.blocks("markers", markers.length, 3);
    if (ofSensors) this.sensors = this.blocks("sensors", markers.length, 4);
  }

  /** Takes a rig, and fetches its motion from the beginning. */
  setRig(rig: RigRow | null): void {
    this.joints?.stop();
    this.turned?.stop();
    this.rig = rig;
    const n = rig?.bodies.length ?? 0;
    this.joints = n ? this.blocks("joints", n, 3) : null;
    this.turned = n ? this.blocks("turned", n, 4) : null;
  }

  /** Whether a sample was filled in, and not measured. */
  isFilled(frame: number, marker: number): boolean {
    if (this.filled === null && this.markers.some(({ filled }) => filled > 0)) {
      this.filled = this.blocks("filled", this.markers.length, 1);
    }
    return this.filled?.sample(frame)[marker] === 1;
  }

  /** Fetches again the samples of some markers. */
  refreshMarkers(names: string[], first: number, last: number): Promise<void> | undefined {
    const columns = names
      .map((name) => this.markers.findIndex((marker) => marker.name === name))
      .filter((index) => index >= 0);
    if (columns.length === 0) return undefined;
    void this.filled?.refresh(first, last + 1, columns);
    return this.points?.refresh(first, last + 1, columns);
  }

  async refreshMotion(first: number, last: number): Promise<void> {
    await Promise.all([
      this.joints?.refresh(first, last + 1),
      this.turned?.refresh(first, last + 1),
    ]);
  }

  stop(): void {
    for (const blocks of [this.points, this.filled, this.sensors, this.joints, this.turned]) blocks?.stop();
  }

  private blocks(name: string, columns: number, depth: number): Blocks {
    const made = new Blocks(
      this.frames,
      columns,
      depth,
      fetcher(name, this.origin),
      this.onArrival,
    );
    made.load().catch((error: unknown) => console.warn(`${name} could not be fetched`, error));
    return made;
  }
}
