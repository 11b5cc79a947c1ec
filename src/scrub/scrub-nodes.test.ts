import { beforeEach, describe, expect, test } from "bun:test";
import { address } from "../../test/fixtures/host-rows.ts";
import { ManualClock } from "../../test/fixtures/manual-clock.ts";
import { divertedBan, scrubbing } from "../../test/fixtures/scrub/scrubbing.ts";
import type { Ban } from "../mitigation/ban.ts";
import { type Rule, wideRule } from "../mitigation/rules/rule.ts";
import { hostPrefix } from "../net/prefix.ts";
import { exactly } from "../net/range.ts";
import { readEnforced } from "./enforced-report.ts";
import { nodeFaultsText } from "./node-faults.ts";
import { RULE_CAPABILITIES } from "./rule-forms.ts";
import { ScrubNodes } from "./scrub-nodes.ts";
import type { ScrubbingConfig } from "./scrubbing-config.ts";

const STALE_MS = 15_000;
const HOPS = { nextHop: address("198.51.100.1"), nextHop6: null } as const;

let clock: ManualClock;
let reported: string[];
let rates: Map<string, number>;
let groups: Map<string, string>;

beforeEach(() => {
  clock = new ManualClock();
  reported = [];
  rates = new Map();
  groups = new Map();
});

function open(config: ScrubbingConfig | null): ScrubNodes {
  return new ScrubNodes({
    config,
    now: () => ({ wallMs: clock.wallMs(), monotonicMs: clock.monotonicMs() }),
    groupOf: ({ text }) => groups.get(text) ?? "global",
    mbpsOf: ({ id }: Ban) => rates.get(id) ?? null,
    observer: {
      reported: () => {},
      ruleSupportChanged: (name, missing) => reported.push(`${name} does not know ${missing.join()}`),
      liveness: (name, liveness) => reported.push(`${name} ${liveness}`),
      moved: () => reported.push("moved"),
      enforcementChanged: (name, faults) =>
        reported.push(`${name} ${faults === null ? "is well" : nodeFaultsText(faults)}`),
    },
  });
}

function seen(nodes: ScrubNodes, ...names: readonly string[]): void {
  for (const name of names) {
    nodes.pollStarted(name);
    nodes.pollEnded(name);
  }
}

const where = (
  nodes: ScrubNodes,
  target = "192.0.2.1",
  { group = "global", currentNode = null as string | null, rules = (): readonly Rule[] => [] } = {},
) => {
  const found = nodes.divertTo({ prefix: hostPrefix(address(target)), group, currentNode, rules });
  return found?.kind === "node" ? found.name : (found?.kind ?? null);
};

