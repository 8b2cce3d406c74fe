import { expect, it } from "vitest";
import { tipHead, tipLine } from "../src/figure";
import { compare } from "../src/page/table";
import { keyName } from "../src/words/names";
import { digits, ms, percent, quantity, rate, ratio } from "../src/words/numbers";

it("numbers are as precise as they are useful", () => {
  expect([0.5743, 15.24, 148.2, 1000, 0].map((v) => digits(v))).toEqual(["0.574", "15.2", "148", "1000", "0"]);
  expect([ms(0.5743), ms(15.24), ms(148.2)]).toEqual(["0.57 ms", "15 ms", "148 ms"]);
  expect([percent(0.9991), percent(0.0871), percent(0.00012)]).toEqual(["99.9 %", "8.7 %", "0.012 %"]);
  expect([rate(4e7), rate(1.5e9), rate(512e3)]).toEqual(["40 Mb/s", "1.5 Gb/s", "512 kb/s"]);
  expect([ratio(1.52), ratio(0.15)]).toEqual(["1.5×", "1 : 6.7"]);
});

it("quantities and keys are spelled out", () => {
  expect([quantity("40mbit"), quantity("10ms"), quantity("dualpi2")]).toEqual([
    ["40", "Mb/s"],
    ["10", "ms"],
    ["dualpi2", ""],
  ]);
  expect([keyName("link.rate"), keyName("group.*.rtt"), keyName("group.A.flows")]).toEqual([
    "link rate",
    "RTT",
    "flows A",
  ]);
});

it("a table sorts numbers inside text, and what is absent last", () => {
  expect(["40mbit", undefined, "4mbit", "12mbit"].sort(compare)).toEqual(["4mbit", "12mbit", "40mbit", undefined]);
  expect(([3, undefined, 1] as (number | undefined)[]).sort((a, b) => compare(a, b)).slice(0, 2)).toEqual([1, 3]);
});

it("names in tooltips are text, whatever a scenario has in them", () => {
  const name = '<img src=x onerror="alert(1)">';
  for (const tip of [tipHead(name), tipHead(name, 0.75), tipLine("#123456", name, name), tipLine(name, "", "")]) {
    expect(tip).not.toContain("<img");
    expect(tip).toContain("&lt;img src=x onerror=&quot;alert(1)&quot;&gt;");
  }
});
