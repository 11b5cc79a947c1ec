import { describe, expect, test } from "bun:test";
import { communitiesOf } from "../../test/fixtures/networks.ts";
import { attackEvent, BOX, banEvent, orderEvent } from "../../test/fixtures/notify/notify.ts";
import { attack, ban, classification, udpRules } from "../../test/fixtures/views.ts";
import { sampleOf } from "../detection/attack/sample.ts";
import { attackOfTenant, attackToWire } from "../http/wire/attack.ts";
import { banToWire, ofTenant } from "../http/wire/ban.ts";
import type { NotifyEvent } from "./event.ts";
import { describeEvent } from "./event-text.ts";
import { eventToWire } from "./event-wire.ts";
import { eventOfTenant } from "./tenant-event.ts";

const topInterfaces = [{ exporter: "edge1-secret", interface: 1, name: null, packets: 1, bytes: 60, share: 1 }];
const rules = udpRules();
const ordered = { neighbors: ["198.51.100.254"], communities: communitiesOf("65535:667"), bytesPerSecond: 125_000 };
/** Of an administrator, with all that a ban may have. */
const BAN = ban({
  ...{ manual: true, operator: "noc-admin", orderReason: "customer does not pay", ordered, state: "withdrawn" },
  endedBy: { operator: "boss", reason: "lawyer called" },
  measure: { ...rules, neighborRules: [{ neighbors: ["198.51.100.254"], rules: rules.rules, leftOut: 1 }] } as never,
});
const ATTACK = attack({
  classification: classification(),
  sample: { ...sampleOf([], { top: 1, flows: 0 }), topInterfaces },
});
const SECRETS = /edge1-secret|noc-admin|does not pay|boss|lawyer|198\.51\.100\.254|65535:667/;

const wireOf = (event: NotifyEvent) => eventToWire(eventOfTenant(event, "acme"), BOX);
const textOf = (event: NotifyEvent) => JSON.stringify(describeEvent(eventOfTenant(event, "acme")));
const asSent = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

/** As GET /api/v1/bans shows it to the tenant; what the announcement is, comes moments later. */
function banOfApi(of = BAN): unknown {
  const { announced: _, ...row } = banToWire(ofTenant({ ban: of, routeState: null }, "acme"));
  return asSent(row);
}

describe("the target of a tenant gets, field by field, what the API shows the tenant #notify-targets-of-tenants", () => {
  test.each(["ban_active", "ban_withdrawn", "ban_rejected", "rules_not_found"] as const)("of %s", (kind) => {
    const event = banEvent({ kind, ban: BAN, tenant: "acme" });
    expect(JSON.stringify(eventToWire(event, BOX))).toMatch(SECRETS);
    expect(asSent(wireOf(event).ban)).toEqual(banOfApi());
    expect(JSON.stringify(wireOf(event)) + textOf(event)).not.toMatch(SECRETS);
  });

  test.each(["attack_started", "attack_changed", "attack_lasts", "attack_not_held", "attack_ended"] as const)(
    "of %s",
    (kind) => {
      const event = attackEvent({ kind, attack: ATTACK, ban: BAN, tenant: "acme" });
      const shown = attackOfTenant({ attack: ATTACK, ban: BAN }, "acme");
      expect(asSent(wireOf(event).attack)).toEqual(asSent(attackToWire(shown)));
      expect(asSent(wireOf(event).ban)).toEqual(banOfApi());
      expect(JSON.stringify(wireOf(event)) + textOf(event)).not.toMatch(SECRETS);
    },
  );

  test("of a ban of its own: with its reason", () => {
    const own = ban({ manual: true, operator: "acme-noc", orderReason: "ticket 7", tenant: "acme" });
    const { ban: sent } = wireOf(banEvent({ ban: own, tenant: "acme" }));
    expect(asSent(sent)).toEqual(banOfApi(own));
    expect(sent?.order_reason).toBe("ticket 7");
  });
});

test("names and reasons of orders are the tenant's own; those of source blocks and levers have a reason for each", () => {
  const orders = (changes: Parameters<typeof orderEvent>[0]) => {
    const { operator, reason } = wireOf({ ...orderEvent(changes), tenant: "acme" }).orders ?? {};
    return [operator, reason];
  };
  expect(orders({ type: "ban" })).toEqual([undefined, undefined]);
  expect(orders({ type: "protection", by: "other" })).toEqual([undefined, undefined]);
  expect(orders({ type: "protection", by: "acme" })).toEqual(["noc", "ticket 7"]);
  expect(orders({ type: "source_block" })).toEqual([undefined, "ticket 7"]);
});

test("the words of a caller who ended an order are shown to the tenant of that caller alone", () => {
  const ended = (changes: Parameters<typeof orderEvent>[0]) => {
    const event = { ...orderEvent({ reason: "acme does not pay", ...changes }, "order_ended"), tenant: "acme" };
    return JSON.stringify(wireOf(event)) + textOf(event);
  };
  for (const type of ["source_block", "lever", "ban"] as const) {
    const by = (tenant: string | null) => ended({ type, end: "cleared", isReasonOfOrder: false, by: tenant });
    for (const others of [null, "other"]) expect(by(others)).not.toMatch(/noc|does not pay/);
    expect(by("acme")).toMatch(/noc.*does not pay/);
  }
  expect(ended({ type: "lever", end: "expired" })).toContain("does not pay");
});