describe("a victim goes", () => {
  test("nowhere in particular without nodes", () => {
    expect([where(open(null)), where(open(scrubbing()))]).toEqual([null, null]);
  });

  test("to a node that is alive", () => {
    const nodes = open(scrubbing({ name: "s1" }, { name: "s2" }, { name: "s3" }));
    seen(nodes, "s2");
    for (let i = 1; i < 20; i++) expect(where(nodes, `192.0.2.${i}`)).toBe("s2");
  });

  test("to its node as before while that is unknown, and if it is new to one that is alive #node-unknown", () => {
    const nodes = open(scrubbing({ name: "s1" }, { name: "s2" }));
    const stateOf = (name: string) => (name === "s1" ? ("unknown" as const) : null);
    nodes.presence.join({ stateOf, seenMs: () => null }, () => {});
    clock.advance(STALE_MS + 1);
    expect([where(nodes), where(nodes, "192.0.2.1", { currentNode: "s1" })]).toEqual(["s1", "s1"]);
    seen(nodes, "s2");
    for (let i = 1; i < 20; i++) expect(where(nodes, `192.0.2.${i}`)).toBe("s2");
    expect(where(nodes, "192.0.2.1", { currentNode: "s1" })).toBe("s1");
    nodes.tick();
    expect(reported).toEqual(["s1 unknown", "s2 alive"]);
    expect([...nodes.views()].map(({ liveness }) => liveness)).toEqual(["unknown", "alive"]);
  });

  test("to one that serves its hostgroup and its family", () => {
    const six = { nextHop: null, nextHop6: address("2001:db8::1") };
    const nodes = open(scrubbing({ name: "s1", hostgroups: ["web"] }, { name: "s2", ...six }, { name: "s3", ...HOPS }));
    seen(nodes, "s1", "s2", "s3");
    expect(where(nodes, "2001:db8:1::1")).toBe("s2");
    for (let i = 1; i < 20; i++) expect(where(nodes, `192.0.2.${i}`)).toBe("s3");
    const ofWeb = Array.from({ length: 50 }, (_, i) => where(nodes, `192.0.2.${i}`, { group: "web" }));
    expect(new Set(ofWeb)).toEqual(new Set(["s1", "s3"]));
  });

  test("to none if no node accepts its family, whichever is alive", () => {
    const nodes = open(scrubbing({ name: "s1", ...HOPS }));
    expect(where(nodes, "2001:db8::1")).toBe("none");
    seen(nodes, "s1");
    expect(where(nodes, "2001:db8::1")).toBe("none");
  });

  test("to its current node, whichever others exist", () => {
    const nodes = open(scrubbing({ name: "s1" }, { name: "s2" }));
    seen(nodes, "s1", "s2");
    for (const currentNode of ["s1", "s2"]) expect(where(nodes, "192.0.2.1", { currentNode })).toBe(currentNode);
  });

  test.each<[string, ScrubbingConfig]>([
    ["is removed", scrubbing({ name: "s2" })],
    ["serves other hostgroups", scrubbing({ name: "s1", hostgroups: ["web"] }, { name: "s2" })],
    [
      "takes another family",
      scrubbing({ name: "s1", nextHop: null, nextHop6: address("2001:db8::1") }, { name: "s2" }),
    ],
  ])("elsewhere when a reload brings that its node %s", (_, config) => {
    const nodes = open(scrubbing({ name: "s1" }, { name: "s2" }));
    seen(nodes, "s1", "s2");
    nodes.reconfigure(config);
    expect(where(nodes, "192.0.2.1", { currentNode: "s1" })).toBe("s2");
  });
});

describe("a victim of an attack whose rules not all nodes support goes", () => {
  const wide = wideRule(hostPrefix(address("192.0.2.1")), { kind: "discard" });
  const plain = { ...wide, protocols: exactly(17) };
  const byLength = { ...wide, packetLengths: [{ from: 1, to: 2 }] };
  const everywhere = (nodes: ScrubNodes, ...rules: readonly Rule[]) =>
    new Set(Array.from({ length: 50 }, (_, i) => where(nodes, `192.0.2.${i}`, { rules: () => rules })));
  const report = (nodes: ScrubNodes, name: string, ...capabilities: string[]) =>
    nodes.report(name, { text: "{}", loadMbps: null, capabilities });
  let nodes: ScrubNodes;

  beforeEach(() => {
    nodes = open(scrubbing({ name: "s1" }, { name: "s2" }, { name: "s3" }));
    seen(nodes, "s1", "s2", "s3");
    report(nodes, "s2", "packet_length");
    report(nodes, "s3", ...RULE_CAPABILITIES);
  });

  test("to a node that can hold them all", () => {
    expect(everywhere(nodes, plain, byLength)).toEqual(new Set(["s2", "s3"]));
    expect(everywhere(nodes, plain)).toEqual(new Set(["s1", "s2", "s3"]));
  });

  test("while they are not known, to a node that can hold any", () => {
    expect(everywhere(nodes)).toEqual(new Set(["s3"]));
  });

  test("to its current node, or to any if no other is alive", () => {
    const rules = () => [byLength];
    expect(where(nodes, "192.0.2.1", { currentNode: "s1", rules })).toBe("s1");
    clock.advance(STALE_MS + 1);
    seen(nodes, "s1");
    expect(where(nodes, "192.0.2.1", { rules })).toBe("s1");
  });
});

