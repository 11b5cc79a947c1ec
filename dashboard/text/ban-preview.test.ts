import { expect, test } from "bun:test";
import type { AttackWire } from "../../src/http/wire/attack.ts";
import type { OrderPreviewWire } from "../../src/http/wire/ban-preview.ts";
import { previewSentences } from "./ban-preview.ts";

const NOW = Date.parse("2026-03-01T12:00:00Z");

const rates = { pps: 100, mbps: 1 };
const effect: OrderPreviewWire["effect"] = {
  ...{ available: true, headers: 100, seconds: 60, total: rates, unattacked: rates, matched: rates, dropped: rates },
  ...{ dropped_unattacked: rates, dropped_before: rates, packets_share: 0.5, bits_share: 0.5, unattacked_share: 0.2 },
  ...{ collateral_share: 0.3, hosts: 12, hostgroups: [], not_judged: [] },
};
const HIT = [
  "Of the last minute it would have hit 100 pps, 50 % of all packets, to 12 hosts; 20 % of it in no attack.",
  "By 100 sampled headers of the last 60 seconds.",
];

function preview(changes: Partial<OrderPreviewWire["ban"]> = {}, refresh = false): OrderPreviewWire {
  const ban: OrderPreviewWire["ban"] = {
    target: "192.0.2.1",
    prefix: "192.0.2.1/32",
    state: "active",
    dry_run: false,
    manual: true,
    method: "blackhole",
    route: "192.0.2.1/32 blackhole",
    started_at: "2026-03-01T12:00:00Z",
    expires_at: "2026-03-01T12:10:00Z",
    ...changes,
  };
  return { ban, hostgroup: "web", refresh, effect };
}

test("says what happens and for how long", () => {
  expect(previewSentences(preview(), NOW, [])).toEqual([
    "Routers drop all traffic to it (Blackhole) for 10 min, or until you unban it.",
    ...HIT,
  ]);
  expect(previewSentences(preview({ method: "divert", node: "s1" }), NOW, [])[0]).toStartWith(
    "Its traffic goes through scrub node s1",
  );
  expect(previewSentences(preview({ method: "flowspec", matches_all: true }), NOW, [])[0]).toContain("all traffic");
});

test("says what comes later", () => {
  const escalation = [
    { after_seconds: 0, action: "flowspec" },
    { after_seconds: 300, action: "blackhole" },
  ] as const;
  expect(
    previewSentences(preview({ method: "flowspec", escalation: [...escalation], escalation_step: 0 }), NOW, [])[1],
  ).toBe("While the ban lasts: Blackhole after 5 min.");
  const late = [escalation[0], { after_seconds: 600, action: "blackhole" as const }];
  expect(previewSentences(preview({ method: "flowspec", escalation: late, escalation_step: 0 }), NOW, [])).toHaveLength(
    3,
  );
});

test("lasts longer than ordered while its target is attacked", () => {
  const attack = { target: "192.0.2.1", direction: "incoming" } as AttackWire;
  const longer = "The ban lasts longer while its target is attacked.";
  expect(previewSentences(preview(), NOW, [attack])).toContain(longer);
  expect(previewSentences(preview({ dry_run: true }), NOW, [attack])).toContain(longer);
  const other = { ...attack, target: "192.0.2.2" };
  expect(previewSentences(preview(), NOW, [other])).not.toContain(longer);
});

test("says whose blackhole a divert replaces", () => {
  const hosts = Array.from({ length: 9 }, (_, index) => `192.0.2.${index}/32`);
  const sentence = (replaces_blackhole_of: string[], announced: Partial<OrderPreviewWire["ban"]>) =>
    previewSentences({ ...preview({ method: "divert", ...announced }), replaces_blackhole_of }, NOW, []).find((text) =>
      text.startsWith("Neighbors"),
    );
  expect(sentence(hosts.slice(0, 1), { announced_prefix: "192.0.2.0/24" })).toBe(
    "Neighbors that take only wider prefixes divert 192.0.2.0/24, where they dropped it for 192.0.2.0/32.",
  );
  expect(sentence(hosts, { prefix: "192.0.2.0/24" })).toBe(
    `Neighbors that take only wider prefixes divert 192.0.2.0/24, where they dropped it for ${hosts.slice(0, 8).join(", ")} ….`,
  );
});

test("says that nothing is announced, that a ban is prolonged, and that it would be refused", () => {
  expect(previewSentences(preview({ dry_run: true }), NOW, [])).toEqual([
    "Dry run: the ban is recorded for 10 min (Blackhole), nothing is announced.",
    ...HIT,
  ]);
  const earlier = preview({ started_at: "2026-03-01T11:00:00Z" }, true);
  expect(previewSentences(earlier, NOW, [])).toEqual([
    "Routers drop all traffic to it (Blackhole) for 10 min, or until you unban it.",
    "The address is banned already. That ban is extended and becomes a manual one: it does not end with the attack.",
    ...HIT,
  ]);
  expect(
    previewSentences(preview({ state: "rejected", reason: "whitelisted", remedy: "order beside it" }), NOW, []),
  ).toEqual(["Floodwall would refuse it: whitelisted: order beside it."]);
});

test("says what each neighbor gets, where anything is announced", () => {
  const neighbors = [{ neighbor: "192.0.2.1", name: "edge1", routes: ["a"], cause: "no session: idle" }];
  expect(previewSentences({ ...preview(), neighbors }, NOW, [])[3]).toBe("edge1 gets 1 route: no session: idle.");
  expect(previewSentences({ ...preview({ dry_run: true }), neighbors }, NOW, [])).toHaveLength(3);
});
