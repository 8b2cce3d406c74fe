// Colours and type. One hue for L4S and one for Classic everywhere; each other discipline has its
// own. The hues keep apart under the common colour-vision deficiencies (after Okabe and Ito), and
// differ in lightness too.

import type { Run, Traffic } from "./data";

export type Mode = "light" | "dark";

export interface Theme {
  mode: Mode;
  font: string;
  /** Background of the page, and of a picture. */
  paper: string;
  ink: string;
  /** Text that explains. */
  soft: string;
  /** Axis lines. */
  line: string;
  /** Grid lines. */
  grid: string;
  l4s: string;
  classic: string;
  /** Classic congestion control with ECN. */
  classicEcn: string;
  udp: string;
  /** Programs of the user, which answer in their own way. */
  program: string;
  /** Single queues, by discipline. */
  aqm: Record<string, string>;
  /** Anything else, in order of appearance. */
  rest: string[];
}

const LIGHT: Theme = {
  mode: "light",
  font: "Roboto, system-ui, 'Segoe UI', 'Helvetica Neue', Arial, sans-serif",
  paper: "#ffffff",
  ink: "#16202c",
  soft: "#5b6775",
  line: "#a9b3bf",
  grid: "#e8ecf0",
  l4s: "#0a6ed1",
  classic: "#d4550a",
  classicEcn: "#a67c00",
  udp: "#6b7684",
  program: "#0b8a6a",
  aqm: {
    pie: "#8250b8",
    fq_codel: "#0b8a6a",
    codel: "#b0357f",
    pi2: "#6d7d1c",
    red: "#94443c",
    cobalt: "#1b7f8f",
    fifo: "#6b7684",
  },
  rest: ["#3d5a80", "#7a5c3e", "#4f6d3a", "#75507b"],
};

const DARK: Theme = {
  mode: "dark",
  font: LIGHT.font,
  paper: "#10161d",
  ink: "#e9eef4",
  soft: "#9aa7b5",
  line: "#4a5663",
  grid: "#222c37",
  l4s: "#4ea6ff",
  classic: "#ff9248",
  classicEcn: "#e3bd4a",
  udp: "#93a0ae",
  program: "#3fcaa0",
  aqm: {
    pie: "#bd93f0",
    fq_codel: "#3fcaa0",
    codel: "#f07fc0",
    pi2: "#b9c95a",
    red: "#e08a80",
    cobalt: "#5cc8d8",
    fifo: "#93a0ae",
  },
  rest: ["#8fb0dc", "#cfa97e", "#a3c585", "#c9a1cf"],
};

export const themeOf = (mode: Mode): Theme => (mode === "dark" ? DARK : LIGHT);

/** The colour of a queue: L and C by name, a single queue by its discipline. */
export function queueColour(theme: Theme, run: Run, queue: string): string {
  if (queue === "L") return theme.l4s;
  if (queue === "C") return theme.classic;
  return theme.aqm[run.aqm] ?? theme.udp;
}

/** The colour of a group of flows: how it answers congestion. */
export function trafficColour(theme: Theme, traffic: Traffic | undefined): string {
  switch (traffic) {
    case "l4s":
      return theme.l4s;
    case "classic-ecn":
      return theme.classicEcn;
    case "udp":
      return theme.udp;
    case "program":
      return theme.program;
    default:
      return theme.classic;
  }
}

/** The colour of a group in a run. Groups of programs have one each. */
export function groupColour(theme: Theme, run: Run, group: string): string {
  const programs = Object.keys(run.traffic).filter((name) => run.traffic[name] === "program");
  return [theme.program, ...theme.rest][programs.indexOf(group)] ?? trafficColour(theme, run.traffic[group]);
}
