// A course that can be read late: the value a number of ms ago.

export class Lagged {
  private readonly points: [at: number, value: number][] = [];

  constructor(private readonly kept_ms = 6000) {}

  push(at: number, value: number): void {
    this.points.push([at, value]);
    while ((this.points[0]?.[0] ?? at) < at - this.kept_ms) this.points.shift();
  }

  /** The value at a time, between the points around it; before the first, the first. */
  at(time: number): number {
    for (let i = this.points.length - 1; i >= 0; i--) {
      const [at, value] = this.points[i] ?? [0, 0];
      if (at > time) continue;
      const next = this.points[i + 1];
      return next === undefined ? value : value + ((next[1] - value) * (time - at)) / Math.max(1e-9, next[0] - at);
    }
    return this.points[0]?.[1] ?? 0;
  }
}
