// Sliders whose steps are round numbers that grow in proportion: one press of a key is always one
// step that can be seen, at 1 Mb/s as at 1 Gb/s.

/** Round numbers of a decade. */
const ROUND = [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8];

/** The round numbers from `min` to `max`, both included; with `zero`, 0 before them. */
export function steps(min: number, max: number, zero = false): number[] {
  const values = zero ? [0] : [];
  for (let decade = Math.floor(Math.log10(min)); decade <= Math.log10(max); decade++) {
    for (const round of ROUND) {
      // Twelve digits: 1.2 · 10^6 is a whole number.
      const value = Number((round * 10 ** decade).toPrecision(12));
      if (value >= min * (1 - 1e-9) && value <= max * (1 + 1e-9)) values.push(value);
    }
  }
  return values;
}

/** The place of the step nearest to a value, in proportion. */
export function nearest(values: number[], value: number): number {
  if (value <= 0) return 0;
  let best = 0;
  let least = Number.POSITIVE_INFINITY;
  values.forEach((step, i) => {
    const distance = step === 0 ? Number.MAX_VALUE : Math.abs(Math.log(step / value));
    if (distance < least) {
      least = distance;
      best = i;
    }
  });
  return best;
}
