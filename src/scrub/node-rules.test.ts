/** The rules of diverted bans for nodes with different capabilities, from the ban engine to the documents. */

import { beforeEach, describe, expect, test } from "bun:test";
import { address } from "../../test/fixtures/host-rows.ts";
import { ManualClock } from "../../test/fixtures/manual-clock.ts";
import {
  attackOn,
  classified,
  harness,
  lasts,
  policy,
  spreadOver,
  spreadTerms,
  started,
  under,
} from "../../test/fixtures/mitigation/ban-engine.ts";
import { ip, TCP_FLAGS, tcp } from "../../test/fixtures/packets/frames.ts";
import { floodPackets, ordinaryPackets, sampledPacket } from "../../test/fixtures/packets/sampled-packets.ts";
import { quietly } from "../../test/fixtures/scrub/quiet-observer.ts";
import { scrubbing } from "../../test/fixtures/scrub/scrubbing.ts";
import { seededRandom } from "../../test/fixtures/seeded-random.ts";
import type { SampledPacket } from "../detection/attack/sample.ts";
import type { Ban } from "../mitigation/ban.ts";
import type { DivertMeasure } from "../mitigation/measure.ts";
import { attackRules } from "../mitigation/rules/attack-rules.ts";
import { NODE_RULES_FOUND_MAX } from "../mitigation/rules/reader-rules.ts";
import { rulesText } from "../mitigation/rules/rule.ts";
import type { IpAddress } from "../net/address.ts";
import { RULE_CAPABILITIES } from "./rule-forms.ts";
import { type DocumentWatcher, ScrubNodes } from "./scrub-nodes.ts";

const VICTIM = address("192.0.2.1");
const PRECISE = "dst 192.0.2.1/32 proto tcp dst-port 443 tcp-flags syn,!ack length 40 discard";
const SIMPLER = "dst 192.0.2.1/32 proto tcp dst-port 443 tcp-flags syn discard";

let nodes: ScrubNodes;
let packets: readonly SampledPacket[];
/** Packets from the victim. */
let sent: readonly SampledPacket[];
/** How often packets were requested. */
let reads: number;
let engine: ReturnType<typeof harness>["engine"];
let changes: string[];

function open(stored: readonly Ban[] = []): void {
  changes = [];
  reads = 0;
  nodes = new ScrubNodes(quietly(scrubbing({ name: "old" }, { name: "new" }), new ManualClock()));
  const watcher: DocumentWatcher = {
    documentsChanged: (change) => {
      changes.push(change);
      nodes.refreshDocuments();
    },
    nodeChanged: (name) => changes.push(name),
    reloaded: () => {},
  };
  nodes.watch(watcher);
  const terms = { ...under({ method: "divert" }), spread: spreadTerms("divert") };
  const overrides = { ...terms, maxActiveBans: 100, evidenceWaitMs: 1000 };
  engine = harness(overrides, {
    makeRules: attackRules,
    observed(attack) {
      reads++;
      const { target, direction } = attack;
      const own = packets.filter(({ header }) => target === null || header.destination === target);
      const seen = direction === "outgoing" ? sent : own;
      return seen.length === 0 ? null : { attack, packets: seen, profile: null };
    },
    divertTo: (request) => nodes.divertTo(request),
    nodeRules: (request) => nodes.nodeRules(request),
    onChange: (ban) => nodes.banChanged(ban),
  }).engine;
  engine.restore({ bans: stored, attacks: stored.map(() => syns(VICTIM)) }, 0);
  for (const ban of stored) nodes.banChanged(ban);
}

const syns = (target: IpAddress) => classified(attackOn(target), "syn_flood");
const flood = (victim: IpAddress) => floodPackets("syn_flood", { count: 512, victim, random: seededRandom(1) });
const only = () => [...engine.active.values()][0] as Ban;
const report = (name: string, capabilities: readonly string[]) =>
  nodes.report(name, { text: "{}", loadMbps: null, capabilities });
const rulesOf = (name: string | null) => nodes.documentFor(name).bans.map(({ forms }) => rulesText(forms.rules));
/** As the service does. */
const tick = (atMs: number) => {
  nodes.tick();
  engine.tick(atMs);
};

beforeEach(() => {
  packets = flood(VICTIM);
  sent = [];
  open();
  report("new", RULE_CAPABILITIES);
});

