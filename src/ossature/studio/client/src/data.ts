// What the page is given, and how its packed arrays are unpacked.

export interface Packed {
  /** Base64 of little-endian 16-bit integers. */
  data: string;
  /** Value = origin + step * integer. */
  origin: number;
  step: number;
}

export interface Body {
  name: string;
  parent: number;
  kind: string;
  length_mm: number | null;
  measured_mm: number | null;
  sigma_mm: number | null;
  rms_mm: number | null;
}

export interface Marker {
  name: string;
  body: number;
  rms_mm: number | null;
}

export interface Span {
  kind: string;
  what: string;
  first: number;
  last: number;
}

export interface ReportData {
  title: string;
  subject: string;
  rate: number;
  /** Frames of the recording; the page shows every `stride`-th. */
  frames: number;
  stride: number;
  bodies: Body[];
  markers: Marker[];
  joints: Packed | null;
  tips: { body: number; points: Packed }[];
  points: Packed | null;
  errors: Packed | null;
  spans: Span[];
  facts: [string, string][];
  history: string[];
  warnings: string[];
}

const MISSING = -32768;

/** Numbers of a packed array; NaN where missing. */
export function unpack(packed: Packed | null): Float32Array {
  if (packed === null) return new Float32Array(0);
  const bytes = Uint8Array.from(atob(packed.data), (c) => c.charCodeAt(0));
  const raw = new Int16Array(bytes.buffer);
  const values = new Float32Array(raw.length);
  for (let i = 0; i < raw.length; i++) {
    values[i] = raw[i] === MISSING ? NaN : packed.origin + packed.step * raw[i];
  }
  return values;
}

export function readPageData(): ReportData {
  const element = document.getElementById("ossature-data");
  if (element === null) throw new Error("the page carries no data");
  return JSON.parse(element.textContent ?? "") as ReportData;
}
