import { expect, test } from "bun:test";
import { attack } from "../../test/fixtures/views.ts";
import { attackToWire } from "../http/wire/attack.ts";
import { attackOfRecord } from "./attack-record.ts";

test("an attack comes back as it was written", () => {
  const spread = attack({ target: null, scope: "group", carpet: { prefix: "203.0.113.0/24", hosts: 40 } });
  const volume = {
    ...{ beganAt: 1, durationMs: 200, packets: 40, bits: 320, peakPps: 200, peakBps: 1600, peakOverMs: 100 },
    dropped: { packets: 1, bits: 8 },
  };
  const timeline = [{ atMs: 1, kind: "announced", text: "a route", neighbor: "192.0.2.251" }] as const;
  for (const each of [attack(), spread, attack({ volume, timeline })])
    expect(attackOfRecord(JSON.stringify(each))).toEqual(each);
});

test("a sample of a build without origins has none", () => {
  const sample = {
    totalPackets: 0,
    topSources: [],
    topSourcePorts: [],
    topDestinationPorts: [],
    protocols: [],
    flows: [],
  };
  const record = JSON.stringify({ ...attack(), sample });
  expect(attackOfRecord(record).sample).toEqual({ ...sample, origins: null });
  expect(attackToWire({ attack: attackOfRecord(record), ban: null }).sample).not.toHaveProperty("top_asns");
});

test("one of a build that knew neither carpets, kinds, baselines nor volumes is an attack on its host, and can be shown", () => {
  const { carpet: _, classification: __, lastingRise: ___, volume: ____, timeline: _____, ...before } = attack();
  const { thresholdSource, shares, dominantShareGate } = before.reason;
  const record = JSON.stringify({ ...before, reason: { thresholdSource, shares, dominantShareGate } });
  expect(attackOfRecord(record)).toEqual(attack());
  expect(attackToWire({ attack: attackOfRecord(record), ban: null })).toEqual(
    attackToWire({ attack: attack(), ban: null }),
  );
});