describe("a diverted ban", () => {
  test("has the precise rules for a node that supports them, and simpler ones for others", () => {
    engine.attacksChanged([started(syns(VICTIM))], 0);
    expect([rulesOf("new"), rulesOf("old"), rulesOf(null)]).toEqual([[PRECISE], [SIMPLER], [SIMPLER]]);
    expect([...nodes.views()].map(({ leftOutRules }) => leftOutRules)).toEqual([0, 0]);
  });

  test("keeps them while nothing changes, to the object", () => {
    engine.attacksChanged([started(syns(VICTIM))], 0);
    const [ban, count] = [only(), changes.length];
    for (const at of [250, 500]) tick(at);
    engine.attackClassified(syns(VICTIM), 750, "newer");
    expect(only()).toBe(ban);
    expect(changes).toHaveLength(count);
  });

  test("gets them in the next tick after the capabilities of a node changed", () => {
    report("old", RULE_CAPABILITIES);
    engine.attacksChanged([started(syns(VICTIM))], 0);
    expect(only().measure).not.toHaveProperty("nodeRules");
    report("old", ["port_ranges"]);
    expect(rulesOf("old")).toEqual([""]);
    expect(nodes.leftOutRulesOf({ ...only(), measure: { ...only().measure, node: "old" } as never })).toBe(1);
    tick(250);
    expect([rulesOf("new"), rulesOf("old")]).toEqual([[PRECISE], [SIMPLER]]);
    report("old", RULE_CAPABILITIES);
    tick(500);
    expect([only().measure.kind, rulesOf("old")]).toEqual(["divert", [PRECISE]]);
    expect(only().measure).not.toHaveProperty("nodeRules");
  });

  test("keeps them over a restart, when no packets are known yet", () => {
    engine.attacksChanged([started(syns(VICTIM))], 0);
    const stored = JSON.parse(JSON.stringify(only())) as Ban;
    packets = [];
    open([stored]);
    tick(250);
    expect([rulesOf("old"), rulesOf(null)]).toEqual([[SIMPLER], [SIMPLER]]);
  });

  test("has them for a wider prefix that its attack spreads to", () => {
    const spread = (prefix: string) => classified(spreadOver(prefix), "syn_flood");
    engine.attacksChanged([started(spread("192.0.2.0/25"))], 0);
    expect(rulesOf("old")).toEqual([SIMPLER.replace("192.0.2.1/32", "192.0.2.0/25")]);
    packets = [];
    engine.attacksChanged([lasts(spread("192.0.2.0/24"))], 10);
    expect(rulesOf("old")).toEqual([SIMPLER.replace("192.0.2.1/32", "192.0.2.0/24")]);
  });

  test("of which no packets were known gets them when some are", () => {
    report("old", RULE_CAPABILITIES);
    engine.attacksChanged([started(syns(VICTIM))], 0);
    packets = [];
    report("old", []);
    tick(250);
    expect(rulesOf("old")).toEqual([""]);
    packets = flood(VICTIM);
    tick(500);
    expect(rulesOf("old")).toEqual([SIMPLER]);
  });

  test("is not looked at in each tick while its attack pauses", () => {
    report("old", RULE_CAPABILITIES);
    engine.attacksChanged([started(syns(VICTIM))], 0);
    packets = ordinaryPackets({ count: 200, victim: VICTIM, random: seededRandom(2) });
    report("old", []);
    tick(250);
    const before = reads;
    tick(500);
    expect([before > 0, reads]).toEqual([true, before]);
    expect([...nodes.views()].map(({ leftOutRules }) => leftOutRules)).toEqual([1, 0]);
  });

  test("lacks nothing if only rules for traffic from the victim are not supported", () => {
    const outgoing = { ...syns(VICTIM), id: "out", direction: "outgoing" } as const;
    const syn = tcp({ destinationPort: 443, flags: TCP_FLAGS.syn });
    sent = new Array<SampledPacket>(100).fill(sampledPacket(ip({ src: VICTIM, dst: "198.51.100.1" }, syn)));
    engine.attacksChanged([started(syns(VICTIM)), started(outgoing)], 0);
    engine.attackClassified(outgoing, 10);
    const { rules } = (only().measure as DivertMeasure).rules;
    expect(rules.map(({ destination }) => destination?.text)).toEqual(["192.0.2.1/32", undefined]);
    expect([...nodes.views()].map(({ leftOutRules }) => leftOutRules)).toEqual([0, 0]);
    expect([rulesOf("new"), rulesOf("old")]).toEqual([[PRECISE], [SIMPLER]]);
  });

  test("has them with the action of the terms", () => {
    engine.attacksChanged([started(syns(VICTIM))], 0);
    packets = [];
    const action = { kind: "rate_limit", bytesPerSecond: 1000 } as const;
    const flowspec = { action, sourceAnchored: false, minSourceConcentration: 0.8 };
    engine.reconfigure(policy({ ...under({ method: "divert", flowspec }), maxActiveBans: 100 }), 10);
    expect(rulesOf("old")).toEqual([SIMPLER.replace("discard", "rate-limit 0.008 Mbit/s")]);
  });
});

test("a change of capabilities finds rules for a few bans in each tick", () => {
  report("old", RULE_CAPABILITIES);
  const victims = Array.from({ length: NODE_RULES_FOUND_MAX + 1 }, (_, i) => address(`192.0.2.${i + 1}`));
  packets = victims.flatMap(flood);
  engine.attacksChanged(
    victims.map((victim) => started(syns(victim))),
    0,
  );
  report("old", []);
  const missing = () => rulesOf("old").filter((text) => text === "").length;
  expect(missing()).toBe(victims.length);
  tick(250);
  expect(missing()).toBe(1);
  tick(500);
  expect(missing()).toBe(0);
});

test("without nodes, polls without a node name get simpler rules", () => {
  nodes.reconfigure(null);
  engine.attacksChanged([started(syns(VICTIM))], 0);
  expect(rulesOf(null)).toEqual([SIMPLER]);
});
