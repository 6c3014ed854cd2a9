// Arrays that came inside a page, opened again.

import { MISSING, type Packed } from "./report_data";

/** A time-first array that is kept as 16-bit integers. */
export class Grid {
  /** Values per entry of the first axis. */
  readonly row: number;
  /** Length of the first axis. */
  readonly rows: number;

  constructor(
    private readonly raw: Int16Array,
    readonly shape: number[],
    private readonly origin: number,
    private readonly step: number,
  ) {
    this.rows = shape[0] ?? 0;
    this.row = shape.slice(1).reduce((a, b) => a * b, 1);
  }

  /** The value at a flat index; NaN where missing. */
  at(index: number): number {
    const value = this.raw[index];
    return value === MISSING || value === undefined ? NaN : this.origin + this.step * value;
  }

  /** One column over all rows. */
  column(index: number): Float32Array {
    const values = new Float32Array(this.rows);
    for (let k = 0; k < this.rows; k++) values[k] = this.at(k * this.row + index);
    return values;
  }

  floats(): Float32Array {
    return Float32Array.from(this.raw, (_, i) => this.at(i));
  }

  integers(): Uint16Array {
    return Uint16Array.from(this.raw, (value) => Math.round(this.origin + this.step * value));
  }
}

/** Opens a packed array; see `Packed`. */
export async function unpack(packed: Packed): Promise<Grid> {
  const bytes = await inflate(Uint8Array.from(atob(packed.data), (c) => c.charCodeAt(0)));
  const n = bytes.length / 2;
  const raw = new Int16Array(n);
  const row = packed.shape.slice(1).reduce((a, b) => a * b, 1);
  for (let i = 0; i < n; i++) {
    // a sum that passes 16 bits wraps around, as the difference did
    raw[i] = (bytes[i] | (bytes[n + i] << 8)) + (i >= row ? raw[i - row] : 0);
  }
  return new Grid(raw, packed.shape, packed.origin, packed.step);
}

async function inflate(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
