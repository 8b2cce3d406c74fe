// The page of a report.

export const NUMBERS = {
  summary: "Numbers of this chart",
  inRuns: "The table of all runs has the numbers.",
  inTables: "Tables of the numbers follow the chart.",
  /** Names of the axes that decide which table a curve has. */
  delayAxis: "queueing delay",
  timeAxis: "time",
  distribution: "Percentiles of the queueing delay (ms)",
  percentiles: (shares: number[]): string[] => ["curve", ...shares.map((share) => `p${share}`)],
  course: (unit: string): string => (unit === "" ? "Values over time" : `Values over time (${unit})`),
  range: ["curve", "lowest", "mean", "highest"],
};

export const TABLE = {
  scroll: (title: string): string => `${title}: table`,
  chart: (title: string): string => `${title}: chart`,
};

export const FOOTER = {
  software: "Software inside this page",
};
