/** The rules of FlowSpec bans for neighbors with different policies, from the ban engine to the routes. */
import { beforeEach, describe, expect, test } from "bun:test";
import { neighbor, neighborPolicy } from "../../test/fixtures/bgp/bgp.ts";
import { address } from "../../test/fixtures/host-rows.ts";
import { attackOn, classified, harness, started, under } from "../../test/fixtures/mitigation/ban-engine.ts";
import { floodPackets } from "../../test/fixtures/packets/sampled-packets.ts";
import { seededRandom } from "../../test/fixtures/seeded-random.ts";
import type { SampledPacket } from "../detection/attack/sample.ts";
import type { FlowspecRoute } from "../mitigation/announcer.ts";
import type { Ban } from "../mitigation/ban.ts";
import { attackRules } from "../mitigation/rules/attack-rules.ts";
import { ANY_RULES, type FlowspecSupport } from "../mitigation/rules/flowspec-support.ts";
import { type Rule, ruleText, wideRule } from "../mitigation/rules/rule.ts";
import { NOTHING_KNOWN } from "../mitigation/separability.ts";
import { hostPrefix } from "../net/prefix.ts";
import { exactly } from "../net/range.ts";
import type { BgpNeighbor } from "./bgp-config.ts";
import { NeighborRuleFinder } from "./neighbor-rules.ts";

const VICTIM = address("192.0.2.1");
const ALL = address("198.51.100.2");
const SIMPLE = address("198.51.100.3");
const NONE = address("198.51.100.4");
const PRECISE = "dst 192.0.2.1/32 proto tcp dst-port 443 tcp-flags syn,!ack length 40 discard";
const SIMPLER = "dst 192.0.2.1/32 proto tcp dst-port 443 tcp-flags syn discard";

let finder: NeighborRuleFinder;
let packets: readonly SampledPacket[] | null;
/** In place of those that are found; null: those. */
let rules: readonly Rule[] | null;
let made: ReturnType<typeof harness>;

function neighborWith(at: BgpNeighbor["address"], changes: Partial<FlowspecSupport> | null): BgpNeighbor {
  const flowspec = { ...ANY_RULES, communities: null, rules: null, ...changes };
  const policy = changes === null ? {} : { policy: neighborPolicy({ name: at, flowspec }) };
  return neighbor({ address: at, ...policy });
}

const simple = neighborWith(SIMPLE, { fields: ["protocol", "destination_port", "tcp_flags"], unsetFlags: false });
const portsOnly = neighborWith(NONE, { fields: ["source_port"] });

function open(...neighbors: readonly BgpNeighbor[]): void {
  finder = new NeighborRuleFinder({ speaker: "managed", neighbors });
  made = harness(
    { ...under({ method: "flowspec" }), maxActiveBans: 100, evidenceWaitMs: 1000 },
    {
      makeRules: (...request) => {
        if (rules === null) return attackRules(...request);
        return { rules, matchesAll: false, separability: NOTHING_KNOWN };
      },
      observed: (attack) => (packets === null ? null : { attack, packets, profile: null }),
      neighborRules: (request) => finder.rulesFor(request),
    },
  );
}

const syns = () => classified(attackOn(VICTIM), "syn_flood");
const only = () => [...made.engine.active.values()][0] as Ban;
const announced = () =>
  made.announcer.routes.map((route) => {
    const { rule, only: readers, except } = route as FlowspecRoute;
    return [ruleText(rule), readers, except];
  });
const tick = (atMs: number) => {
  finder.tick();
  made.engine.tick(atMs);
};

beforeEach(() => {
  rules = null;
  packets = floodPackets("syn_flood", { count: 512, victim: VICTIM, random: seededRandom(1) });
});

describe("a ban with FlowSpec", () => {
  test("has other rules for the neighbors that cannot match all, and says how many nothing replaces", () => {
    open(neighborWith(ALL, null), simple, portsOnly);
    made.engine.attacksChanged([started(syns())], 0);
    expect(announced()).toEqual([
      [PRECISE, undefined, [SIMPLE, NONE]],
      [SIMPLER, [SIMPLE], undefined],
    ]);
    expect(only().measure).toMatchObject({
      neighborRules: [
        { neighbors: [SIMPLE], leftOut: 0 },
        { neighbors: [NONE], rules: [], leftOut: 1 },
      ],
    });
    expect(only().method).toBe("flowspec");
  });

  test("keeps them while nothing changes, to the object, and has them after a reload", () => {
    open(neighborWith(ALL, null));
    made.engine.attacksChanged([started(syns())], 0);
    expect(announced()).toEqual([[PRECISE, undefined, undefined]]);
    finder.reload({ speaker: "managed", neighbors: [neighborWith(ALL, null), simple] });
    tick(250);
    const ban = only();
    expect(announced()).toEqual([
      [PRECISE, undefined, [SIMPLE]],
      [SIMPLER, [SIMPLE], undefined],
    ]);
    tick(500);
    made.engine.attackClassified(syns(), 750, "newer");
    expect(only()).toBe(ban);
    finder.reload({ speaker: "managed", neighbors: [neighborWith(ALL, null)] });
    tick(1000);
    expect(announced()).toEqual([[PRECISE, undefined, undefined]]);
  });

  test("of which no neighbor can match a rule has the fallback at once", () => {
    open(portsOnly);
    made.engine.attacksChanged([started(syns())], 0);
    expect([only().method, only().fallback]).toEqual([
      "blackhole",
      "no rule separates the attack from the users of its victim",
    ]);
    tick(60_000);
    expect(only().method).toBe("blackhole");
  });

  test("has those of its rules that a neighbor can match and has room for, where no packets are known", () => {
    packets = null;
    open(neighborWith(ALL, null), neighborWith(SIMPLE, { rulesPerBan: 1, fields: ["protocol"] }));
    const [long, first, second] = [
      { packetLengths: exactly(500) },
      { protocols: exactly(17) },
      { protocols: exactly(1) },
    ];
    rules = [long, first, second].map((fields) => ({
      ...wideRule(hostPrefix(VICTIM), { kind: "discard" }),
      ...fields,
    }));
    made.engine.attacksChanged([started(attackOn(VICTIM))], 0);
    tick(5_000);
    expect(announced().map(([, , except]) => except)).toEqual([[SIMPLE], undefined, [SIMPLE]]);
    expect(only().measure).toMatchObject({ neighborRules: [{ neighbors: [SIMPLE], leftOut: 2 }] });
  });
});
