import { describe, expect, test } from "bun:test";
import type { AttackWire } from "../../src/http/wire/attack.ts";
import type { AuditEventWire } from "../../src/http/wire/audit.ts";
import type { BanWire } from "../../src/http/wire/ban.ts";
import { banWire } from "../../test/fixtures/ban-wire.ts";
import {
  effectPackets,
  effectText,
  holderText,
  lackText,
  ownerText,
  searchText,
  stateOrder,
  wantedText,
} from "./measure-words.ts";
import { blockOperators, chosenOf, isLiftable, liftVerb, type Measure, measuresOf } from "./measures.ts";

const ban = (changes: Partial<BanWire> = {}) => banWire({ announcement: "announced", ...changes });
const block = {
  source: "198.51.100.9",
  victim: "192.0.2.1",
  created_at: "2026-03-01T12:00:00Z",
  expires_at: "2026-03-01T13:00:00Z",
  dry_run: false,
  reason: "scan",
};
const node = { name: "scrub1", alive: true, holding: true, active_bans: 2 };
const rule = { proto: 17, src_port: 53, action: "discard" as const };
const none = { bans: [], blocks: [], nodes: [], operators: new Map<string, string>() };
const ofBan = (changes: Partial<BanWire> = {}) => measuresOf({ ...none, bans: [ban(changes)] })[0] as Measure;
const ofBlock = (changes: Partial<typeof block> & { readonly installed?: false } = {}) =>
  measuresOf({ ...none, blocks: [{ ...block, ...changes }] })[0] as Measure;

test("all that is in force is one list, a ban followed by its rules, and each row has a key of its own", () => {
  const bans = [ban({ method: "flowspec", flowspec: [rule, { ...rule, src_port: 123 }] }), ban({ state: "withdrawn" })];
  const rows = measuresOf({ ...none, bans, blocks: [block], nodes: [node] });
  expect(rows.map(({ kind }) => kind)).toEqual(["ban", "rule", "rule", "block", "node"]);
  expect(new Set(rows.map(({ key }) => key)).size).toBe(5);
  expect(rows.map(isLiftable)).toEqual([true, false, false, true, false]);
  // A list that changes has the same rows for bans that did not.
  expect(measuresOf({ ...none, bans })[0]).toBe(rows[0] as Measure);
});

test("what the filter leaves out is not acted on, though it stays selected", () => {
  const all = measuresOf({ ...none, bans: [ban(), ban({ prefix: "192.0.2.2/32" })] });
  const picked = new Set([...all.map(({ key }) => key), "of one that has ended"]);
  expect(chosenOf(all, picked, () => true)).toEqual(all);
  expect(chosenOf(all, picked, ({ key }) => key.startsWith("192.0.2.2/"))).toEqual([all[1] as Measure]);
  expect(chosenOf(all, new Set(), () => true)).toEqual([]);
});

test("the button says what it ends", () => {
  expect([[ofBan()], [ofBlock()], [ofBan(), ofBlock()]].map(liftVerb)).toEqual([
    "Unban",
    "Unblock",
    "Unban and unblock",
  ]);
});

test("what is wanted", () => {
  expect(wantedText(ofBan({ method: "flowspec", flowspec: [rule] }))).toBe("FlowSpec, 1 rule");
  expect(wantedText(ofBan({ method: "divert", node: "scrub1" }))).toBe("Divert to scrub1");
  const watched = { escalation: [{ after_seconds: 0, action: "none" as const }], escalation_step: 0 };
  expect(wantedText(ofBan(watched))).toBe("Watch only");
});

describe("who has it", () => {
  const lacking = { missing_at: [{ neighbor: "192.0.2.250", cause: "no session" }] };
  test.each([
    ["the neighbors that were sent it", ofBan({ sent_to: ["a", "b", "c"] }), "a, b, c"],
    ["of many, a few by name", ofBan({ sent_to: ["a", "b", "c", "d"] }), "a, b, 2 more"],
    ["and which was not", ofBan({ sent_to: ["a"], ...lacking }), "a (not 192.0.2.250)"],
    ["this machine too, where it counts drops", ofBan({ sent_to: ["a"], dropped_packets: 0 }), "a, this machine"],
    ["for a tenant, who does not see the neighbors", ofBan(), "a neighbor"],
    ["of a diversion perhaps the hook", ofBan({ method: "divert" }), "a neighbor or the scrubbing center"],
    ["no neighbor without a session", ofBan({ announcement: "no_session" }), "not applied"],
    ["not known without a speaker", ofBan({ announcement: "speaker_down" }), "not known"],
    ["no neighbor in dry run", ofBan({ dry_run: true }), "not applied"],
    ["a block is in the kernel", ofBlock(), "this machine"],
    ["or not yet", ofBlock({ installed: false }), "not applied"],
  ] as const)("%s", (_, measure, expected) => {
    expect(holderText(measure)).toBe(expected);
  });

  test("of a rule it is not known whether it is the one that is missing", () => {
    const [, ofRule] = measuresOf({ ...none, bans: [ban({ flowspec: [rule], sent_to: ["a"], ...lacking })] });
    expect(holderText(ofRule as Measure)).toBe("a (perhaps not 192.0.2.250)");
    expect(lackText(ofRule as Measure)).toBe("192.0.2.250: no session");
  });
});

