/** What a preview says of real packets on an inline box, before and while one host is attacked; and what the order then dropped. */
import { afterEach, describe, expect, test } from "bun:test";
import type { FilterRulePreviewWire, OrderEffectWire } from "../../src/http/wire/order-effect.ts";
import { eventually, type ServiceProcess } from "../fixtures/service.ts";
import { Undo } from "../fixtures/undo.ts";
import { namespacesUnavailable } from "../lab/namespaces.ts";
import { makeBoxLab, THRESHOLD_PPS } from "../lab/scrub/box-lab.ts";
import { VICTIM } from "../lab/scrub/scrub-network.ts";
import { sendFrom } from "../lab/world.ts";

type Known = Extract<OrderEffectWire, { readonly available: true }>;

/** The sources of the sender. */
const [FIRST, SOURCES] = ["198.18.0.2", 2];
const CALM = { profile: "udp", target: VICTIM, src: FIRST, sources: SOURCES, path: "socket" } as const;
/** A sample of some hundred headers says a share of a half within this, with more than 99 %. */
const SHARE_ERROR = 0.25;

const undo = new Undo();
afterEach(() => undo.all());
const unavailable = namespacesUnavailable();

async function effectOf(service: ServiceProcess, rule: object): Promise<Known> {
  const order = { name: "preview", action: "drop", ttl_seconds: 60, ...rule };
  const { status, body } = await service.post<FilterRulePreviewWire>("/api/v1/filter-rules/preview", order);
  if (status !== 200 || !body.effect.available) throw new Error(`no effect: ${JSON.stringify(body)}`);
  return body.effect;
}

async function lastRow(service: ServiceProcess, result: string): Promise<string> {
  const { body } = await service.get<{ events: { result: string; source: string; reason: string }[] }>(
    "/api/v1/audit?action=filter_rule",
  );
  return body.events.find((row) => row.result === result && row.source === "auto")?.reason ?? "";
}

describe.skipIf(unavailable !== null)(`preview of real traffic: ${unavailable ?? ""}`, () => {
  test("has the shares of what is sent, and the audit trail has what the order dropped", async () => {
    const { attacker, service } = await makeBoxLab(undo, { scrub: '{ tcp: "off", dry_run: true }' });
    await sendFrom(attacker, { ...CALM, pps: 0.6 * THRESHOLD_PPS, seconds: 12 });
    const all = await effectOf(service, {});
    expect(all).toMatchObject({ packets_share: 1, unattacked_share: 1, collateral_share: 1, hosts: 1 });
    const half = await effectOf(service, { source: FIRST });
    expect(Math.abs(half.packets_share - 1 / SOURCES)).toBeLessThan(SHARE_ERROR);
    expect(half.dropped_before.pps).toBe(0);
    expect(await effectOf(service, { protocol: "tcp" })).toMatchObject({ packets_share: 0, hosts: 0 });
    expect(await effectOf(service, { when: "attacked" })).toMatchObject({ packets_share: 0 });

    await sendFrom(attacker, { ...CALM, pps: 10 * THRESHOLD_PPS, seconds: 6 });
    const flooded = await effectOf(service, {});
    expect(flooded.unattacked_share).toBeLessThan(0.5);
    expect(flooded.total.pps).toBeGreaterThan(all.total.pps);

    const order = { name: "closed", action: "drop", protocol: "udp", ttl_seconds: 600, reason: "ticket 7" };
    expect((await service.post("/api/v1/filter-rules", order)).status).toBe(200);
    await Bun.sleep(1000);
    const { packets } = await sendFrom(attacker, { ...CALM, pps: 0.5 * THRESHOLD_PPS, seconds: 2 });
    expect((await service.order("DELETE", "/api/v1/filter-rules/closed", {})).status).toBe(200);
    let row = "";
    await eventually(
      async () => {
        row = await lastRow(service, "cleared");
        return row !== "";
      },
      () => `no row of the end:\n${service.output}`,
      10_000,
      200,
    );
    expect(row).toMatch(/^removed: dropped \d+ packets, \d+ bytes$/);
    expect(Number(/\d+/.exec(row))).toBe(packets);
  }, 120_000);
});