describe("a node that is lost", () => {
  test("is left for another one to the millisecond, and not gone back to", () => {
    const nodes = open(scrubbing({ name: "s1" }, { name: "s2" }));
    nodes.pollStarted("s2");
    seen(nodes, "s1");
    clock.advance(STALE_MS);
    expect(where(nodes, "192.0.2.1", { currentNode: "s1" })).toBe("s1");
    clock.advance(1);
    expect(where(nodes, "192.0.2.1", { currentNode: "s1" })).toBe("s2");
    seen(nodes, "s1");
    expect(where(nodes, "192.0.2.1", { currentNode: "s2" })).toBe("s2");
  });

  test.each(["withdraw", "blackhole", "flowspec"] as const)("and the last one: %s", (onAllNodesLost) => {
    const nodes = open({ ...scrubbing({ name: "s1" }), onAllNodesLost });
    seen(nodes, "s1");
    clock.advance(STALE_MS + 1);
    const prefix = hostPrefix(address("192.0.2.1"));
    const lost = { kind: "lost", instead: onAllNodesLost } as const;
    for (const currentNode of ["s1", null]) {
      expect(nodes.divertTo({ prefix, group: "global", currentNode, rules: () => [] })).toEqual(lost);
    }
  });
});

describe("after a start", () => {
  test("a ban stays with its node, which did not poll yet, until that is lost", () => {
    const nodes = open(scrubbing({ name: "s1" }, { name: "s2" }));
    nodes.pollStarted("s2");
    clock.advance(STALE_MS);
    expect(where(nodes, "192.0.2.1", { currentNode: "s1" })).toBe("s1");
    clock.advance(1);
    expect(where(nodes, "192.0.2.1", { currentNode: "s1" })).toBe("s2");
  });

  test("a new ban goes to a node that did not poll yet if no other is alive", () => {
    const nodes = open(scrubbing({ name: "s1" }));
    expect(where(nodes)).toBe("s1");
    clock.advance(STALE_MS + 1);
    expect(where(nodes)).toBe("lost");
  });
});

describe("by load", () => {
  const config: ScrubbingConfig = {
    ...scrubbing({ name: "s1", capacityMbps: 1000 }, { name: "s2", capacityMbps: 4000 }),
    selection: "least_loaded",
  };
  const report = (nodes: ScrubNodes, name: string, loadMbps: number) =>
    nodes.report(name, { text: "{}", loadMbps, capabilities: [] });

  test("the node with the most room against its capacity is taken", () => {
    const nodes = open(config);
    seen(nodes, "s1", "s2");
    report(nodes, "s1", 400);
    report(nodes, "s2", 1200);
    expect(where(nodes)).toBe("s2");
    report(nodes, "s2", 2000);
    expect(where(nodes)).toBe("s1");
  });

  test("many bans at once do not all go to one node", () => {
    const nodes = open(config);
    seen(nodes, "s1", "s2");
    for (let i = 1; i <= 50; i++) {
      const node = where(nodes, `192.0.2.${i}`);
      nodes.banChanged(divertedBan({ target: `192.0.2.${i}`, node }));
    }
    expect([...nodes.views()].map(({ activeBans }) => activeBans)).toEqual([25, 25]);
  });

  test("bans count by the rate of their attacks", () => {
    const nodes = open(config);
    seen(nodes, "s1", "s2");
    for (let i = 1; i <= 50; i++) {
      const ban = divertedBan({ target: `192.0.2.${i}`, node: where(nodes, `192.0.2.${i}`) });
      rates.set(ban.id, 40);
      nodes.banChanged(ban);
    }
    expect([...nodes.views()].map(({ activeBans }) => activeBans)).toEqual([10, 40]);
  });
});

