/** Which neighbor gets which route by its policy: each method, family, action and form of communities, and each refusal. */
import { describe, expect, test } from "bun:test";
import { blackhole, flow, loopback, neighbor, neighborPolicy, SPEAKER_ASN } from "../../test/fixtures/bgp/bgp.ts";
import { address } from "../../test/fixtures/host-rows.ts";
import { communitiesOf, prefix } from "../../test/fixtures/networks.ts";
import type { Route } from "../mitigation/announcer.ts";
import { ANY_RULES, FLOWSPEC_FIELDS } from "../mitigation/rules/flowspec-support.ts";
import type { Rule } from "../mitigation/rules/rule.ts";
import { exactly } from "../net/range.ts";
import type { BgpNeighbor } from "./bgp-config.ts";
import { markOf } from "./neighbor-mark.ts";
import { NeighborPolicies } from "./neighbor-policies.ts";
import { type NeighborPolicy, NO_CHANGES } from "./policy-config.ts";
import { ROUTE_FAMILIES } from "./route-family.ts";

const AT = loopback(2);
const V4 = "203.0.113.7/32";
const V6 = "2001:db8::7/128";
const limit = { kind: "rate_limit", bytesPerSecond: 1000 } as const;

/** What routes of hostgroups may have. */
const AT_GROUPS = [
  { policy: "p", communities: communitiesOf("65000:9") },
  { policy: "q", communities: communitiesOf("65000:8") },
];

function policies(changes: Partial<NeighborPolicy> | null, more: Partial<BgpNeighbor> = {}): NeighborPolicies {
  const policy = changes === null ? {} : { policy: neighborPolicy({ name: "p", ...changes }) };
  const neighbors = [neighbor({ ...policy, ...more })];
  return new NeighborPolicies({ speaker: "managed", localAsn: SPEAKER_ASN, neighbors, communitiesAt: AT_GROUPS });
}

/** A route of each method and family; rules with each action. */
const ROUTES: Readonly<Record<string, Route>> = Object.fromEntries(
  [V4, V6].flatMap((text): [string, Route][] => {
    const family = text === V4 ? 4 : 6;
    return [
      [`blackhole ${family}`, blackhole(text)],
      [`divert ${family}`, blackhole(text, { isDivert: true })],
      [`discard ${family}`, flow(text)],
      [`limit ${family}`, flow(text, { action: limit })],
      [`packets ${family}`, { ...flow(text), routers: { kind: "rate_limit_packets", packetsPerSecond: 9 } }],
      [`redirect ${family}`, { ...flow(text), routers: { kind: "redirect", to: "rt:65000:1" } }],
      [
        `next hop ${family}`,
        { ...flow(text), routers: { kind: "redirect", to: family === 4 ? "192.0.2.9" : "2001:db8::1" } },
      ],
      [`mark ${family}`, { ...flow(text), routers: { kind: "mark", dscp: 10 } }],
    ];
  }),
);
const NAMES = Object.keys(ROUTES);
const rules = NAMES.filter((name) => ROUTES[name]?.kind === "flowspec");
const of = (...words: readonly string[]) => NAMES.filter((name) => words.some((word) => name.includes(word)));

/** Why routes do not get to a neighbor, with their names. */
type Kept = Readonly<Record<string, readonly string[]>>;

const NO = { blackhole: of("blackhole"), divert: of("divert"), flowspec: rules };
const takesNo = (...methods: (keyof typeof NO)[]): Kept =>
  Object.fromEntries(methods.map((method) => [`its policy p takes no ${method} routes`, NO[method]]));

