/** The scrub rule document, field by field (docs/interface.md#rule-document), over a real listener. */

import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { Value } from "@sinclair/typebox/value";
import { buildScrub } from "../../src/config/sections/scrub.ts";
import { RuleDocumentWire } from "../../src/http/wire/scrub-document.ts";
import type { DivertMeasure } from "../../src/mitigation/measure.ts";
import type { Rule } from "../../src/mitigation/rules/rule.ts";
import { exactly } from "../../src/net/range.ts";
import { ScrubChannel } from "../fixtures/scrub/scrub-channel.ts";
import { divertedBan } from "../fixtures/scrub/scrubbing.ts";
import { ban, NOON } from "../fixtures/views.ts";

let channel: ScrubChannel;

beforeEach(() => {
  channel = new ScrubChannel();
});
afterEach(() => channel.stop());

const SECOND = "192.0.2.2";
const second = (changes = {}) => divertedBan({ target: SECOND, ...changes });
const advance = (ms: number) => channel.server.clock.advance(ms);
const textOf = async () => (await channel.poll()).text();
/** A field of each ban. */
const each = async (field: string, options = {}) => (await channel.document(options)).bans.map((wire) => wire[field]);
const expiry = async () => String((await each("expires_at"))[0]).slice(11, 19);

test("rule document version is 1, and bans is an array where there is nothing #rule-document-version", async () => {
  expect(await textOf()).toBe('{"version":1,"bans":[]}');
});

test("rule document ban has target, prefix, method, expires_at and flowspec, in these bytes #rule-document-ban", async () => {
  channel.change(divertedBan({ rules: [{ protocols: exactly(17), sourcePorts: [{ from: 53, to: 53 }] }] }));
  const rule = '{"dst":"192.0.2.1/32","proto":17,"src_port":53,"action":"discard"}';
  const fields =
    '"target":"192.0.2.1","prefix":"192.0.2.1/32","method":"divert","expires_at":"2026-03-01T12:10:00.000Z"';
  expect(await textOf()).toBe(`{"version":1,"bans":[{${fields},"flowspec":[${rule}]}]}`);
});

test("rule document dry_run marks a virtual ban, and is absent else; all is as the schema says #rule-document-dry-run", async () => {
  const action = { kind: "rate_limit", bytesPerSecond: 5 } as const;
  const limit = { action, protocols: exactly(6), tcpFlags: { set: 2, unset: 0 } };
  channel.change(divertedBan({ dryRun: true, rules: [limit, { fragment: true }] }), second());
  expect(await each("dry_run")).toEqual([true, undefined]);
  expect([...Value.Errors(RuleDocumentWire, await channel.document())]).toEqual([]);
});

test("rule document scrub is what a node does beside the rules, in these keys, and absent where it does nothing #rule-document-scrub", async () => {
  const scrub = buildScrub({ profile: "dns", tcp: "reset", source_mbps: 8, learned_mbps: 8 }, []);
  const { profile: _name, isAlways: _always, isOnNodes: _nodes, ...filter } = scrub;
  const scrubbed = divertedBan();
  channel.change({ ...scrubbed, measure: { ...(scrubbed.measure as DivertMeasure), filter } }, second());
  const [first, other] = (await channel.document()).bans as { scrub?: Record<string, unknown> }[];
  expect(first?.scrub).toMatchObject({
    ...{ tcp: "reset", dns: true, learned_bytes: 1e6, source_bytes: 1e6, source_length: 32 },
    services: expect.arrayContaining([{ proto: 17, dst_port: 53 }]),
  });
  expect(other).not.toHaveProperty("scrub");
  expect([...Value.Errors(RuleDocumentWire, await channel.document())]).toEqual([]);
});

describe("rule document lists every active diverted victim #rule-document-lists", () => {
  test("to every node and caller, wherever its traffic goes", async () => {
    channel.change(divertedBan({ node: "s1" }), second({ node: "s2" }));
    for (const options of [{}, { token: "bound2", node: "s2" }, { token: "admin", node: null }])
      expect(await each("target", options)).toEqual(["192.0.2.1", SECOND]);
  });

  test("and no other ban: not one by another method, one that is over, or one without a way to a scrubber", async () => {
    const diverted = divertedBan({ id: "d" });
    channel.change(ban({ id: "b" }), { ...diverted, id: "w", state: "withdrawn" });
    channel.change({ ...diverted, id: "n", measure: { ...(diverted.measure as DivertMeasure), route: null } });
    expect(await each("target")).toEqual([]);
    channel.change(diverted);
    expect(await each("target")).toHaveLength(1);
    channel.change({ ...ban({ id: "d" }) });
    expect(await each("target")).toEqual([]);
  });

  test("sorted by target, IPv4 first, then by number, and a prefix before its first address", async () => {
    const prefix = { family: 4, address: "192.0.2.9", length: 24, text: "192.0.2.9/24" } as never;
    const targets = ["2001:db8::1", "192.0.2.10", "192.0.2.9", "10.0.0.1"];
    channel.change(...targets.map((target) => divertedBan({ target })));
    channel.change(divertedBan({ target: "192.0.2.9", id: "wide", prefix }));
    const sorted = ["10.0.0.1/32", "192.0.2.9/24", "192.0.2.9/32", "192.0.2.10/32", "2001:db8::1/128"];
    expect(await each("prefix")).toEqual(sorted);
  });
});

