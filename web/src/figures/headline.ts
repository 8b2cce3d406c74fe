// The first picture: the same flows under each discipline. Above, how long packets wait; beneath,
// who gets how much.

import { advance } from "../advances";
import type { Series, Title } from "../chart";
import type { Group, Run } from "../data";
import type { Box, Figure } from "../figure";
import { base, columnsFor, gridOf, heading, WORD_LINE, yAxis } from "../figure";
import type { Item } from "../runs";
import { groupName, runNames, subtitle } from "../runs";
import { queueColour, type Theme } from "../theme";
import { AXES, HEADLINE } from "../words/charts";
import { queueName } from "../words/names";
import { mbps, ms, percent, seconds } from "../words/numbers";
import { boxAt, cdfLine, type Drawn, delayAxis, delayRange, endOf, lineTip, shareAxis, timeAxis } from "./delay";
import { labelLines, rateLines, rateTop, rateWords } from "./rates";

/** How many runs fit side by side. */
export const HEADLINE_RUNS = 4;

/** `DCTCP packets wait 0.57 ms under DualPI2; ECN-Cubic + Cubic 15 ms under PIE, 5.6 ms under FQ-CoDel`. */
export function headlineMessage(drawn: Item[], all: Item[]): string {
  const names = runNames(all);
  const of = ({ run }: Item, queue: string) => run.summary.queues.find(({ name }) => name === queue)?.delay_ms?.mean;
  const low = drawn.flatMap((item) => {
    const delay = of(item, "L");
    return delay === undefined ? [] : [{ item, delay, who: controls(item.run, true) || HEADLINE.l4s }];
  });
  if (low.length === 0) return HEADLINE.plain;
  const high = drawn.flatMap((item) => {
    const delay = of(item, "L") === undefined ? (of(item, "Q") ?? of(item, "C")) : undefined;
    return delay === undefined ? [] : [{ item, delay, who: controls(item.run, false) }];
  });
  // Senders are named where they change.
  const words = (list: typeof low, begin: typeof HEADLINE.wait): string =>
    list
      .map(({ item, delay, who }, i) => {
        const write = i === 0 ? begin : HEADLINE.also;
        return write(list[i - 1]?.who === who ? "" : who, delay, names.get(item.run) ?? "");
      })
      .join(", ");
  return [words(low, HEADLINE.wait), words(high, HEADLINE.also)].filter(Boolean).join("; ");
}

/** The controls of the senders of a run, or of the L4S ones, each once. The delays are those of the link for downloads, so
 * without uploads. */
const controls = (run: Run, isL4s: boolean): string => {
  const sends = ({ name, cc }: Group): boolean => (isL4s ? run.traffic[name] === "l4s" : cc !== "udp");
  const groups = run.summary.groups.filter((group) => group.direction !== "up" && sends(group));
  return [...new Set(groups.map(({ name }) => groupName(run, name)))].join(" + ");
};

/** The runs, and how to read the figure. */
function note(drawn: Item[]): string {
  const run = drawn[0]?.run;
  if (run === undefined) return "";
  const { groups, completion, link } = run.summary;
  const flows = groups.reduce((sum, group) => sum + group.flows, 0);
  // Groups without long flows have downloads, applications or programs.
  const names = groups.filter((group) => group.flows === 0).map(({ name }) => name);
  const kinds = {
    downloads: (completion ?? []).some(({ group }) => names.includes(group)),
    applications: groups.some(({ name, app }) => app !== undefined && names.includes(name)),
    programs: Object.values(run.traffic).includes("program"),
  };
  const rtts = [...new Set(Object.values(run.base_rtt_ms))];
  return HEADLINE.note(flows, kinds, link.rate_bps, rtts.length === 1 ? rtts[0] : undefined);
}

/** Heights in a column, from top to bottom. */
const HEAD = 78;
const AXIS = 44;
const RATES_HEAD = 26;
/** The line of senders, where it does not fit beside the discipline. */
const WHO = 20;

/** Left and right of a panel, and the narrowest column that the numbers of two queues fit into. */
const LEFT = 44;
const BESIDE = 60;
const NARROWEST = 340;

/** Whether the senders of a run fit beside its name. */
const fits = (name: string, who: string, width: number): boolean =>
  advance(name, 15, true) + advance(`  ${who}`, 13) <= width;

