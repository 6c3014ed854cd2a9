// Arrays that came inside a page, opened again.

import type { Packed } from "./report_data";

/** A time-first array that is kept as integers. */
export class Grid {
  /** Values per entry of the first axis. */
  readonly row: number;
  /** Length of the first axis. */
  readonly rows: number;

  constructor(
    private readonly raw: Int16Array | Int32Array,
    readonly shape: number[],
    private readonly origin: number,
    private readonly step: number,
    private readonly missing: number,
  ) {
    this.rows = shape[0] ?? 0;
    this.row = shape.slice(1).reduce((a, b) => a * b, 1);
  }

  /** The value at a flat index; NaN where missing. */
  at(index: number): number {
    const value = this.raw[index];
    return value === this.missing || value === undefined ? NaN : this.origin + this.step * value;
  }

  /** One column over all rows. */
  column(index: number): Float32Array {
    const values = new Float32Array(this.rows);
    for (let k = 0; k < this.rows; k++) values[k] = this.at(k * this.row + index);
    return values;
  }

  floats(): Float32Array {
    const values = new Float32Array(this.raw.length);
    for (let i = 0; i < values.length; i++) values[i] = this.at(i);
    return values;
  }

  integers(): Uint16Array {
    return Uint16Array.from(this.raw, (value) => Math.round(this.origin + this.step * value));
  }
}

/** Opens a packed array; see `Packed`. */
export async function unpack({ data, shape, origin, step, missing }: Packed): Promise<Grid> {
  const bytes = await inflate(fromBase64(data));
  const n = shape.reduce((a, b) => a * b, 1);
  const row = shape.slice(1).reduce((a, b) => a * b, 1);
  const folded = new Uint32Array(n);
  for (let plane = 0; plane * n < bytes.length; plane++) {
    for (let i = 0, at = plane * n; i < n; i++, at++) folded[i] |= bytes[at] << (8 * plane);
  }
  const raw = missing === -32768 ? new Int16Array(n) : new Int32Array(n);
  for (let i = 0; i < n; i++) {
    const change = (folded[i] >>> 1) ^ -(folded[i] & 1);
    raw[i] = i < row ? change : change + raw[i - row];
  }
  return new Grid(raw, shape, origin, step, missing);
}

function fromBase64(data: string): Uint8Array<ArrayBuffer> {
  const text = atob(data);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

async function inflate(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
