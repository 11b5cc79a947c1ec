import { expect, test } from "bun:test";
import {
  attackOn,
  classified,
  flush,
  harness,
  PACKET,
  policy,
  started,
  under,
} from "../../../test/fixtures/mitigation/ban-engine.ts";
import type { SampledPacket } from "../../detection/attack/sample.ts";
import { attackRules } from "./attack-rules.ts";

test("a reload that changes the action of rules, before a restarted service has seen packets, changes that alone", async () => {
  const before = harness(under({ method: "flowspec" }), { makeRules: attackRules });
  const attack = classified(attackOn(), "udp_flood");
  before.engine.attacksChanged([started(attack)], 0);
  await flush(before.engine);
  const rules = before.announcer.wanted;
  expect(rules).not.toEqual(["flow dst 192.0.2.1/32"]);
  let packets: readonly SampledPacket[] = [];
  const after = harness(under({ method: "flowspec" }), {
    makeRules: attackRules,
    observed: (of) => (packets.length === 0 ? null : { attack: of, packets, profile: null }),
  });
  after.engine.restore({ bans: [...before.disk.values()], attacks: [attack] }, 1);
  const action = { kind: "rate_limit", bytesPerSecond: 1000 } as const;
  const flowspec = { action, sourceAnchored: false, minSourceConcentration: 0.8 };
  after.engine.reconfigure(policy(under({ method: "flowspec", flowspec })), 2);
  expect(after.announcer.wanted).toEqual(rules);
  expect(after.announcer.routes).toMatchObject([{ rule: { action } }]);
  expect([...after.engine.active.values()]).toMatchObject([{ measure: { matchesAll: false } }]);
  const [{ measure } = { measure: null }] = after.engine.active.values();
  after.engine.tick(250);
  expect([...after.engine.active.values()][0]?.measure).toBe(measure as never);
  // Rules of the new terms are made as soon as there are packets.
  packets = [PACKET];
  after.engine.tick(500);
  expect([...after.engine.active.values()][0]?.measure).not.toBe(measure as never);
  expect(after.announcer.wanted).toEqual(rules);
});