describe("reported", () => {
  test("is what becomes of a node, once each", () => {
    const nodes = open(scrubbing({ name: "s1" }, { name: "s2" }));
    nodes.tick();
    nodes.pollStarted("s1");
    for (let i = 0; i < 3; i++) nodes.tick();
    clock.advance(STALE_MS + 1);
    for (let i = 0; i < 3; i++) nodes.tick();
    nodes.pollEnded("s1");
    clock.advance(STALE_MS + 1);
    nodes.tick();
    expect(reported).toEqual(["s1 alive", "s2 lost", "s1 lost"]);
  });

  test("is a move from node to node, and no begin or end", () => {
    const nodes = open(scrubbing({ name: "s1" }, { name: "s2" }));
    const ban = divertedBan({ node: "s1" });
    nodes.banChanged(ban);
    nodes.banChanged(divertedBan({ node: "s2" }));
    nodes.banChanged({ ...ban, state: "withdrawn" });
    expect(reported).toEqual(["moved"]);
  });

  test("is what an agent does not know, when it first reports and when that changes", () => {
    const nodes = open(scrubbing({ name: "s1" }));
    for (const capabilities of [[], [], ["port_ranges", "protocol_ranges"], RULE_CAPABILITIES]) {
      nodes.report("s1", { text: "{}", loadMbps: null, capabilities });
    }
    expect(reported).toEqual([
      "s1 does not know port_ranges,tcp_flags_unset,packet_length,protocol_ranges",
      "s1 does not know tcp_flags_unset,packet_length",
      "s1 does not know ",
    ]);
  });
});

describe("the document of a node", () => {
  const targets = (nodes: ScrubNodes, name: string | null) =>
    nodes.documentFor(name).bans.map(({ ban }): string => ban.target);
  let nodes: ScrubNodes;

  beforeEach(() => {
    nodes = open(scrubbing({ name: "a", hostgroups: ["a"] }, { name: "b", hostgroups: ["b"] }, { name: "all" }));
    groups.set("192.0.2.1/32", "a").set("192.0.2.2/32", "b");
    for (const target of ["192.0.2.1", "192.0.2.2"]) nodes.banChanged(divertedBan({ target }));
  });

  test("has the victims of the hostgroups that it serves; without hostgroups, and without a name, all", () => {
    expect(targets(nodes, "a")).toEqual(["192.0.2.1"]);
    expect(targets(nodes, "b")).toEqual(["192.0.2.2"]);
    for (const name of ["all", null]) expect(targets(nodes, name)).toEqual(["192.0.2.1", "192.0.2.2"]);
  });

  test("stays the same object while only those of others change, and is shared by nodes with the same content", () => {
    const before = nodes.documentFor("b");
    expect(nodes.documentFor(null)).toBe(nodes.documentFor("all"));
    groups.set("192.0.2.3/32", "a");
    nodes.banChanged(divertedBan({ target: "192.0.2.3" }));
    expect(nodes.documentFor("b")).toBe(before);
    expect(targets(nodes, "a")).toEqual(["192.0.2.1", "192.0.2.3"]);
  });

  test("keeps a victim that it had until the ban ends, also one whose hostgroup it does not serve any more", () => {
    const ban = divertedBan({ target: "192.0.2.1", node: "a" });
    nodes.banChanged(ban);
    expect(targets(nodes, "a")).toEqual(["192.0.2.1"]);
    nodes.reconfigure(scrubbing({ name: "a", hostgroups: ["b"] }, { name: "all" }));
    expect(targets(nodes, "a")).toEqual(["192.0.2.1", "192.0.2.2"]);
    nodes.banChanged(divertedBan({ target: "192.0.2.1", node: "all" }));
    expect(targets(nodes, "a")).toEqual(["192.0.2.1", "192.0.2.2"]);
    nodes.banChanged({ ...ban, state: "withdrawn" });
    expect(targets(nodes, "a")).toEqual(["192.0.2.2"]);
  });

  test("follows a reload that gives hostgroups other prefixes", () => {
    expect(targets(nodes, "a")).toEqual(["192.0.2.1"]);
    groups.set("192.0.2.1/32", "b");
    nodes.reconfigure(nodes.config);
    expect([targets(nodes, "a"), targets(nodes, "b")]).toEqual([[], ["192.0.2.1", "192.0.2.2"]]);
  });
});

