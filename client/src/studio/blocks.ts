// A long array of frames that arrives block by block: thinned at once, then all of it.

/** Bytes of frames first (inclusive) to last (exclusive), every stride-th, of some columns. */
export type Fetcher = (
  first: number,
  last: number,
  stride: number,
  columns: number[] | null,
) => Promise<ArrayBuffer>;

const BLOCK = 4096;
const OVERVIEW = 2000;

export class Blocks {
  /** frames × columns × 3 (or another depth); meant only where `has` says so. */
  readonly values: Float32Array;
  readonly width: number;
  private readonly here: Uint8Array;
  private readonly nothing: Float32Array;
  private overview = new Float32Array(0);
  private stride = 1;
  private near = 0;
  private stopped = false;
  /** One request at a time: what was asked for later shows a later state and must win. */
  private queue: Promise<void> = Promise.resolve();

  constructor(
    readonly frames: number,
    readonly columns: number,
    readonly depth: number,
    private readonly fetcher: Fetcher,
    private readonly onArrival: (first: number, last: number) => void,
  ) {
    this.width = columns * depth;
    this.values = new Float32Array(frames * this.width);
    this.nothing = new Float32Array(this.width).fill(NaN);
    this.here = new Uint8Array(Math.ceil(frames / BLOCK));
  }

  /** Fetches a thinned picture of all frames, then every block, the nearest first. */
  async load(): Promise<void> {
    if (this.width === 0 || this.frames === 0) return;
    this.stride = Math.max(1, Math.ceil(this.frames / OVERVIEW));
    if (this.stride > 1) await this.enqueue(() => this.loadOverview());
    for (let block = this.next(); block >= 0 && !this.stopped; block = this.next()) {
      await this.enqueue(() => this.loadBlock(block));
    }
  }

  /** Fetches frames again because they changed; of all columns or of some. */
  refresh(first: number, last: number, columns: number[] | null = null): Promise<void> {
    return this.enqueue(() => this.loadFrames(first, last, columns));
  }

  /** Numbers of one frame to be shown; those near it are fetched next. */
  at(frame: number): Float32Array {
    this.near = frame;
    return this.sample(frame);
  }

  /** Numbers of one frame: its own, or until they have come those of a neighbour. */
  sample(frame: number): Float32Array {
    if (this.has(frame)) {
      return this.values.subarray(frame * this.width, (frame + 1) * this.width);
    }
    const rows = this.overview.length / this.width;
    if (rows === 0) return this.nothing;
    const row = Math.min(Math.round(frame / this.stride), rows - 1);
    return this.overview.subarray(row * this.width, (row + 1) * this.width);
  }

  has(frame: number): boolean {
    return this.here[Math.floor(frame / BLOCK)] === 1;
  }

  /** Whether every block has come. */
  get complete(): boolean {
    return this.here.every((here) => here === 1);
  }

  stop(): void {
    this.stopped = true;
  }

  private enqueue(task: () => Promise<void>): Promise<void> {
    const next = () => (this.stopped ? undefined : task());
    this.queue = this.queue.then(next, next);
    return this.queue;
  }

  private async loadOverview(): Promise<void> {
    this.overview = new Float32Array(await this.fetcher(0, this.frames, this.stride, null));
    if (!this.stopped) this.onArrival(0, this.frames);
  }

  private async loadBlock(block: number): Promise<void> {
    const [first, last] = [block * BLOCK, Math.min((block + 1) * BLOCK, this.frames)];
    const numbers = new Float32Array(await this.fetcher(first, last, 1, null));
    if (this.stopped) return;
    this.values.set(numbers, first * this.width);
    this.here[block] = 1;
    this.onArrival(first, last);
  }

  private async loadFrames(first: number, last: number, columns: number[] | null): Promise<void> {
    const numbers = new Float32Array(await this.fetcher(first, last, 1, columns));
    if (this.stopped) return;
    if (columns === null) this.values.set(numbers, first * this.width);
    else this.spread(numbers, first, last, columns);
    this.onArrival(first, last);
  }

  private spread(numbers: Float32Array, first: number, last: number, columns: number[]): void {
    let from = 0;
    for (let frame = first; frame < last; frame++) {
      for (const column of columns) {
        const to = frame * this.width + column * this.depth;
        for (let k = 0; k < this.depth; k++) this.values[to + k] = numbers[from++];
      }
    }
  }

  private next(): number {
    const home = Math.floor(this.near / BLOCK);
    for (let away = 0; away < this.here.length; away++) {
      if (this.here[home + away] === 0) return home + away;
      if (this.here[home - away] === 0) return home - away;
    }
    return -1;
  }
}
