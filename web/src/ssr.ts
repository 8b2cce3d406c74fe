// Draws figures as SVG without a browser. l4s-report runs this inside an embedded JavaScript
// engine; nothing in it may depend on the clock, on chance or on fonts of the machine.

import { advance } from "./advances";
import { echarts, type Title } from "./chart";
import type { Data } from "./data";
import type { Figure } from "./figure";
import { figures } from "./figures";
import { escapeHtml } from "./html";
import { type Mode, themeOf } from "./theme";

/** A report's data, ready to be drawn. */
export interface Studio {
  /** Names of the figures that the data allows. */
  names(): string[];
  /** One figure; `height` 0 takes the figure's own, and widens it where it must. */
  svg(name: string, mode: Mode, width: number, height: number): string;
}

/** Reads data and offers its figures. */
export function open(json: string): Studio {
  const data = JSON.parse(json) as Data;
  const list = figures(data);
  return {
    names: () => list.map((figure) => figure.name),
    svg: (name, mode, width, height) => {
      const figure = list.find((f) => f.name === name);
      if (figure === undefined) throw new Error(`no figure "${name}"`);
      return svg(figure, mode, width, height);
    },
  };
}

const MARGIN = 24;

/** A figure with its message above, as a picture of its own. */
export function svg(figure: Figure, mode: Mode, width: number, height: number): string {
  measureByTable();
  const theme = themeOf(mode);
  // A sweep of a hundred conditions is wider than a page.
  if (height === 0) width = Math.max(width, (figure.minWidth ?? 0) + 2 * MARGIN);
  const inner = width - 2 * MARGIN;
  const titleLines = wrap(figure.title, inner, 22, true);
  const noteLines = wrap(figure.note, inner, 14);
  const top = titleLines.length * 28 + noteLines.length * 20 + 22;
  const full = height > 0 ? height : figure.height(inner) + top + 2 * MARGIN;
  const chart = echarts.init(null, null, { renderer: "svg", ssr: true, width: inner, height: full - 2 * MARGIN });
  const option = figure.option({ theme, width: inner, height: full - 2 * MARGIN, top });
  const own: Title = {
    text: titleLines.join("\n"),
    subtext: noteLines.join("\n"),
    left: 0,
    top: 0,
    padding: 0,
    itemGap: 7,
    textStyle: { color: theme.ink, fontSize: 22, lineHeight: 28, fontWeight: 600, fontFamily: theme.font },
    subtextStyle: { color: theme.soft, fontSize: 14, lineHeight: 20, fontFamily: theme.font },
  };
  const others = option.title === undefined ? [] : Array.isArray(option.title) ? option.title : [option.title];
  chart.setOption({ ...option, title: [own, ...others], series: still(option.series) });
  const drawing = chart.renderToSVGString();
  chart.dispose();
  return framed(drawing, figure, theme.paper, width, full);
}

/** Puts a margin, a background and a description around a drawing. */
function framed(drawing: string, figure: Figure, paper: string, width: number, height: number): string {
  const body = drawing
    .replace(/^<svg[^>]*>\s*/, "")
    .replace(/\s*<\/svg>\s*$/, "")
    .replace(/<style >[\s\S]*?<\/style>/g, "")
    .replace(/ (class|pointer-events)="[^"]*"/g, "")
    // ECharts counts its charts; a picture must not depend on how many came before.
    .replace(/\bzr\d+-/g, `${figure.name}-`);
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" role="img" ` +
    `width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">\n` +
    `<title>${escapeHtml(figure.title)}</title>\n<desc>${escapeHtml(figure.note)}</desc>\n` +
    `<rect width="${width}" height="${height}" fill="${paper}"/>\n` +
    `<g transform="translate(${MARGIN} ${MARGIN})">\n${body}\n</g>\n</svg>\n`
  );
}

/** Series without anything that answers a mouse. */
function still(series: unknown): object[] {
  const list: unknown[] = Array.isArray(series) ? series : [series];
  return list.filter((s): s is object => typeof s === "object" && s !== null).map((s) => ({ ...s, silent: true }));
}

/** Breaks text into lines no wider than `width`. */
export function wrap(text: string, width: number, size: number, bold = false): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    const longer = line === "" ? word : `${line} ${word}`;
    if (line !== "" && advance(longer, size, bold) > width) {
      lines.push(line);
      line = word;
    } else {
      line = longer;
    }
  }
  return [...lines, line];
}

let measured = false;

/** Makes ECharts measure text by the table rather than guess. */
function measureByTable(): void {
  if (measured) return;
  measured = true;
  echarts.setPlatformAPI({
    measureText: (text: string, font?: string) => {
      const size = Number(/([\d.]+)px/.exec(font ?? "")?.[1] ?? 12);
      return { width: advance(text, size, /\b(bold|[6-9]00)\b/.test(font ?? "")) };
    },
  });
}