describe("rule document flowspec", () => {
  const dst = "192.0.2.1/32";
  const port = (number: number) => ({ from: number, to: number });
  const RULES = [
    { protocols: exactly(17), packetLengths: [{ from: 100, to: 200 }] },
    { protocols: exactly(17), sourcePorts: [port(53), port(123)] },
  ];

  test("has the rules to drop, and only those for traffic to the victim #rule-document-flowspec", async () => {
    channel.change(
      divertedBan({ rules: [{ protocols: exactly(17) }, { destination: null, source: null, protocols: exactly(6) }] }),
    );
    expect(await each("flowspec")).toEqual([[{ dst, proto: 17, action: "discard" }]]);
  });

  test("is absent where nothing separates the attack from the rest: all that reaches the node would be dropped #rule-document-flowspec", async () => {
    channel.change(divertedBan({ rules: [{}], matchesAll: true }), second());
    expect((await channel.document()).bans.map((wire) => "flowspec" in wire)).toEqual([false, false]);
  });

  test("has further match fields for nodes whose report lists them, and simpler rules or none for others, as the inventory shows #rule-document-flowspec", async () => {
    channel.change(divertedBan({ rules: RULES }));
    await channel.report("s1", { capabilities: ["packet_length", "port_ranges"] });
    const [length, ports] = [{ packet_length: { min: 100, max: 200 } }, { src_ports: [port(53), port(123)] }];
    const rules = (...matches: readonly object[]) => [
      matches.map((match) => ({ dst, proto: 17, ...match, action: "discard" })),
    ];
    expect(await each("flowspec")).toEqual(rules(length, ports));
    for (const other of [
      { token: "bound2", node: "s2" },
      { token: "admin", node: null },
    ])
      expect(await each("flowspec", other)).toEqual(rules({ src_port: 53 }, { src_port: 123 }));
    expect(await channel.node("s1")).not.toHaveProperty("left_out_rules");
    expect(await channel.node("s2")).toMatchObject({ split_rules: 1, left_out_rules: 1 });
  });

  test("of other nodes are simpler rules that were found for their capabilities, as the inventory shows #rule-document-flowspec-of-other-nodes", async () => {
    const diverted = divertedBan({ node: "s2", rules: RULES });
    const measure = diverted.measure as DivertMeasure;
    const [rule] = measure.rules.rules;
    const nodeRules = [{ support: "", rules: [{ ...(rule as Rule), packetLengths: [] }], leftOut: 0 }];
    channel.change({ ...diverted, measure: { ...measure, nodeRules } });
    expect(await each("flowspec", { token: "bound2", node: "s2" })).toEqual([[{ dst, proto: 17, action: "discard" }]]);
    expect(await channel.node("s2")).not.toHaveProperty("left_out_rules");
  });
});

describe("rule document expires_at #rule-document-expires-at", () => {
  test.each([
    [600_000, "12:10:00"],
    [600_001, "12:10:10"],
    [609_999, "12:10:10"],
  ])("is the TTL to mirror, in steps of 10 s: %d ms are %s", async (ms, time) => {
    channel.change(divertedBan({ expiresAt: NOON + ms }));
    expect(await expiry()).toBe(time);
  });

  test("that is extended changes the bytes later, with those of others, and wakes who waits", async () => {
    const [a, b] = [divertedBan(), second()];
    channel.change(a, b);
    const before = await textOf();
    const { answer } = await channel.parked();
    channel.change({ ...a, expiresAt: NOON + 603_000 }, { ...b, expiresAt: NOON + 606_000 });
    advance(9999);
    expect([await textOf(), await channel.holds()]).toEqual([before, 1]);
    advance(1);
    expect(await (await answer).text()).toBe(before.replaceAll("12:10:00", "12:10:10"));
  });

  test("of a ban that would be over by then changes them sooner: by a quarter of its time", async () => {
    const short = divertedBan({ expiresAt: NOON + 10_000 });
    channel.change(short);
    await channel.document();
    channel.change({ ...short, expiresAt: NOON + 12_000 });
    advance(2999);
    expect(await expiry()).toBe("12:00:10");
    advance(1);
    expect(await expiry()).toBe("12:00:20");
  });

  test("that is extended within its step changes nothing", async () => {
    const pushed = divertedBan({ expiresAt: NOON + 600_001 });
    channel.change(pushed);
    const before = await textOf();
    const { pending } = channel.server.clock;
    channel.change({ ...pushed, expiresAt: NOON + 609_000 });
    expect([channel.server.clock.pending, await textOf()]).toEqual([pending, before]);
  });
});

test("the same content of a rule document is the same bytes and ETag, however it came about #rule-document-bytes", async () => {
  channel.change(divertedBan(), second());
  const [text, etag] = [await textOf(), await channel.etag()];
  channel.change(divertedBan({ state: "withdrawn" }), second({ state: "withdrawn" }));
  expect(await channel.etag()).not.toBe(etag);
  channel.change(second({ id: "b2" }), divertedBan({ id: "a2" }));
  expect([await textOf(), await channel.etag()]).toEqual([text, etag]);
});
