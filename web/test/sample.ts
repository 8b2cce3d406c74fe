// The made-up results that the tests of the Rust side draw as well.
import { readFileSync } from "node:fs";
import type { Data } from "../src/data";
import type { Lights } from "../src/lights/data";

const read = <T = Data>(name: string): T =>
  JSON.parse(readFileSync(new URL(`../../crates/report/tests/data/${name}.json`, import.meta.url), "utf8")) as T;

/** Three runs with curves. */
export const demo = (): Data => read("demo");
/** 75 runs over 25 conditions, without curves. */
export const sweep = (): Data => read("sweep");
/** The squares of two schedules, four mixes and two by two conditions. */
export const lights = (): Lights => read<Lights>("lights");
