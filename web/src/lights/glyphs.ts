// A sign for each look, so that squares differ in more than colour. In a box of 10 by 10.

import type { Mode } from "../theme";
import type { Look } from "./data";

/** A path, and whether it is filled or drawn as a line. */
export interface Glyph {
  path: string;
  filled: boolean;
}

export const GLYPHS: Record<Look, Glyph> = {
  right: { path: "M2.6 5.3 4.3 7 7.5 3.2", filled: false },
  rest: { path: "M5 3.4a1.6 1.6 0 1 0 .01 0z", filled: false },
  amber: { path: "M5 1.8 8.6 8.2H1.4z", filled: true },
  red: { path: "M2.5 2.5 7.5 7.5M7.5 2.5 2.5 7.5", filled: false },
  unknown: { path: "M3.2 5H6.8", filled: false },
};

/** Background, edge and sign of a look. */
export interface Paint {
  fill: string;
  edge: string;
  sign: string;
}

// The three hues keep apart in lightness too: green is middling, amber light, red dark.
export const PAINTS: Record<Mode, Record<Look, Paint>> = {
  light: {
    right: { fill: "#58b68c", edge: "#58b68c", sign: "#ffffff" },
    rest: { fill: "#ffffff", edge: "#58b68c", sign: "#2f8f66" },
    amber: { fill: "#ffc233", edge: "#ffc233", sign: "#5a3d00" },
    red: { fill: "#b3201f", edge: "#b3201f", sign: "#ffffff" },
    unknown: { fill: "#e8ecf0", edge: "#a9b3bf", sign: "#5b6775" },
  },
  dark: {
    right: { fill: "#22704f", edge: "#22704f", sign: "#b9ecd4" },
    rest: { fill: "#10161d", edge: "#2f8f66", sign: "#58b68c" },
    amber: { fill: "#f2b632", edge: "#f2b632", sign: "#3a2700" },
    red: { fill: "#f0524d", edge: "#f0524d", sign: "#1d0505" },
    unknown: { fill: "#222c37", edge: "#4a5663", sign: "#9aa7b5" },
  },
};
