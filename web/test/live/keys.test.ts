import { expect, it } from "vitest";
import * as keys from "../../src/live/keys";
import type { Param } from "../../src/live/protocol";

const param = (type: Param["type"], more: Partial<Param> = {}): Param => ({
  name: "p",
  about: "",
  accepts: "",
  type,
  ...more,
});

it("values are written as --set takes them", () => {
  expect([0, 500e3, 1.5e6, 20e6, 1e9].map(keys.rateText)).toEqual(["0bit", "500kbit", "1.5mbit", "20mbit", "1gbit"]);
  expect([0, 0.5, 15, 1000, 0.001].map(keys.timeText)).toEqual(["0s", "500us", "15ms", "1s", "1us"]);
  expect(keys.perSecond(10)).toBe("10/s");
});

it("each control sets its key", () => {
  expect(keys.linkRate(20e6)).toEqual({ "link.rate": "20mbit" });
  expect(keys.flows("A", 3)).toEqual({ "group.A.flows": "3" });
  expect(keys.rtt("A", 10)).toEqual({ "group.A.rtt": "10ms" });
  expect(keys.control("A", "prague")).toEqual({ "group.A.cc": "prague" });
  expect(keys.web("A", 100)).toEqual({ "web.A.rate": "100/s" });
  expect(keys.app("A", 4e6)).toEqual({ "app.A.rate": "4mbit" });
  expect(keys.udpRate("U", 0)).toEqual({ "udp.U.rate": "0bit" });
  expect(keys.udpEcn("U", "ect1")).toEqual({ "udp.U.ecn": "ect1" });
  expect(keys.discipline("pie")).toEqual({ aqm: "pie" });
  expect(keys.param("target", "15ms")).toEqual({ "aqm.target": "15ms" });
  expect(keys.param("target", "")).toEqual({ "aqm.target": null });
  expect(keys.loss("far", 0.0001)).toEqual({ "path.far.loss": "0.0001" });
  expect(keys.loss("far", 0)).toEqual({ "path.far.loss": "0" });
  expect(keys.jitter("far", 0.5)).toEqual({ "path.far.jitter": "500us" });
  expect(keys.uplinkRate(5e6)).toEqual({ "uplink.rate": "5mbit" });
  expect(keys.discipline("pie", "uplink.aqm")).toEqual({ "uplink.aqm": "pie" });
  expect(keys.profile("linux", "uplink.aqm")).toEqual({ "uplink.aqm.profile": "linux" });
  expect(keys.param("target", "", "uplink.aqm")).toEqual({ "uplink.aqm.target": null });
});

it("a field shows times in ms, and reads them with or without a unit", () => {
  const time = param("time", { min: 1e-6, max: 4 });
  expect([
    keys.shown(time, "15ms"),
    keys.shown(time, "1us"),
    keys.shown(time, "2s"),
    keys.shown(time, undefined),
  ]).toEqual(["15", "0.001", "2000", ""]);
  expect([keys.entered(time, "17"), keys.entered(time, "1.5s"), keys.entered(time, "250us")]).toEqual([
    "17ms",
    "1.5s",
    "250us",
  ]);
});

it("what is entered is held within the limits", () => {
  expect(keys.entered(param("time", { min: 0, max: 4 }), "9000")).toBe("4s");
  expect(keys.entered(param("count", { min: 0, max: 255 }), "999")).toBe("255");
  expect(keys.entered(param("number", { min: 0.01, max: 1 }), "0")).toBe("0.01");
  expect(keys.entered(param("packets", { min: 1, max: 100 }), "0")).toBe("1p");
  expect(keys.entered(param("bytes", { min: 1514 }), "10b")).toBe("1514b");
  expect(keys.limits(param("time", { min: 0, max: 4 }))).toEqual({ min: 0, max: 4000 });
});

it("what is no number is left for the server to judge", () => {
  expect(keys.entered(param("time", { min: 0, max: 4 }), " soon ")).toBe("soon");
  expect(keys.entered(param("time-or-packets", { max: 4 }), "5p")).toBe("5p");
  expect(keys.entered(param("bytes"), "30mb")).toBe("30mb");
  expect(keys.entered(param("count"), "")).toBe("");
});
