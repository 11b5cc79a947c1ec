import { expect, test } from "bun:test";
import type { IncidentRowWire } from "../../src/http/wire/incident.ts";
import {
  byDay,
  customerOf,
  customerOfSteps,
  customerPath,
  customerSteps,
  incidentsOf,
  trendText,
} from "./customers.ts";

const NOW = Date.parse("2026-03-15T12:00:00.000Z");

function incident(daysAgo: number, changes: Partial<IncidentRowWire> = {}): IncidentRowWire {
  return {
    id: `i${daysAgo}`,
    state: "closed",
    group: "web",
    direction: "incoming",
    started_at: new Date(NOW - daysAgo * 86_400_000).toISOString(),
    attacks: 2,
    active_attacks: 0,
    victims: 2,
    prefixes: [],
    prefix_count: 0,
    peak_pps: 10,
    peak_mbps: 10,
    note_count: 0,
    open_handovers: 0,
    ...changes,
  };
}

test("a customer is the tenant, else the hostgroup, and has a page", () => {
  expect(customerOf({ tenant: "acme", group: "web" })).toEqual({ kind: "tenant", name: "acme" });
  const group = customerOf({ group: "a/b" });
  expect(group).toEqual({ kind: "hostgroup", name: "a/b" });
  expect(customerOfSteps(customerSteps(group).slice(1))).toEqual(group);
  expect(customerPath(group)).toBe("/api/v1/incidents?hostgroup=a%2Fb");
  for (const steps of [["i1"], ["of", "tenant"], ["of", "zone", "x"]]) expect(customerOfSteps(steps)).toBeNull();
});

test("incidents of a tenant in the hostgroup are the tenant's", () => {
  const all = [incident(0, { tenant: "acme" }), incident(1)];
  expect(incidentsOf({ kind: "hostgroup", name: "web" }, all)).toEqual([incident(1)]);
  expect(incidentsOf({ kind: "tenant", name: "acme" }, all)).toEqual(all);
});

test("incidents are added up by the day on which they began", () => {
  const days = byDay([
    incident(0),
    incident(3, { peak_mbps: 40, peak_sampling_error: 0.1 }),
    incident(3, { attacks: 5 }),
  ]);
  expect(days.map(({ incidents, attacks, peakMbps, peakError }) => [incidents, attacks, peakMbps, peakError])).toEqual([
    [1, 2, 10, undefined],
    [2, 7, 40, 0.1],
  ]);
  expect((days[0]?.day ?? "") > (days[1]?.day ?? "")).toBe(true);
});

test("the trend is of seven days and the seven before", () => {
  const text = trendText([incident(1), incident(6.9), incident(7.1), incident(20)], NOW);
  expect(text).toBe("4 (2 incidents) in the last 7 days; 2 (1 incident) in the 7 days before");
  expect(trendText([], NOW)).toBe("none in the last 7 days; none in the 7 days before");
});