describe("a neighbor", () => {
  test.each<[string, Partial<NeighborPolicy> | null, Partial<BgpNeighbor>, Kept]>([
    ["without a policy", null, {}, {}],
    ["with one that limits nothing", {}, {}, {}],
    ["in dry run", null, { dryRun: true }, { "it is in dry run": NAMES }],
    ["for blackholes", { methods: ["blackhole"] }, {}, takesNo("divert", "flowspec")],
    ["for diverts", { methods: ["divert"] }, {}, takesNo("blackhole", "flowspec")],
    ["for rules", { methods: ["flowspec"] }, {}, takesNo("blackhole", "divert")],
    ["without rules", { methods: ["blackhole", "divert"] }, {}, takesNo("flowspec")],
    ...ROUTE_FAMILIES.map((family): [string, Partial<NeighborPolicy>, object, Kept] => {
      const [, digit = "", kind = ""] = /^ipv(\d)-(\w+)$/.exec(family) ?? [];
      const kept = NAMES.filter(
        (name) => name.endsWith(digit) && (ROUTES[name]?.kind === "unicast") === (kind === "unicast"),
      );
      const families = ROUTE_FAMILIES.filter((each) => each !== family);
      return [`without ${family}`, { families }, {}, { [`its policy p has no IPv${digit} ${kind}`]: kept }];
    }),
    [
      "that takes prefixes up to /24",
      { lengths: { 4: { from: 8, to: 24 }, 6: { from: 0, to: 128 } } },
      {},
      { "its policy p takes no /32, only /8-/24": ["blackhole 4", "divert 4"] },
    ],
    [
      "that takes one length of IPv6",
      { lengths: { 4: { from: 0, to: 32 }, 6: { from: 48, to: 48 } } },
      {},
      { "its policy p takes no /128, only /48": ["blackhole 6", "divert 6"] },
    ],
  ])("%s is kept from its routes alone, with the reason", (_, changes, more, kept) => {
    const made = policies(changes, more);
    const causes = Object.fromEntries(
      Object.entries(kept).flatMap(([cause, names]) => names.map((one) => [one, cause])),
    );
    for (const [name, route] of Object.entries(ROUTES)) {
      const cause = causes[name] ?? null;
      expect(made.refusalAt(AT, route), name).toBe(cause);
      expect(made.problemOf(route), name).toBe(cause);
      expect(made.keptFrom(route), name).toEqual(cause === null ? [] : [{ neighbor: AT, cause }]);
      expect(made.marksOf(route), name).toEqual(cause === null ? [] : [markOf(AT, "policy")]);
    }
  });

  test.each<[Partial<Rule>, string]>([
    [{ source: prefix("198.51.100.0/24") }, "source"],
    [{ protocols: exactly(17) }, "protocol"],
    [{ sourcePorts: exactly(53) }, "source port"],
    [{ destinationPorts: exactly(53) }, "destination port"],
    [{ tcpFlags: { set: 2, unset: 0 } }, "tcp flags"],
    [{ packetLengths: exactly(40) }, "packet length"],
    [{ fragment: true }, "fragment"],
    [{ sourcePorts: [...exactly(53), ...exactly(123)] }, "several values in a field"],
    [{ destinationPorts: [{ from: 1, to: 9 }] }, "a range of values"],
    [{ tcpFlags: { set: 2, unset: 16 } }, "TCP flags that must be unset"],
  ])("whose routers do not match %j is not sent such a rule, and others are", (fields, lacking) => {
    const own =
      Object.keys(fields).length === 1 ? FLOWSPEC_FIELDS.filter((f) => f.replaceAll("_", " ") !== lacking) : [];
    const words = { ranges: true, lists: true, unsetFlags: true };
    const [ranges, lists, unsetFlags] = [
      "a range of values",
      "several values in a field",
      "TCP flags that must be unset",
    ].map((text) => text !== lacking);
    const without = { ...ANY_RULES, ...words, ranges, lists, unsetFlags, fields: own } as typeof ANY_RULES;
    const made = policies({ flowspec: { ...without, communities: null, rules: null } });
    expect(made.refusalAt(AT, flow(V4, fields))).toBe(`its policy p cannot match ${lacking}`);
    expect(made.refusalAt(AT, flow(V4))).toBeNull();
    expect(policies({}).refusalAt(AT, flow(V4, fields))).toBeNull();
  });

  test.each([
    ["standard", "65000:1", "65000:2"],
    // Rules have no extended communities of a policy: the configuration refuses them.
    ["extended", "rt:65000:1", "65000:2"],
    ["large", "4200000000:1:2", "4200000000:3:4"],
  ])(
    "gets routes as they are, or by the variant of its policy, which the speaker knows: %s communities",
    (form, unicast, ofRules) => {
      expect(NAMES.flatMap((name) => policies({}).marksOf(ROUTES[name] as Route))).toEqual([]);
      const changes = { ...NO_CHANGES, communities: communitiesOf(unicast), med: 7, prepend: 3 };
      const flowspec = { ...ANY_RULES, communities: communitiesOf(ofRules), rules: 5 };
      const made = policies({ blackhole: changes, divert: { ...changes, nextHop: address("192.0.2.9") }, flowspec });
      const { variants, neighbors } = made.exportTerms();
      expect(neighbors).toEqual([AT]);
      for (const [name, route] of Object.entries(ROUTES)) {
        const [mark = "", ...others] = made.marksOf(route);
        expect(others, form).toEqual([]);
        const variant = variants.find((each) => each.mark === mark);
        const isRule = route.kind === "flowspec";
        expect(variant?.communities, `${form} ${name}`).toEqual(isRule ? flowspec.communities : changes.communities);
        expect(variant?.nextHop ?? null, name).toBe(name === "divert 4" ? address("192.0.2.9") : null);
        const metrics = isRule ? { med: null, prepend: null } : { med: 7, prepend: { asn: SPEAKER_ASN, times: 3 } };
        expect(variant, name).toMatchObject(metrics);
      }
      expect(made.rooms).toEqual([{ neighbor: AT, rules: 5 }]);
    },
  );

  test("gets an order's communities in place of those of its policy, and its next hop all the same", () => {
    const changes = { ...NO_CHANGES, communities: communitiesOf("65000:1"), nextHop: address("192.0.2.9") };
    const made = policies({ blackhole: changes });
    const [mark] = made.marksOf(blackhole(V4, { areCommunitiesOrdered: true }));
    const { variants } = made.exportTerms();
    expect(variants.find((each) => each.mark === mark)).toMatchObject({ communities: null, nextHop: "192.0.2.9" });
    expect(
      policies({ blackhole: { ...changes, nextHop: null } }).marksOf(blackhole(V4, { areCommunitiesOrdered: true })),
    ).toEqual([]);
  });

  test("gets the communities of a hostgroup's routes for its policy in place of those of the policy", () => {
    const made = policies({ blackhole: { ...NO_CHANGES, communities: communitiesOf("65000:1") } });
    const [mark] = made.marksOf(blackhole(V4, { communitiesAt: AT_GROUPS }));
    const { variants } = made.exportTerms();
    expect(variants.find((each) => each.mark === mark)?.communities).toEqual(communitiesOf("65000:9"));
    const others = blackhole(V4, { communitiesAt: AT_GROUPS.slice(1) });
    const [other] = made.marksOf(others);
    expect(variants.find((each) => each.mark === other)?.communities).toEqual(communitiesOf("65000:1"));
    const ordered = blackhole(V4, { communitiesAt: AT_GROUPS, areCommunitiesOrdered: true });
    expect(made.marksOf(ordered)).toEqual([]);
  });

  test("that an order does not name is kept from it; with an external speaker the order is for all, or it fails", () => {
    const ordered = (...neighbors: string[]) => blackhole(V4, { neighbors });
    const made = policies(null, { name: "edge" });
    for (const named of ["edge", AT]) expect(made.refusalAt(AT, ordered(named))).toBeNull();
    expect(made.refusalAt(AT, ordered("other"))).toBe("the order is for other neighbors");
    // A reload may have taken it away.
    expect(made.problemOf(ordered("other", "third"))).toBe("no neighbor that it is ordered for is configured");
    const external = new NeighborPolicies({
      speaker: "external",
      localAsn: 1,
      neighbors: [neighbor()],
      communitiesAt: [],
    });
    expect(external.problemOf(ordered("edge"))).toBe("neighbors can be chosen with speaker managed only");
    expect(external.problemOf(blackhole(V4))).toBeNull();
  });
});

