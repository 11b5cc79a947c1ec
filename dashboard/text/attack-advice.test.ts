import { describe, expect, test } from "bun:test";
import type { AttackWire } from "../../src/http/wire/attack.ts";
import type { BanWire } from "../../src/http/wire/ban.ts";
import type { BanPreviewWire } from "../../src/http/wire/ban-preview.ts";
import { type Accepted, acceptedOf, adviceOf } from "./attack-advice.ts";

const attack = (changes: Partial<AttackWire> = {}) =>
  ({ scope: "host", target: "192.0.2.1", group: "web", dry_run: false, active: true, ...changes }) as AttackWire;
const ban = (changes: Partial<BanWire> = {}) =>
  ({ state: "active", method: "blackhole", announced: false, dry_run: false, manual: false, ...changes }) as BanWire;
const banned = attack({ ban_state: "active" });
const refused = attack({ ban_state: "rejected" });
const announced = ban({ announced: true, announcement: "announced", sent_to: ["192.0.2.251"] });
const LADDER = {
  started_at: "2026-03-01T12:00:00.000Z",
  escalation_step: 0,
  escalation: [
    { after_seconds: 0, action: "flowspec" as const },
    { after_seconds: 60, action: "blackhole" as const },
  ],
};
const SKIPPING = [
  { after_seconds: 0, action: "scrub" as const },
  { after_seconds: 60, action: "divert" as const, unless_held: true },
  { after_seconds: 600, action: "blackhole" as const },
];
const ALL: Accepted = { ban: null, block: null };

const held = (verdict: "yes" | "no" | "unknown", share: number) =>
  attack({
    ban_state: "active",
    flowspec: [{ dst: "192.0.2.1/32", action: "discard" }],
    separability: { verdict, users_at_risk: share },
  });

describe("what to do now", () => {
  test.each([
    ["held", banned, announced, /^No action: route at 1 of 1 router, and the ban ends by itself\.$/],
    [
      "held, and escalated all the same",
      banned,
      { ...announced, ...LADDER },
      /^No action: route at 1 of 1 router\. While the attack lasts, the escalation goes on to Blackhole\.$/,
    ],
    [
      "held, and only escalated if it is not",
      banned,
      { ...announced, ...LADDER, escalation: LADDER.escalation.map((rung) => ({ ...rung, unless_held: true })) },
      /, and the ban ends by itself\.$/,
    ],
    [
      "held, and escalated behind a rung that is skipped then",
      banned,
      { ...announced, ...LADDER, escalation: SKIPPING },
      /\. While the attack lasts, the escalation goes on to Blackhole\.$/,
    ],
    [
      "held by hand, and over before the rung behind the one that is skipped",
      banned,
      { ...announced, ...LADDER, escalation: SKIPPING, manual: true, expires_at: "2026-03-01T12:10:00.000Z" },
      /, and the ban ends by itself\.$/,
    ],
    [
      "held with users in the rules",
      held("no", 0.23),
      announced,
      /^No action, but real users are dropped as well \(about 23 % of them\): consider scrub\.$/,
    ],
    ["held, and little is known", held("unknown", 0), announced, /not known what its users send/],
    ["held, and users are spared", held("yes", 0), announced, /the ban ends by itself/],
    [
      "without a rule, and nothing in its place",
      banned,
      ban({ method: "flowspec", flowspec: [], separability: { verdict: "no" } }),
      /^Ban the victim by hand .* no rule separates the attack from its users/,
    ],
    ["waiting for its rules", banned, ban({ method: "flowspec", flowspec: [] }), /^Wait a second/],
    [
      "not at all neighbors",
      banned,
      { ...announced, missing_at: [{ neighbor: "b", cause: "no session" }] },
      /^Check the session with b: it lacks the route \(no session\), so its traffic is not filtered\.$/,
    ],
    [
      "not at all neighbors, whose names a tenant does not see",
      banned,
      { ...announced, reached: { neighbors: 1, of: 2 } },
      /^Ask the operator of the network: 1 of 2 routers/,
    ],
    [
      "a scrub node that gets nothing",
      banned,
      { ...announced, method: "divert", node: "scrub1", node_idle: true },
      /^See why no traffic reaches scrub1: its report says 0/,
    ],
    ["over", attack({ active: false }), undefined, /^Nothing: the attack is over/],
    ["over, and still banned", attack({ active: false }), ban({ manual: true }), /^Lift the ban/],
    ["without a ban", attack(), undefined, /^Ban the victim by hand .* it has no ban\.$/],
    ["lifted", attack({ ban_state: "withdrawn" }), ban({ state: "withdrawn" }), /its ban has ended/],
    ["refused otherwise", refused, ban({ reason: "odd" }), /^Ban .*: its ban was refused: odd\.$/],
    ["in dry run", attack({ ban_state: "active", dry_run: true }), ban({ dry_run: true }), /^Decide whether/],
    ["being announced", banned, ban({ announcement: "pending" }), /^Wait a few seconds/],
    ["no session", banned, ban({ announcement: "no_session" }), /^Bring up a BGP session/],
    ["a speaker that is down", banned, ban({ announcement: "speaker_down" }), /does not answer/],
    ["a refused route", banned, ban({ announcement: "failed", announce_error: "x" }), /refused the route \(x\)/],
    ["nothing that announces", banned, ban(), /^Have your routers or your provider/],
    ["a rung that watches", banned, ban({ escalation: [{ after_seconds: 0, action: "none" }] }), /only watches/],
    ["a ban that is not in the list", banned, undefined, /^See the list of bans/],
  ] as const)("%s", (_, row, its, expected) => {
    expect(adviceOf({ attack: row, ban: its as BanWire | undefined, accepted: ALL }).text).toMatch(expected);
  });

  test("of a hostgroup that is attacked as a whole, there is a link to its hosts", () => {
    const { target: _, ...group } = attack({ scope: "group" });
    expect(adviceOf({ attack: group, ban: undefined, accepted: null }).action).toMatchObject({
      steps: ["hosts"],
      query: { group: "web" },
    });
  });
});

