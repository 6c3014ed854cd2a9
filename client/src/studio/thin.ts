// Curves with more samples than the screen has columns, thinned so that every extreme is drawn.

export interface Window {
  /** First and last frame shown. */
  first: number;
  last: number;
}

/** Where a curve of some frames is drawn: every frame, or two places per column of the screen. */
export function places(window: Window, columns: number): number[] {
  const n = window.last - window.first + 1;
  if (n <= 2 * columns) return Array.from({ length: n }, (_, k) => window.first + k);
  const width = n / columns;
  return Array.from({ length: 2 * columns }, (_, k) => window.first + (k / 2) * width);
}

/**
 * Values at those places: the two extremes of each column in the order in which they come; null
 * where nothing is known.
 *
 * @param at where in `values` the curve's frame 0 is; `stride` numbers further is frame 1
 */
export function thin(
  values: Float32Array,
  at: number,
  stride: number,
  window: Window,
  columns: number,
): (number | null)[] {
  const n = window.last - window.first + 1;
  const made: (number | null)[] = [];
  if (n <= 2 * columns) {
    for (let frame = window.first; frame <= window.last; frame++) {
      const value = values[at + frame * stride];
      made.push(Number.isFinite(value) ? value : null);
    }
    return made;
  }
  const width = n / columns;
  for (let k = 0; k < columns; k++) {
    const from = window.first + Math.floor(k * width);
    const to = Math.min(window.first + Math.floor((k + 1) * width), window.last + 1);
    made.push(...extremes(values, at, stride, from, to));
  }
  return made;
}

function extremes(
  values: Float32Array,
  at: number,
  stride: number,
  from: number,
  to: number,
): [number | null, number | null] {
  let low = Infinity;
  let high = -Infinity;
  let lowAt = -1;
  let highAt = -1;
  for (let frame = from; frame < to; frame++) {
    const value = values[at + frame * stride];
    if (value < low) {
      low = value;
      lowAt = frame;
    }
    if (value > high) {
      high = value;
      highAt = frame;
    }
  }
  if (lowAt < 0) return [null, null];
  return lowAt <= highAt ? [low, high] : [high, low];
}