/** Distributions above, rates beneath, a column per run. */
export function headline(drawn: Drawn[], all: Item[]): Figure {
  const names = runNames(all);
  const columns = (width: number) => columnsFor(drawn.length, width, NARROWEST);
  /** Heights that depend on the width: those of senders on a line of their own, and of further lines of rates. */
  const extra = (width: number): [number, number] => {
    const panel = width / columns(width) - BESIDE;
    const apart = drawn.some(({ run }) => !fits(names.get(run) ?? "", subtitle(run, names.get(run) ?? ""), panel));
    return [apart ? WHO : 0, (labelLines(drawn, panel) - 1) * WORD_LINE];
  };
  return {
    name: "headline",
    title: headlineMessage(drawn, all),
    note: note(drawn),
    height: (width) => {
      const rows = Math.ceil(drawn.length / columns(width));
      const [who, labels] = extra(width);
      return (rows === 1 ? 500 : 480 * rows) + (who + labels) * rows;
    },
    option: (canvas) => {
      const { theme } = canvas;
      const across = columns(canvas.width);
      const width = canvas.width / across;
      const height = (canvas.height - canvas.top) / Math.ceil(drawn.length / across);
      const [who, labels] = extra(canvas.width);
      const [head, ratesHead] = [HEAD + who, RATES_HEAD + labels];
      const free = height - head - AXIS - ratesHead - AXIS;
      const upper = Math.round(free * 0.6);
      const boxes = drawn.map((_, i): [Box, Box] => {
        const top = Math.round(canvas.top + Math.floor(i / across) * height + head);
        const panel = { left: Math.round((i % across) * width + LEFT), width: Math.round(width - BESIDE) };
        return [
          { ...panel, top, height: upper },
          { ...panel, top: top + upper + AXIS + ratesHead, height: Math.round(free - upper) },
        ];
      });
      const range = delayRange(drawn);
      const rates = rateTop(drawn);
      const delayTip = lineTip(theme, HEADLINE.hovered, (y) => percent(y / 100, 3));
      const rateTip = lineTip(theme, seconds, mbps);
      return {
        ...base(theme),
        title: drawn.flatMap((item, i) => {
          const [above, beneath] = boxAt(boxes, i);
          return [
            ...numbers(theme, item, above, names.get(item.run) ?? "", who > 0),
            { ...heading(theme, beneath, "", rateWords(theme, item), 24), itemGap: 0 },
          ];
        }),
        grid: boxes.flatMap(([above, beneath]) => [
          { ...gridOf(above), tooltip: delayTip },
          { ...gridOf(beneath), tooltip: rateTip },
        ]),
        xAxis: drawn.flatMap((_, i) => [delayAxis(theme, range, 2 * i), timeAxis(theme, 2 * i + 1, endOf(drawn))]),
        yAxis: drawn.flatMap((_, i) => [
          yAxis(theme, { ...shareAxis(theme), gridIndex: 2 * i }),
          yAxis(theme, {
            type: "value",
            gridIndex: 2 * i + 1,
            min: 0,
            max: rates,
            splitNumber: 2,
            name: i % across === 0 ? AXES.mbps : "",
            nameGap: 8,
            nameTextStyle: { color: theme.soft, fontSize: 11, align: "right", padding: [0, 6, 0, 0] },
          }),
        ]),
        series: drawn.flatMap((item, i): Series[] => [
          ...item.curves.cdf.map((cdf): Series => {
            const line = cdfLine(theme, item, cdf, false, 2 * i);
            return { ...line, lineStyle: { ...line.lineStyle, width: 2.75 } };
          }),
          ...rateLines(theme, item, 2 * i + 1, 1.4),
        ]),
        tooltip: delayTip,
      };
    },
  };
}

/** The heading of a column: discipline and senders, on a line of their own if `apart`, and the mean delays large. */
function numbers(theme: Theme, item: Drawn, box: Box, name: string, apart: boolean): Title[] {
  const font = theme.font;
  const queues = item.run.summary.queues.filter((queue) => queue.delay_ms !== undefined);
  const rich: Record<string, object> = {
    gap: { fontSize: 13, lineHeight: 30 },
    name: { color: theme.ink, fontSize: 15, fontWeight: 600, fontFamily: font },
    who: { color: theme.soft, fontSize: 13, fontWeight: 400, fontFamily: font },
  };
  const words = queues.map((queue, i) => {
    const color = queueColour(theme, item.run, queue.name);
    rich[`big${i}`] = { color, fontSize: 24, fontWeight: 600, lineHeight: 30, fontFamily: font };
    rich[`of${i}`] = {
      color,
      fontSize: 13,
      fontWeight: 400,
      lineHeight: 16,
      fontFamily: font,
      verticalAlign: "bottom",
      padding: [0, 0, 5, 0],
    };
    return `{big${i}|${ms(queue.delay_ms?.mean ?? 0)}}{of${i}| ${queueName(queue.name)}}`;
  });
  return [
    {
      text: `{name|${name}}${apart ? "\n{who|" : "{who|  "}${subtitle(item.run, name)}}\n${words.join("{gap|     }")}`,
      left: box.left,
      top: box.top - 70 - (apart ? WHO : 0),
      padding: 0,
      textStyle: { color: theme.ink, fontSize: 15, lineHeight: 22, fontFamily: font, rich },
    },
  ];
}
