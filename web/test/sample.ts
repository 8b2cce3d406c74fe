// The made-up results that the tests of the Rust side draw as well.
import { readFileSync } from "node:fs";
import type { Data } from "../src/data";

const read = (name: string): Data =>
  JSON.parse(readFileSync(new URL(`../../crates/report/tests/data/${name}.json`, import.meta.url), "utf8")) as Data;

/** Three runs with curves. */
export const demo = (): Data => read("demo");
/** 75 runs over 25 conditions, without curves. */
export const sweep = (): Data => read("sweep");