describe("is never what the service would refuse", () => {
  const spared = ban({ state: "rejected", reason: "whitelisted" });
  const both: Accepted = { ban: "whitelisted", block: "victim is in the protected whitelist" };
  const noDataplane: Accepted = { ban: "own infrastructure: x", block: "the data plane is absent" };

  test.each([
    ["a ban, if it would be accepted", attack(), undefined, ALL, /^Ban the victim/, "ban"],
    [
      "a whitelisted victim",
      refused,
      spared,
      both,
      /^Ask your provider .* and source blocks, since the victim is in/,
      "link",
    ],
    ["the same before the service has said so", refused, spared, null, /^Ask your provider/, "link"],
    ["own infrastructure, without a data plane", attack(), undefined, noDataplane, /^Ask your provider/, null],
    [
      "a source block, where only the ban would be refused",
      attack(),
      undefined,
      { ban: "no scrubbing node is alive", block: null },
      /^Block single sources/,
      "block",
    ],
    [
      "at a cap",
      refused,
      ban({ state: "rejected", reason: "max_active_bans reached" }),
      { ban: "max_active_bans reached", block: null },
      /ban\.max_active_bans/,
      "link",
    ],
    ["of a prefix, which is not banned by hand", { ...attack(), target: undefined }, undefined, null, /provider/, null],
  ] as const)("%s", (_, row, its, accepted, text, action) => {
    const advice = adviceOf({ attack: row as AttackWire, ban: its, accepted });
    expect(advice.text).toMatch(text);
    expect<string | null>(advice.action?.kind ?? null).toBe(action);
  });

  test("what it would refuse is in the preview of a ban", () => {
    const preview = { ban: ban({ state: "rejected", reason: "whitelisted" }), refresh: false } as BanPreviewWire;
    expect(acceptedOf({ ...preview, source_block_refused: "no" })).toEqual({ ban: "whitelisted", block: "no" });
    expect(acceptedOf({ ...preview, ban: ban() })).toEqual(ALL);
  });
});
