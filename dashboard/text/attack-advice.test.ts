import { describe, expect, test } from "bun:test";
import type { AttackWire } from "../../src/http/wire/attack.ts";
import type { BanWire } from "../../src/http/wire/ban.ts";
import { adviceOf, heldText } from "./attack-advice.ts";

const attack = (changes: Partial<AttackWire> = {}) =>
  ({ scope: "host", target: "192.0.2.1", group: "web", dry_run: false, active: true, ...changes }) as AttackWire;
const ban = (changes: Partial<BanWire> = {}) =>
  ({ state: "active", method: "blackhole", announced: false, dry_run: false, manual: false, ...changes }) as BanWire;
const banned = attack({ ban_state: "active" });
const announced = ban({ announced: true, announcement: "announced", sent_to: ["192.0.2.251"] });

describe("who holds an attack", () => {
  test.each([
    ["no one without a ban", attack(), undefined, "No"],
    ["no one in dry run", banned, ban({ dry_run: true }), "No: dry run"],
    ["no one while nothing is announced or dropped", banned, ban({ announcement: "pending" }), "No"],
    ["a neighbor", banned, announced, "Yes, by BGP neighbor 192.0.2.251"],
    ["neighbors that a tenant does not see", banned, ban({ announced: true }), "Yes, by BGP neighbors"],
    ["this machine", banned, ban({ dropped_packets: 7 }), "Yes, by this machine"],
    [
      "neighbors and this machine",
      banned,
      ban({ announced: true, sent_to: ["a", "b"], dropped_packets: 1 }),
      "Yes, by BGP neighbors a, b, and this machine",
    ],
    [
      "a scrub node",
      banned,
      ban({ announced: true, method: "divert", node: "fra1", sent_to: ["a"] }),
      "Yes, by scrub node fra1, by a route at BGP neighbor a",
    ],
    ["no one any more", attack({ active: false }), announced, "The attack is over"],
  ])("%s", (_, row, its, expected) => {
    expect(heldText(row, its)).toBe(expected);
  });
});

const held = (verdict: "yes" | "no" | "unknown", share: number) =>
  attack({
    ban_state: "active",
    flowspec: [{ dst: "192.0.2.1/32", action: "discard" }],
    separability: { verdict, users_at_risk: share },
  });

describe("what to do now", () => {
  test.each([
    ["held", banned, announced, /^Nothing: the attack is held, and its ban ends by itself\.$/],
    [
      "held with users in the rules",
      held("no", 0.23),
      announced,
      /rules match users of the victim too \(about 23 % of them\)/,
    ],
    ["held, and little is known", held("unknown", 0), announced, /not known what its users send/],
    ["held, and users are spared", held("yes", 0), announced, /its ban ends by itself/],
    [
      "without a rule, and nothing in its place",
      banned,
      ban({ method: "flowspec", flowspec: [], separability: { verdict: "no" } }),
      /^Divert or ban the victim by hand .* no rule separates the attack from its users/,
    ],
    ["waiting for its rules", banned, ban({ method: "flowspec", flowspec: [] }), /^Wait a second/],
    [
      "not at all neighbors",
      banned,
      { ...announced, missing_at: [{ neighbor: "b", cause: "x" }] },
      /^See to b: it lacks/,
    ],
    ["over", attack({ active: false }), undefined, /^Nothing: the attack is over/],
    ["over, and still banned", attack({ active: false }), ban({ manual: true }), /^Lift the ban/],
    ["without a ban", attack(), undefined, /^Ban the victim by hand .* nothing mitigates it\.$/],
    ["lifted", attack({ ban_state: "withdrawn" }), ban({ state: "withdrawn" }), /its ban has ended/],
    [
      "whitelisted",
      attack({ ban_state: "rejected" }),
      ban({ state: "rejected", reason: "whitelisted" }),
      /^Block single/,
    ],
    ["at a cap", attack({ ban_state: "rejected" }), ban({ reason: "max_active_bans reached" }), /ban\.max_active_bans/],
    [
      "refused otherwise",
      attack({ ban_state: "rejected" }),
      ban({ reason: "odd" }),
      /^Ban .*: the ban was refused: odd\.$/,
    ],
    ["in dry run", attack({ ban_state: "active", dry_run: true }), ban({ dry_run: true }), /^Decide whether/],
    ["being announced", banned, ban({ announcement: "pending" }), /^Wait a few seconds/],
    ["no session", banned, ban({ announcement: "no_session" }), /^Bring up a BGP session/],
    ["a speaker that is down", banned, ban({ announcement: "speaker_down" }), /does not answer/],
    ["a refused route", banned, ban({ announcement: "failed", announce_error: "x" }), /refused the route \(x\)/],
    ["nothing that announces", banned, ban(), /^Have your routers or your provider/],
    ["a rung that watches", banned, ban({ escalation: [{ after_seconds: 0, action: "none" }] }), /only watches/],
    ["a hostgroup as a whole", attack({ scope: "group" }), undefined, /never banned/],
    ["a ban that is not in the list", banned, undefined, /^See the list of bans/],
  ] as const)("%s", (_, row, its, expected) => {
    expect(adviceOf(row, its as BanWire | undefined)).toMatch(expected);
  });
});
