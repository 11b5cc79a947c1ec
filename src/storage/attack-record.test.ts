import { expect, test } from "bun:test";
import { attack } from "../../test/fixtures/browser/views.ts";
import { attackToWire } from "../http/wire/attack.ts";
import { attackOfRecord } from "./attack-record.ts";

test("an attack comes back as it was written", () => {
  const spread = attack({ target: null, scope: "group", carpet: { prefix: "203.0.113.0/24", hosts: 40 } });
  for (const each of [attack(), spread]) expect(attackOfRecord(JSON.stringify(each))).toEqual(each);
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

test("one of a build that knew neither carpets, kinds nor baselines is an attack on its host, and can be shown", () => {
  const { carpet: _, classification: __, lastingRise: ___, ...before } = attack();
  const { thresholdSource, shares, dominantShareGate } = before.reason;
  const record = JSON.stringify({ ...before, reason: { thresholdSource, shares, dominantShareGate } });
  expect(attackOfRecord(record)).toEqual(attack());
  expect(attackToWire({ attack: attackOfRecord(record), ban: null })).toEqual(
    attackToWire({ attack: attack(), ban: null }),
  );
});