test("what is not as wanted is before what is", () => {
  const states = [ofBan(), ofBan({ announcement: "pending" }), ofBan({ announcement: "failed" })].map(stateOrder);
  expect(states.toSorted()).toEqual([states[2], states[1], states[0]] as string[]);
});

test("the effect has both numbers where both are known, and a node in dry run drops nothing", () => {
  const attack = { volume: { passed_packets: 30, dropped_by: {} } } as AttackWire;
  expect(effectText(ofBan({ dropped_packets: 1200 }), attack)).toBe("1.20 k dropped, 30 passed");
  expect(effectText(ofBan({ dropped_packets: 1200 }), undefined)).toBe("1.20 k dropped");
  expect(effectText(ofBan(), attack)).toBe("–");
  const report = { dropped_packets: 5, load_mbps: 10, dry_run: true };
  const [ofNode] = measuresOf({ ...none, nodes: [{ ...node, report }] });
  expect(effectText(ofNode as Measure, undefined)).toBe("5 would be dropped");
});

test("who ordered it: an operator by name, an attack, or a rule of the configuration", () => {
  expect(ownerText(ofBan({ manual: true, operator: "noc" }))).toBe("noc");
  expect(ownerText(ofBan({ manual: true }))).toBe("an operator");
  expect(ownerText(ofBan({ attacks: ["a1"] }))).toBe("attack");
  expect(ownerText(ofBan())).toBe("automatic");
});

test("who ordered a block is in the audit trail, the last one first", () => {
  const event = (operator: string, result: AuditEventWire["result"] = "blocked") =>
    ({ action: "source_block", result, operator, target: "198.51.100.9->192.0.2.1" }) as AuditEventWire;
  const operators = blockOperators([event("late", "rejected"), event("night"), event("noc")]);
  const [measure] = measuresOf({ ...none, blocks: [block], operators });
  expect(ownerText(measure as Measure)).toBe("night");
  expect(ownerText(ofBlock())).toBe("an operator");
  expect([...blockOperators([event("")]).values()]).toEqual(["no sign-in"]);
});

test("is found by what the list shows, and by the reason of its order", () => {
  const text = searchText(
    ofBan({ sent_to: ["192.0.2.249"], manual: true, operator: "Noc", order_reason: "Ticket 10" }),
  );
  for (const word of ["192.0.2.1", "blackhole", "announced", "192.0.2.249", "noc", "ticket 10"])
    expect(text).toContain(word);
  const [, ofRule] = measuresOf({ ...none, bans: [ban({ flowspec: [rule] })] });
  expect(searchText(ofRule as Measure)).toContain("192.0.2.1/32");
});

test("the list is ordered by the packets that it shows", () => {
  const dropped = (packets: number) =>
    ({ volume: { packets: 9000, dropped_packets: packets, passed_packets: 0, dropped_by: {} } }) as AttackWire;
  const rows = [
    [ofBan({ dropped_packets: 7 }), dropped(4000)],
    [ofBan(), dropped(1500)],
    [ofBan({ dropped_packets: 20 }), undefined],
    [ofBan(), undefined],
  ] as const;
  expect(rows.map(([row, attack]) => effectText(row, attack).split(" dropped")[0])).toEqual([
    "4.00 k",
    "1.50 k",
    "20",
    "–",
  ]);
  expect(rows.map(([row, attack]) => effectPackets(row, attack))).toEqual([4000, 1500, 20, undefined]);
});

test("a ban in dry run drops nothing, whatever other measures drop of its attack", () => {
  const attack = {
    volume: { packets: 9000, dropped_packets: 4000, passed_packets: 5000, dropped_by: {} },
  } as AttackWire;
  const [dry, counting] = [ofBan({ dry_run: true }), ofBan({ dry_run: true, would_drop_packets: 700 })];
  expect([effectText(dry, attack), effectPackets(dry, attack)]).toEqual(["–", undefined]);
  expect([effectText(counting, attack), effectPackets(counting, attack)]).toEqual(["700 would be dropped", 700]);
});