describe("a node that refuses the rules of a ban", () => {
  const refusal = (...prefixes: readonly string[]) => ({ refused_bans: [{ reason: "too far", prefixes }] });
  const report = (nodes: ScrubNodes, name: string, etag: string, more: object = {}) => {
    const enforced = readEnforced({ capabilities: ["refused_bans"], rules_etag: etag, ...more });
    nodes.report(name, { text: "{}", loadMbps: null, capabilities: [], enforced });
  };
  let nodes: ScrubNodes;

  beforeEach(() => {
    nodes = open(scrubbing({ name: "s1" }, { name: "s2" }, { name: "s3" }));
    seen(nodes, "s1", "s2", "s3");
    nodes.banChanged(divertedBan({ target: "192.0.2.1", node: "s1" }));
    for (const name of ["s1", "s2", "s3"]) nodes.documentSent(name, '"d"', nodes.documentFor(name));
  });

  test("loses that victim to one that has its rules in force, and keeps others", () => {
    report(nodes, "s1", '"d"', refusal("192.0.2.1/32"));
    report(nodes, "s3", '"d"');
    expect(where(nodes, "192.0.2.1", { currentNode: "s1" })).toBe("s3");
    expect(where(nodes, "192.0.2.9", { currentNode: "s1" })).toBe("s1");
    expect(nodes.refusing(divertedBan())).toEqual([
      { node: "s1", fault: expect.objectContaining({ kind: "refused", reason: "too far" }) },
    ]);
  });

  test("and all others that are alive, too: it is as if all were lost, and the cause is reported", () => {
    for (const name of ["s1", "s2"]) report(nodes, name, '"d"', refusal("192.0.2.1/32"));
    nodes.reconfigure(scrubbing({ name: "s1" }, { name: "s2" }));
    const request = { prefix: hostPrefix(address("192.0.2.1")), group: "global", currentNode: "s1", rules: () => [] };
    expect(nodes.divertTo(request)).toEqual({
      kind: "lost",
      instead: "withdraw",
      why: "no scrubbing node enforces its rules",
    });
    clock.advance(STALE_MS + 1);
    expect(nodes.divertTo(request)).toEqual({ kind: "lost", instead: "withdraw" });
  });

  test("is reported once when it begins and once when it is over", () => {
    reported.length = 0;
    for (let i = 0; i < 3; i++) {
      report(nodes, "s1", '"d"', refusal("192.0.2.1/32"));
      nodes.tick();
    }
    expect(reported.filter((text) => text.includes("refuses"))).toEqual([
      "s1 it refuses 1 ban, first 192.0.2.1/32: too far",
    ]);
    report(nodes, "s1", '"d"');
    nodes.tick();
    nodes.tick();
    expect(reported.filter((text) => text === "s1 is well")).toHaveLength(1);
  });

  test("does not get the ban any more that went from it, and is well after a reload that gives it other hostgroups #node-enforcement-ends", () => {
    groups.set("192.0.2.1/32", "a");
    report(nodes, "s1", '"d"', refusal("192.0.2.1/32"));
    nodes.banChanged(divertedBan({ target: "192.0.2.1", node: "s2" }));
    nodes.tick();
    nodes.reconfigure(scrubbing({ name: "s1", hostgroups: ["b"] }, { name: "s2", hostgroups: ["a"] }));
    expect(nodes.documentFor("s1").bans).toEqual([]);
    expect(nodes.refusing(divertedBan())).toEqual([]);
    nodes.tick();
    expect(reported.at(-1)).toBe("s1 is well");
  });

  test("is forgotten by a reload that removes it", () => {
    report(nodes, "s1", '"d"', refusal("192.0.2.1/32"));
    nodes.reconfigure(scrubbing({ name: "s2" }));
    nodes.reconfigure(scrubbing({ name: "s1" }, { name: "s2" }));
    expect(nodes.refusing(divertedBan())).toEqual([]);
  });
});