test("why an order reaches no neighbor is the reason of a neighbor that it names, not of one before it", () => {
  const ports = neighborPolicy({
    ...{ name: "ports", methods: ["flowspec"] },
    flowspec: { ...ANY_RULES, fields: ["protocol"], communities: null, rules: null },
  });
  const neighbors = [
    neighbor({ name: "first" }),
    neighbor({ address: address("192.0.2.9"), name: "second", policy: ports }),
  ];
  const made = new NeighborPolicies({ speaker: "managed", localAsn: SPEAKER_ASN, neighbors, communitiesAt: [] });
  const route = { ...flow(V4, { packetLengths: exactly(40) }), neighbors: ["second"], except: ["192.0.2.9"] };
  expect(made.problemOf(route)).toBe("its policy ports cannot match packet length");
  const said = { ...flow(V4, { protocols: exactly(17) }), except: ["192.0.2.9"] };
  expect(made.refusalAt("192.0.2.9", said)).toBe("it has other rules, within what its policy says");
});

describe("a route that encloses a longer prefix", () => {
  const short = { lengths: { 4: { from: 8, to: 24 }, 6: { from: 0, to: 48 } } };
  const wide = (encloses: number) => blackhole("203.0.113.0/24", { encloses });

  test("is for the neighbors alone whose policy takes that one's length not, but its own", () => {
    expect(policies(short).refusalAt(AT, wide(32))).toBeNull();
    expect(policies(short).refusalAt(AT, wide(24))).toBe("it takes the /24 itself");
    expect(policies({}).refusalAt(AT, wide(32))).toBe("it takes the /32 itself");
    expect(policies(null).refusalAt(AT, wide(32))).toBe("it takes the /32 itself");
    const shorter = { lengths: { ...short.lengths, 4: { from: 8, to: 22 } } };
    expect(policies(shorter).refusalAt(AT, wide(32))).toBe("its policy p takes no /24, only /8-/22");
  });

  test("that is not announced is the reason beside the length", () => {
    const narrow = blackhole(V4, { notEnclosed: "203.0.113.0/24 is not announced: so" });
    const cause = "its policy p takes no /32, only /8-/24; 203.0.113.0/24 is not announced: so";
    expect(policies(short).refusalAt(AT, narrow)).toBe(cause);
  });
});
