/** What an ordered filter rule or a source block dropped until it ended (docs/interface.md#audit-trail). */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { type OrderEnd, orderEndEvents } from "../../src/audit/order-end.ts";
import { agent } from "../fixtures/http/node-channel.ts";
import { ManualClock } from "../fixtures/manual-clock.ts";
import { Scenario } from "../fixtures/scenario.ts";
import { ServiceInProcess } from "../fixtures/service-in-process.ts";

const CONFIG = `dry_run: false
networks: [203.0.113.0/24]
thresholds: { pps: 1000, mbps: 100, flows_per_sec: 500 }
dataplane: { interfaces: [fw-absent0] }
`;
const TOKENS = [{ ...agent("noc"), role: "operator" }] as const;
const RULE = { name: "chargen", action: "drop", protocol: "udp", ttl_seconds: 60 };
const BLOCK = { source: "198.51.100.9", victim: "203.0.113.7", ttl_seconds: 60 };

const scene = new Scenario();
let clock: ManualClock;
let service: ServiceInProcess;
let ends: OrderEnd[];

beforeEach(() => {
  clock = new ManualClock();
  service = new ServiceInProcess({ directory: scene.directory, config: CONFIG, clock, tokens: TOKENS });
  scene.onEnd(() => service.stop());
  ends = [];
  service.floodwall.onOrderEnds((some) => ends.push(...some));
});
afterEach(() => {
  ends = [];
});

const rows = () => ends.flatMap((end) => orderEndEvents([end], clock.wallMs()));

/** The kernel counts from the first write on. */
async function ruleThatDropped(packets: number): Promise<void> {
  expect((await service.post("/api/v1/filter-rules", RULE, "noc")).status).toBe(200);
  clock.advance(1000);
  const id = service.filters.operators.flatMap(({ rules }) => rules)[0]?.id ?? "";
  // Read once before, so that an old reading would show.
  await service.get("/api/v1/filter-rules", "noc");
  service.filters.dropped.set(id, packets);
}

describe("audit end of an order", () => {
  test("that was removed says what it dropped in the end #audit-end-of-an-order", async () => {
    await ruleThatDropped(7);
    await service.order("DELETE", "/api/v1/filter-rules/chargen", null, "noc");
    const row = { action: "filter_rule", result: "cleared", target: "chargen", source: "auto", operator: "" };
    expect(rows()).toMatchObject([
      { ...row, reason: expect.stringMatching(/^removed: dropped 7 packets, \d+ bytes$/) },
    ]);
  });

  test("that expired says it, too #audit-end-of-an-order", async () => {
    await ruleThatDropped(9);
    clock.advance(60_000);
    expect(rows()).toMatchObject([{ reason: expect.stringMatching(/^expired: dropped 9 packets, /) }]);
  });

  test("of a source block is known, though its counts end with it #audit-end-of-an-order", async () => {
    const post = (path: string, body: object) => service.post(`/api/v1/dataplane/sources${path}`, body, "noc");
    expect((await post("", BLOCK)).status).toBe(200);
    await post("/unblock", BLOCK);
    expect((await post("", BLOCK)).status).toBe(200);
    clock.advance(61_000);
    const row = { action: "source_unblock", result: "removed", target: `${BLOCK.source}->${BLOCK.victim}` };
    expect(rows()).toMatchObject([
      { ...row, reason: "unblocked: dropped 0 packets, 0 bytes" },
      { ...row, reason: "expired: dropped 0 packets, 0 bytes" },
    ]);
  });
});

describe("preview of an order", () => {
  const preview = (path: string, body: object) => service.post<Record<string, unknown>>(path, body, "noc");

  test("changes nothing, and says why no effect is known #preview-of-an-order-changes-nothing #order-effect-unavailable", async () => {
    const { status, body } = await preview("/api/v1/filter-rules/preview", RULE);
    expect(status).toBe(200);
    expect(body).toMatchObject({
      rule: { name: "chargen", match: "proto udp" },
      hides: [],
      effect: { available: false, reason: expect.stringContaining("nothing is captured") },
    });
    expect((await service.get<{ rules: unknown[] }>("/api/v1/filter-rules", "noc")).rules).toEqual([]);
    expect(service.audited).toEqual([]);
  });

  test("has the refusal of the order #preview-of-an-order-has-the-refusal", async () => {
    const outside = { ...RULE, destinations: ["198.51.100.1"] };
    const refusal = "a destination is outside configured networks";
    expect((await preview("/api/v1/filter-rules/preview", outside)).body).toMatchObject({ refusal });
    const { body } = await preview("/api/v1/dataplane/sources/preview", { ...BLOCK, victim: "198.51.100.1" });
    expect(body).toMatchObject({ refusal: "victim is outside configured networks" });
    const { body: accepted } = await preview("/api/v1/dataplane/sources/preview", BLOCK);
    expect(Object.keys(accepted)).not.toContain("refusal");
  });

  test("that a caller removes has the caller's reason in its row #filter-rule-command-remove-reason", async () => {
    const path = "/api/v1/filter-rules/chargen";
    await service.post("/api/v1/filter-rules", RULE, "noc");
    for (const [reason, status] of [
      ["x".repeat(201), 400],
      ["two\nlines", 400],
      ["ticket 7 is over", 200],
    ] as const) {
      expect((await service.order("DELETE", path, { reason }, "noc")).status).toBe(status);
    }
    const [removed] = service.audited.filter(({ result }) => result === "cleared");
    expect(removed?.reason).toBe("drop proto udp: ticket 7 is over");
  });
});
