import { expect, test } from "bun:test";
import type { ConfiguredWire, HostgroupConfigWire } from "../../src/http/wire/configured.ts";
import { isSet, settingsForm, settingsOrder, thresholdLabel } from "./group-settings.ts";

const group = (settings?: HostgroupConfigWire["settings"]) =>
  ({ name: "web", thresholds: { pps: 300, mbps: 50 }, ...(settings && { settings }) }) as HostgroupConfigWire;
const SET = {
  thresholds: { pps: 9000, tcp_pps: 0 },
  mitigation: "flowspec" as const,
  protected_whitelist: ["203.0.113.7", "203.0.113.16/28"],
};

test("the form has a field for each metric that is on or set, and is filled in with what is set", () => {
  expect(settingsForm(group())).toEqual({ thresholds: { pps: "", mbps: "" }, mitigation: "", spared: "" });
  const { thresholds, spared } = settingsForm(group({ ...SET, by: "anna" }));
  expect(thresholds).toEqual({ pps: "9000", mbps: "", tcp_pps: "0" });
  expect(spared).toBe("203.0.113.7, 203.0.113.16/28");
});

test("an order has what is filled in, and keeps what was set", () => {
  expect(settingsOrder(settingsForm(group()))).toEqual({});
  expect(settingsOrder(settingsForm(group({ ...SET, by: "anna" })))).toEqual(SET);
  const form = { ...settingsForm(group()), thresholds: { pps: " 2000 ", mbps: "" } };
  expect(settingsOrder(form)).toEqual({ thresholds: { pps: 2000 } });
});

test("an order without an answer is looked for in the configuration", () => {
  const configured = (settings?: HostgroupConfigWire["settings"]): ConfiguredWire => ({
    hostgroups: [group(settings)],
  });
  expect(isSet("web", SET, configured({ ...SET, by: "anna", at: "2026-03-01T12:00:00.000Z" }))).toBe(true);
  expect(isSet("web", SET, configured({ ...SET, thresholds: { pps: 8000 } }))).toBe(false);
  const listed = (...protected_whitelist: string[]) => isSet("web", SET, configured({ ...SET, protected_whitelist }));
  expect(listed("203.0.113.16/28", "203.0.113.7/32")).toBe(true);
  expect(listed("203.0.113.16/28", "203.0.113.8")).toBe(false);
  expect([isSet("web", {}, configured()), isSet("web", {}, configured(SET))]).toEqual([true, false]);
});

test("labels have the unit", () => {
  expect(["pps", "mbps", "flows_per_sec"].map(thresholdLabel)).toEqual([
    "Packets, per second",
    "Bandwidth, Mbit/s",
    "New flows, per second",
  ]);
});
