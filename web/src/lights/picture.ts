// The matrices as one picture: SVG written by hand, as it is nothing but squares and words.

import { advance } from "../advances";
import { escapeHtml } from "../html";
import type { Studio } from "../ssr";
import { type Mode, type Theme, themeOf } from "../theme";
import { countsInWords, LEGEND, MATRIX, PICTURE, saidInWords, scheduleName, TITLE } from "../words/lights";
import { amount } from "../words/numbers";
import { type Lights, lookOf, type Square, saidOf } from "./data";
import { GLYPHS, PAINTS } from "./glyphs";

const MARGIN = 24;
/** Between matrices side by side. */
const GAP = 40;
/** Left of a matrix: the mix of traffic. */
const LABELS = 44;
/** Above a matrix: its name, counts, and two rows of labels. */
const HEAD = 100;
const ROW = 20;
/** Between link rates, and between kinds of Prague traffic. */
const SPACE = 5;
const TOP = 118;

/** Reads the data of traffic lights and offers their picture. */
export function openLights(json: string): Studio {
  const lights = JSON.parse(json) as Lights;
  return { names: () => [lights.name], svg: (_, mode, width) => picture(lights, mode, width) };
}

/** All matrices, two side by side. */
export function picture(lights: Lights, mode: Mode, width: number): string {
  const theme = themeOf(mode);
  const across = Math.min(2, lights.schedules.length);
  const wide = (width - 2 * MARGIN - (across - 1) * GAP) / across;
  const cell = (wide - LABELS - (lights.rates.length - 1) * SPACE) / (lights.rates.length * lights.rtts.length);
  const high = HEAD + top(lights, lights.traffic.length - 1) + ROW + 34;
  const rows = Math.ceil(lights.schedules.length / across);
  const height = Math.ceil(TOP + rows * high + MARGIN);
  const body = lights.schedules.map((_, i) => {
    const x = MARGIN + (i % across) * (wide + GAP);
    const y = TOP + Math.floor(i / across) * high;
    return `<g transform="translate(${at(x)} ${at(y)})">${matrix(lights, i, theme, cell)}</g>`;
  });
  const note = PICTURE.note(lights.squares.length, lights.duration_s);
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" role="img" width="${width}" height="${height}" ` +
    `viewBox="0 0 ${width} ${height}" font-family="${escapeHtml(theme.font)}">\n` +
    `<title>${TITLE}</title>\n<desc>${escapeHtml(note)} ${escapeHtml(totals(lights))}</desc>\n` +
    `<rect width="${width}" height="${height}" fill="${theme.paper}"/>\n` +
    text(MARGIN, 44, TITLE, theme.ink, 22, 600) +
    text(MARGIN, 68, note, theme.soft, 14) +
    legend(lights, theme) +
    body.join("\n") +
    "\n</svg>\n"
  );
}

/** Every total, for those who cannot see the squares. */
const totals = (lights: Lights): string =>
  lights.schedules
    .map(
      (schedule, i) =>
        `${MATRIX.name(scheduleName(schedule), lights.tallies[i] === undefined ? "" : countsInWords(lights.tallies[i].all))}.`,
    )
    .join(" ");

function legend(lights: Lights, theme: Theme): string {
  const seen = new Set(lights.squares.map(lookOf));
  let x = MARGIN;
  return LEGEND.filter(([look]) => look !== "unknown" || seen.has(look))
    .map(([look, meaning]) => {
      const item = square(look, theme, x, 84, 14, 14) + text(x + 20, 96, meaning, theme.ink, 13);
      x += 20 + Math.round(advance(meaning, 13)) + 26;
      return item;
    })
    .join("");
}

function matrix(lights: Lights, number: number, theme: Theme, cell: number): string {
  const schedule = lights.schedules[number];
  const tally = lights.tallies[number];
  if (schedule === undefined || tally === undefined) return "";
  const said = saidInWords(saidOf(lights, schedule));
  const parts = [
    text(0, 30, scheduleName(schedule), theme.ink, 16, 600),
    text(0, 50, PICTURE.counts(countsInWords(tally.all), said), theme.soft, 13),
  ];
  lights.rates.forEach((rate, i) => {
    const middle = left(lights, i, 0, cell) + (lights.rtts.length * cell) / 2;
    parts.push(text(middle, 76, amount(rate), theme.ink, 12, 600, "middle"));
    lights.rtts.forEach((rtt, j) => {
      parts.push(
        text(left(lights, i, j, cell) + cell / 2, 92, rtt.replace(/[a-z]+$/, ""), theme.soft, 10, 400, "middle"),
      );
    });
  });
  for (const [i, mix] of lights.traffic.entries()) {
    parts.push(text(LABELS - 8, HEAD + top(lights, i) + 14, mix, theme.ink, 12, 400, "end"));
  }
  for (const s of lights.squares) if (s.at[0] === number) parts.push(place(lights, s, theme, cell));
  return parts.join("\n");
}

const place = (lights: Lights, s: Square, theme: Theme, cell: number): string =>
  square(lookOf(s), theme, left(lights, s.at[2], s.at[3], cell), HEAD + top(lights, s.at[1]), cell - 2, ROW - 2);

const left = (lights: Lights, rate: number, rtt: number, cell: number): number =>
  LABELS + rate * (lights.rtts.length * cell + SPACE) + rtt * cell;

/** How far down a row is: rows of another kind of Prague traffic keep a distance. */
function top(lights: Lights, row: number): number {
  const kind = (i: number): string => lights.traffic[i]?.split(":")[0] ?? "";
  let spaces = 0;
  for (let i = 1; i <= row; i += 1) if (kind(i) !== kind(i - 1)) spaces += 1;
  return row * ROW + spaces * SPACE;
}

function square(look: keyof typeof GLYPHS, theme: Theme, x: number, y: number, width: number, height: number): string {
  const { fill, edge, sign } = PAINTS[theme.mode][look];
  const glyph = GLYPHS[look];
  const size = Math.min(width, height) * 0.8;
  const shift = `translate(${at(x + (width - size) / 2)} ${at(y + (height - size) / 2)}) scale(${at(size / 10)})`;
  const ink = glyph.filled ? `fill="${sign}"` : `fill="none" stroke="${sign}" stroke-width="1.3"`;
  return (
    `<rect x="${at(x + 0.5)}" y="${at(y + 0.5)}" width="${at(width - 1)}" height="${at(height - 1)}" ` +
    `rx="2" fill="${fill}" stroke="${edge}"/>` +
    `<path transform="${shift}" d="${glyph.path}" ${ink}/>`
  );
}

function text(
  x: number,
  y: number,
  words: string,
  colour: string,
  size: number,
  weight = 400,
  anchor = "start",
): string {
  const align = anchor === "start" ? "" : ` text-anchor="${anchor}"`;
  const look = `fill="${colour}" font-size="${size}" font-weight="${weight}"${align}`;
  return `<text x="${at(x)}" y="${at(y)}" ${look}>${escapeHtml(words)}</text>\n`;
}

const at = (value: number): string => String(Math.round(value * 100) / 100);
