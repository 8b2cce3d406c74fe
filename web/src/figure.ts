// A figure: a message, how to read it, and a chart for any size and theme.

import { advance } from "./advances";
import type { Grid, Option, Title, XAxis, YAxis } from "./chart";
import { escapeHtml } from "./html";
import type { Theme } from "./theme";

/** Where a figure is drawn. */
export interface Canvas {
  theme: Theme;
  width: number;
  height: number;
  /** Space at the top that the frame of a picture uses; 0 on a page, where headings are HTML. */
  top: number;
}

export interface Figure {
  /** Name of its files. */
  name: string;
  /** The message. */
  title: string;
  /** The contents of the figure and how to read it. */
  note: string;
  /** The height that suits a width. */
  height(width: number): number;
  /** Over the conditions of a sweep, rather than of single runs. */
  sweep?: boolean;
  /** Narrower than this, the page scrolls it sideways. */
  minWidth?: number;
  option(canvas: Canvas): Option;
}

/** A rectangle for one panel, axes and labels excluded. */
export interface Box {
  left: number;
  top: number;
  width: number;
  height: number;
}

/** Space that the axes and headings of a panel take. */
export interface Margin {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

/** How many panels of at least `least` pixels fit side by side, without a ragged last row. */
export function columnsFor(count: number, width: number, least: number): number {
  const most = Math.min(count, Math.max(1, Math.floor(width / least)));
  return Math.ceil(count / Math.ceil(count / most));
}

/** How many panels with these headings fit side by side, and none is cut. */
export const panelsAcross = (titles: string[], width: number): number =>
  columnsFor(titles.length, width, Math.max(320, ...titles.map((title) => 60 + advance(title, 14, true))));

/** `count` equal panels in rows from left to right; the first `top` pixels stay free. */
export function tile(count: number, columns: number, canvas: Canvas, margin: Margin): Box[] {
  const rows = Math.ceil(count / columns);
  const width = canvas.width / columns;
  const height = (canvas.height - canvas.top) / rows;
  return Array.from({ length: count }, (_, i) => ({
    left: Math.round((i % columns) * width + margin.left),
    top: Math.round(canvas.top + Math.floor(i / columns) * height + margin.top),
    width: Math.round(width - margin.left - margin.right),
    height: Math.round(height - margin.top - margin.bottom),
  }));
}

/** The grid of a panel. */
export const gridOf = (box: Box): Grid => ({ ...box, containLabel: false });

/** A word in a colour. */
export interface Word {
  text: string;
  colour: string;
  strong?: boolean;
}

const WORD_SIZE = 12.5;
const WORD_GAP = "   ";

/** How wide the second line of a heading is. */
export const wordsWidth = (words: Word[]): number =>
  words.reduce((sum, { text, strong }) => sum + advance(text, WORD_SIZE, strong), 0) +
  (words.length - 1) * advance(WORD_GAP, WORD_SIZE);

/** The height of a line of words. */
export const WORD_LINE = 17;

/** The words in as many lines as a width takes; a word that is wider has a line to itself. */
export function wordLines(words: Word[], width: number): Word[][] {
  const lines: Word[][] = [[]];
  for (const word of words) {
    const line = lines.at(-1) as Word[];
    if (line.length > 0 && wordsWidth([...line, word]) > width) lines.push([word]);
    else line.push(word);
  }
  return lines;
}

/** The heading of a panel with coloured words below it: labels that need no legend. `above` is the place of its first
 * line if the words take one. */
export function heading(theme: Theme, box: Box, title: string, words: Word[], above = 46): Title {
  const rich: Record<string, { color: string; fontSize: number; fontWeight: number; lineHeight: number }> = {};
  const lines = wordLines(words, box.width);
  const text = lines.map((line, l) =>
    line
      .map((word, i) => {
        rich[`w${l}x${i}`] = {
          color: word.colour,
          fontSize: WORD_SIZE,
          fontWeight: word.strong === true ? 600 : 400,
          lineHeight: WORD_LINE,
        };
        return `{w${l}x${i}|${word.text}}`;
      })
      .join(`{gap|${WORD_GAP}}`),
  );
  return {
    text: title,
    subtext: text.join("\n"),
    left: box.left,
    top: box.top - above - (lines.length - 1) * WORD_LINE,
    padding: 0,
    itemGap: 4,
    textStyle: { color: theme.ink, fontSize: 14, fontWeight: 600, fontFamily: theme.font },
    subtextStyle: {
      color: theme.soft,
      fontSize: WORD_SIZE,
      fontFamily: theme.font,
      rich: { ...rich, gap: { fontSize: WORD_SIZE, lineHeight: WORD_LINE } },
    },
  };
}

/** The look that both axes share. */
function look(theme: Theme) {
  return {
    axisLine: { show: false, onZero: false, lineStyle: { color: theme.line } },
    axisTick: { show: false },
    axisLabel: { color: theme.soft, fontSize: 11, fontFamily: theme.font, margin: 7 },
    splitLine: { show: true, lineStyle: { color: theme.grid, width: 1 } },
    minorTick: { show: false },
    minorSplitLine: { show: false },
    nameTextStyle: { color: theme.soft, fontSize: 11, fontFamily: theme.font },
  };
}

/** An x axis: a base line, a name in the middle below. */
export function xAxis(theme: Theme, axis: XAxis): XAxis {
  const base = look(theme);
  return {
    ...base,
    axisLine: { show: true, onZero: false, lineStyle: { color: theme.line } },
    nameLocation: "middle",
    nameGap: 24,
    ...axis,
  } as XAxis;
}

/** A y axis: no line, its name above it. */
export function yAxis(theme: Theme, axis: YAxis): YAxis {
  return {
    ...look(theme),
    nameLocation: "end",
    nameGap: 10,
    ...axis,
  } as YAxis;
}

/** The common options of all charts. Nothing moves: a picture and a page show the same. */
export function base(theme: Theme): Option {
  return {
    animation: false,
    backgroundColor: "transparent",
    textStyle: { fontFamily: theme.font, color: theme.ink },
    tooltip: tooltip(theme),
  };
}

/** The look of tooltips. */
export function tooltip(theme: Theme) {
  return {
    confine: true,
    backgroundColor: theme.mode === "dark" ? "#1b2530" : "#ffffff",
    borderColor: theme.line,
    borderWidth: 1,
    padding: [6, 10],
    textStyle: { color: theme.ink, fontSize: 12, fontFamily: theme.font },
    extraCssText: "box-shadow:0 2px 10px rgba(0,0,0,.18);",
  };
}

/** The legend, top right: names in colours, a click hides. */
export function legend(theme: Theme, top: number) {
  return {
    top: top + 3,
    left: 4,
    type: "plain" as const,
    itemGap: 16,
    padding: 0,
    textStyle: { color: theme.ink, fontSize: 12.5, fontFamily: theme.font },
    inactiveColor: theme.line,
  };
}

/** The first line of a tooltip. Tooltips are HTML, and names are those of scenarios, which may be anything. */
export const tipHead = (words: string, opacity = 1): string =>
  `<div style="margin-bottom:3px;opacity:${opacity}">${escapeHtml(words)}</div>`;

/** A dot of a colour, a name and a value: a line of a tooltip. */
export const tipLine = (colour: string, name: string, value: string): string =>
  `<div style="display:flex;gap:14px;justify-content:space-between"><span><span style="display:inline-block;` +
  `width:9px;height:9px;border-radius:2px;margin-right:6px;background:${escapeHtml(colour)}"></span>${escapeHtml(name)}</span>` +
  `<b style="font-weight:600">${escapeHtml(value)}</b></div>`;
