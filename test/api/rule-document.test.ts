/** The scrub rule document, field by field (docs/interface.md#rule-document), over a real listener. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { Value } from "@sinclair/typebox/value";
import { RuleDocumentWire } from "../../src/http/wire/scrub-document.ts";
import type { DivertMeasure } from "../../src/mitigation/measure.ts";
import type { Rule } from "../../src/mitigation/rules/rule.ts";
import { ban, NOON } from "../fixtures/browser/views.ts";
import { ScrubChannel } from "../fixtures/scrub/scrub-channel.ts";
import { divertedBan } from "../fixtures/scrub/scrubbing.ts";

let channel: ScrubChannel;

beforeEach(() => {
  channel = new ScrubChannel();
});
afterEach(() => channel.stop());

const textOf = async () => (await channel.poll()).text();

test("rule document version is 1, and bans is an array where there is nothing", async () => {
  expect(await textOf()).toBe('{"version":1,"bans":[]}');
});

test("rule document ban has target, prefix, method, expires_at and flowspec, in these bytes", async () => {
  channel.change(divertedBan({ rules: [{ protocol: 17, sourcePorts: [{ from: 53, to: 53 }] }] }));
  const rule = '{"dst":"192.0.2.1/32","proto":17,"src_port":53,"action":"discard"}';
  const wire = `{"target":"192.0.2.1","prefix":"192.0.2.1/32","method":"divert","expires_at":"2026-03-01T12:10:00.000Z","flowspec":[${rule}]}`;
  expect(await textOf()).toBe(`{"version":1,"bans":[${wire}]}`);
});

test("rule document is as its schema says", async () => {
  const limit = {
    action: { kind: "rate_limit", bytesPerSecond: 5 },
    protocol: 6,
    tcpFlags: { set: 2, unset: 0 },
  } as const;
  channel.change(divertedBan({ dryRun: true, rules: [limit, { fragment: true }] }));
  expect([...Value.Errors(RuleDocumentWire, await channel.document())]).toEqual([]);
});

describe("rule document lists every active diverted victim", () => {
  test("to every node and whoever asks, wherever its traffic goes", async () => {
    channel.change(divertedBan({ node: "s1" }), divertedBan({ target: "192.0.2.2", node: "s2" }));
    for (const options of [{}, { token: "bound2", node: "s2" }, { token: "admin", node: null }]) {
      const { bans } = await channel.document(options);
      expect(bans.map(({ target }) => target)).toEqual(["192.0.2.1", "192.0.2.2"]);
    }
  });

  test("and no other ban: not one by another method, one that is over, or one without a way to a scrubber", async () => {
    const diverted = divertedBan({ id: "d" });
    channel.change(ban({ id: "b" }), { ...diverted, id: "w", state: "withdrawn" });
    channel.change({ ...diverted, id: "n", measure: { ...(diverted.measure as DivertMeasure), route: null } });
    expect((await channel.document()).bans).toEqual([]);
    channel.change(diverted);
    expect((await channel.document()).bans).toHaveLength(1);
    channel.change({ ...ban({ id: "d" }) });
    expect((await channel.document()).bans).toEqual([]);
  });

  test("sorted by target, IPv4 first, then by number, and a prefix before its first address", async () => {
    const prefix = { family: 4, address: "192.0.2.9", length: 24, text: "192.0.2.9/24" } as never;
    for (const target of ["2001:db8::1", "192.0.2.10", "192.0.2.9", "10.0.0.1"])
      channel.change(divertedBan({ target }));
    channel.change(divertedBan({ target: "192.0.2.9", id: "wide", prefix }));
    const { bans } = await channel.document();
    expect(bans.map((each) => each["prefix"])).toEqual([
      "10.0.0.1/32",
      "192.0.2.9/24",
      "192.0.2.9/32",
      "192.0.2.10/32",
      "2001:db8::1/128",
    ]);
  });
});

describe("rule document flowspec", () => {
  test("has the rules to drop, and only those for traffic to the victim", async () => {
    channel.change(divertedBan({ rules: [{ protocol: 17 }, { destination: null, source: null, protocol: 6 }] }));
    expect((await channel.document()).bans[0]?.["flowspec"]).toEqual([
      { dst: "192.0.2.1/32", proto: 17, action: "discard" },
    ]);
  });

  test("is absent where nothing tells the attack from the rest: all that reaches the node would be dropped", async () => {
    channel.change(divertedBan({ rules: [{}], matchesAll: true }), divertedBan({ target: "192.0.2.2" }));
    const { bans } = await channel.document();
    expect(bans).toHaveLength(2);
    for (const each of bans) expect(each).not.toHaveProperty("flowspec");
  });

  const lengthRule = { protocol: 17, packetLength: { min: 100, max: 200 } };
  const portsRule = {
    protocol: 17,
    sourcePorts: [
      { from: 53, to: 53 },
      { from: 123, to: 123 },
    ],
  };

  test("has further match fields for nodes whose report lists them, and simpler rules or none for others", async () => {
    channel.change(divertedBan({ rules: [lengthRule, portsRule] }));
    await channel.report("s1", { capabilities: ["packet_length", "port_ranges"] });
    const rulesFor = async (options: object) => (await channel.document(options)).bans[0]?.["flowspec"];
    const dst = "192.0.2.1/32";
    expect(await rulesFor({})).toEqual([
      { dst, proto: 17, packet_length: { min: 100, max: 200 }, action: "discard" },
      { dst, proto: 17, src_ports: portsRule.sourcePorts, action: "discard" },
    ]);
    for (const other of [
      { token: "bound2", node: "s2" },
      { token: "admin", node: null },
    ]) {
      expect(await rulesFor(other)).toEqual([
        { dst, proto: 17, src_port: 53, action: "discard" },
        { dst, proto: 17, src_port: 123, action: "discard" },
      ]);
    }
  });

  test("of other nodes are simpler rules that were found for the capabilities of a node", async () => {
    const diverted = divertedBan({ node: "s2", rules: [lengthRule] });
    const measure = diverted.measure as DivertMeasure;
    const [rule] = measure.rules.rules;
    const simpler = { ...(rule as Rule), packetLength: null, sourcePorts: portsRule.sourcePorts };
    channel.change({
      ...diverted,
      measure: { ...measure, nodeRules: [{ support: "", rules: [simpler], leftOut: 0 }] },
    });
    await channel.report("s1", { capabilities: ["packet_length"] });
    const rulesFor = async (options: object) => (await channel.document(options)).bans[0]?.["flowspec"];
    const dst = "192.0.2.1/32";
    expect(await rulesFor({})).toEqual([
      { dst, ...{ proto: 17, packet_length: { min: 100, max: 200 } }, action: "discard" },
    ]);
    expect(await rulesFor({ token: "bound2", node: "s2" })).toEqual(
      [53, 123].map((port) => ({ dst, proto: 17, src_port: port, action: "discard" })),
    );
    const { nodes } = (await channel.inventory()).body;
    expect(nodes[1]).toMatchObject({ split_rules: 1 });
    expect(nodes[1]).not.toHaveProperty("left_out_rules");
  });

  test("the difference is shown in the inventory and the metrics", async () => {
    channel.change(divertedBan({ rules: [lengthRule, portsRule] }));
    await channel.report("s1", { capabilities: ["packet_length", "port_ranges"] });
    const { nodes } = (await channel.inventory()).body;
    expect(nodes[0]).not.toHaveProperty("left_out_rules");
    expect(nodes[1]).toMatchObject({ split_rules: 1, left_out_rules: 1 });
  });
});

test("rule document dry_run marks a virtual ban, and is absent else", async () => {
  channel.change(divertedBan({ dryRun: true }), divertedBan({ target: "192.0.2.2" }));
  expect((await channel.document()).bans.map((each) => each["dry_run"])).toEqual([true, undefined]);
});

describe("rule document expires_at", () => {
  test.each([
    [600_000, "12:10:00.000"],
    [600_001, "12:10:10.000"],
    [609_999, "12:10:10.000"],
  ])("is the TTL to mirror, in steps of 10 s: %d ms are %s", async (ms, time) => {
    channel.change(divertedBan({ expiresAt: NOON + ms }));
    expect((await channel.document()).bans[0]?.["expires_at"]).toBe(`2026-03-01T${time}Z`);
  });

  test("that is pushed on changes the bytes later, with those of others", async () => {
    const [a, b] = [divertedBan(), divertedBan({ target: "192.0.2.2" })];
    channel.change(a, b);
    const before = await textOf();
    channel.change({ ...a, expiresAt: NOON + 603_000 }, { ...b, expiresAt: NOON + 606_000 });
    channel.server.clock.advance(9999);
    expect(await textOf()).toBe(before);
    channel.server.clock.advance(1);
    expect(await textOf()).toBe(before.replaceAll("12:10:00", "12:10:10"));
  });

  test("of a ban that would be over by then changes them sooner: by a quarter of its time", async () => {
    const short = divertedBan({ expiresAt: NOON + 10_000 });
    channel.change(short);
    await channel.document();
    channel.change({ ...short, expiresAt: NOON + 12_000 });
    channel.server.clock.advance(2999);
    expect((await channel.document()).bans[0]?.["expires_at"]).toBe("2026-03-01T12:00:10.000Z");
    channel.server.clock.advance(1);
    expect((await channel.document()).bans[0]?.["expires_at"]).toBe("2026-03-01T12:00:20.000Z");
  });

  test("that is pushed on within its step changes nothing", async () => {
    const pushed = divertedBan({ expiresAt: NOON + 600_001 });
    channel.change(pushed);
    const before = await textOf();
    const pending = channel.server.clock.pending;
    channel.change({ ...pushed, expiresAt: NOON + 609_000 });
    expect(channel.server.clock.pending).toBe(pending);
    expect(await textOf()).toBe(before);
  });
});

test("rule document bytes: the same content is the same bytes and the same ETag, however it came about", async () => {
  const [a, b] = [divertedBan(), divertedBan({ target: "192.0.2.2" })];
  channel.change(a, b);
  const [text, etag] = [await textOf(), await channel.etag()];
  channel.change({ ...a, state: "withdrawn" }, { ...b, state: "withdrawn" });
  expect(await channel.etag()).not.toBe(etag);
  channel.change({ ...b, id: "b2" }, { ...a, id: "a2" });
  expect([await textOf(), await channel.etag()]).toEqual([text, etag]);
});
