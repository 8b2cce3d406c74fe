// Colours by kind: a queue, or the response of a group to congestion. Groups of the same kind
// have further colours.

import type { Traffic } from "../data";
import { type Theme, trafficColour } from "../theme";
import { ccName, groupOf, UDP } from "../words/names";
import type { GroupSettings, Settings } from "./protocol";

const SCALABLE = new Set(["prague", "dctcp", "bbr2"]);

/** How a group answers congestion. */
export function trafficOf(group: Pick<GroupSettings, "cc" | "ecn">): Traffic {
  if (group.ecn === "l4s" || (group.ecn === "auto" && SCALABLE.has(group.cc))) return "l4s";
  return group.ecn === "classic" ? "classic-ecn" : "classic";
}

/** A colour for each group, then for each UDP source: as states count them. */
export function groupColours(theme: Theme, settings: Settings): string[] {
  const used = new Set<string>();
  const rest = [theme.aqm.fq_codel, theme.aqm.pie, theme.aqm.codel, ...theme.rest];
  const free = (wanted: string): string => {
    const colour = used.has(wanted) ? (rest.find((one) => one !== undefined && !used.has(one)) ?? wanted) : wanted;
    used.add(colour);
    return colour;
  };
  return [
    ...settings.groups.map((group) => free(trafficColour(theme, trafficOf(group)))),
    ...settings.udp.map(() => free(trafficColour(theme, "udp"))),
  ];
}

/** `A · Prague`: names of groups, then of UDP sources. */
export const groupNames = (settings: Settings): string[] => [
  ...settings.groups.map((group) =>
    groupOf(group.name, ccName(group.cc, group.ecn === "classic" && group.cc !== "prague")),
  ),
  ...settings.udp.map((udp) => groupOf(udp.name, UDP)),
];

/** L and C by name, a single queue by its discipline. */
export function queueHue(theme: Theme, kind: string, queue: string): string {
  if (queue === "L") return theme.l4s;
  return queue === "C" ? theme.classic : (theme.aqm[kind] ?? theme.udp);
}
