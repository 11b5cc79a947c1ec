/** The operator's rules ordered by the API, by the whole service (docs/interface.md#filter-rule-command). */
import { beforeEach, describe, expect, test } from "bun:test";
import { Value } from "@sinclair/typebox/value";
import { type FilterRulesWire, FilterRuleWire } from "../../src/http/wire/filter-rule.ts";
import { FILTER_RULE_ORDERS_MAX } from "../../src/limits.ts";
import { agent } from "../fixtures/http/node-channel.ts";
import { ManualClock } from "../fixtures/manual-clock.ts";
import { metricIn } from "../fixtures/metric-value.ts";
import { Scenario } from "../fixtures/scenario.ts";
import { ServiceInProcess } from "../fixtures/service-in-process.ts";

type Rule = (typeof FilterRuleWire)["static"];
type Rules = (typeof FilterRulesWire)["static"];

const CONFIG = `dry_run: false
networks: [203.0.113.0/24]
thresholds: { pps: 1000, mbps: 100, flows_per_sec: 500 }
dataplane: { interfaces: [fw-absent0] }
prefix_sets: [{ name: bogons }]
filter_rules:
  - { name: own, action: limit, protocol: tcp, ports: ["443"], packets_per_second: 5, mbps: 1, per: source }
  - { name: last, action: pass, when: attacked }
`;
const TOKENS = [
  { ...agent("noc"), role: "operator" },
  { ...agent("look"), role: "viewer" },
] as const;
type Caller = (typeof TOKENS)[number]["name"];

const PATH = "/api/v1/filter-rules";
const ORDER = { name: "chargen", action: "drop", protocol: "udp", source_ports: ["19"], ttl_seconds: 60, reason: "r" };

const scene = new Scenario();
let clock: ManualClock;
let service: ServiceInProcess;

beforeEach(() => {
  clock = new ManualClock();
  start();
  scene.onEnd(() => service.stop());
});

/** Again, with the state of before. */
function start(config = CONFIG): void {
  service = new ServiceInProcess({ directory: scene.directory, config, clock, tokens: TOKENS });
}

const post = (body: object = ORDER, caller: Caller = "noc") => service.post<Rule>(PATH, body, caller);
const remove = (name: string, caller: Caller = "noc") => service.order<Rule>("DELETE", `${PATH}/${name}`, null, caller);
const list = async () => (await service.get<Rules>(PATH, "noc")).rules;
const names = async () => (await list()).map(({ name }) => name);
const refused = (status: number, error: string): unknown => ({ status, body: { error } });

async function reload(config: string): Promise<void> {
  service.writeConfig(config);
  expect((await service.post("/api/v1/config/reload", {}, "noc")).status).toBe(200);
}

/** Numbers of the operator's rules in the kernel, by destination. */
function kernelRules(): (readonly [string, number])[] {
  clock.advance(1000);
  return service.filters.operators.map(({ prefix, rules }) => [prefix.text, rules.length]);
}

describe("filter rule", () => {
  test("match is in words, with the rates of a limit", async () => {
    const [own, last] = await list();
    for (const rule of [own, last]) expect([...Value.Errors(FilterRuleWire, rule)]).toEqual([]);
    expect(own).toMatchObject({ match: "proto tcp dst-port 443", packets_per_second: 5, mbps: 1, per: "source" });
    expect(last).toMatchObject({ match: "any", action: "pass", when: "attacked" });
    expect(Object.keys(last ?? {})).not.toContain("per");
  });

  test("origin is the configuration or an order, which has times and a reason", async () => {
    await post();
    const [ordered, own] = await list();
    const times = { created_at: "2026-03-01T12:00:00.000Z", expires_at: "2026-03-01T12:01:00.000Z" };
    clock.setWall("2026-03-01T12:00:00Z");
    expect(ordered).toMatchObject({ origin: "order", reason: "r" });
    expect(Date.parse(ordered?.expires_at ?? "") - Date.parse(ordered?.created_at ?? "")).toBe(60_000);
    expect(own?.origin).toBe("configuration");
    expect(Object.keys(own ?? {}).filter((key) => key in times || key === "reason")).toEqual([]);
  });

  test("hidden by another one it names it", async () => {
    expect((await post({ name: "all", action: "drop", ttl_seconds: 60 })).body.hidden_by).toBeUndefined();
    expect((await list()).map(({ hidden_by: by }) => by)).toEqual([undefined, "all", "all"]);
  });

  test("counts are there while it is in the kernel, and not in the answer to an order", async () => {
    expect((await post()).body.packets).toBeUndefined();
    clock.advance(1000);
    const id = service.filters.operators.flatMap(({ rules }) => rules)[0]?.id ?? "";
    service.filters.dropped.set(id, 7);
    clock.advance(1000);
    expect((await list())[0]).toMatchObject({ packets: 7, dropped_packets: 7 });
    const text = await service.metrics.text();
    expect(metricIn(text, 'svc_filter_rule_dropped_packets_total{rule="chargen"}')).toBe(7);
    expect(metricIn(text, 'svc_filter_rules{origin="order"}')).toBe(1);
    expect(metricIn(text, 'svc_filter_rules{origin="configuration"}')).toBe(2);
    await reload(CONFIG.replace("dry_run: false", "dry_run: true"));
    expect((await list())[0]).not.toContainKey("packets");
  });
});

describe("filter rule command", () => {
  test("order: those ordered before those of the configuration, the newest first", async () => {
    await post();
    clock.advance(1);
    await post({ ...ORDER, name: "newest" });
    expect(await names()).toEqual(["newest", "chargen", "own", "last"]);
    expect(kernelRules()).toEqual([["203.0.113.0/24", 4]]);
  });

  test("replaces the order of its name, with the new time", async () => {
    await post();
    clock.advance(30_000);
    const { body } = await post({ ...ORDER, source_ports: ["53"], ttl_seconds: 90 });
    expect(body.match).toContain("53");
    clock.advance(60_000);
    expect(await names()).toContain("chargen");
    clock.advance(31_000);
    expect(await names()).toEqual(["own", "last"]);
  });

  test("bad input is 400 in the words of the check", async () => {
    const words = async (changes: object) => {
      const { status, body } = await post({ ...ORDER, ...changes });
      return [status, (body as unknown as { error: string }).error];
    };
    expect(await words({ port: 1 })).toEqual([400, expect.stringContaining("port: unknown key: did you mean ports?")]);
    expect(await words({ protocol: "icmp" })).toEqual([400, expect.stringContaining("source_ports: goes with")]);
    expect(await words({ ttl_seconds: 31_536_001 })).toEqual([400, expect.stringContaining("from 1 to 31536000")]);
    expect(await words({ reason: "x".repeat(201) })).toEqual([400, expect.stringContaining("200 characters")]);
    expect((await post({ ...ORDER, ttl_seconds: 31_536_000, reason: "x".repeat(200) })).status).toBe(200);
  });

  test("remove ends an order, and nothing else", async () => {
    await post();
    const { status, body } = await remove("chargen");
    expect([status, body.name]).toEqual([200, "chargen"]);
    for (const name of ["chargen", "own", "none"])
      expect(await remove(name)).toEqual(refused(404, "no rule of this name was ordered") as never);
    expect(kernelRules()).toEqual([["203.0.113.0/24", 2]]);
  });

  test("survives a restart, and ends at its time though the clock is set", async () => {
    await post();
    await service.stop();
    start();
    expect(await names()).toEqual(["chargen", "own", "last"]);
    clock.setWall("2030-01-01T00:00:00Z");
    clock.advance(50_000);
    expect(await names()).toContain("chargen");
    clock.advance(11_000);
    expect(await names()).not.toContain("chargen");
  });

  test("that the configuration does not allow is kept, and back when it does", async () => {
    await post({ ...ORDER, destinations: ["203.0.113.200"] });
    await reload(CONFIG.replace("203.0.113.0/24", "203.0.113.0/25"));
    expect(await names()).toEqual(["own", "last"]);
    expect(service.logged.some(({ msg }) => msg.startsWith("an ordered filter rule is not in force"))).toBe(true);
    await reload(CONFIG);
    expect(await names()).toEqual(["chargen", "own", "last"]);
  });

  test("in dry run is kept and listed, and not in the kernel", async () => {
    await reload(CONFIG.replace("dry_run: false", "dry_run: true"));
    expect((await post()).status).toBe(200);
    expect(await names()).toEqual(["chargen", "own", "last"]);
    clock.advance(1000);
    expect((await list())[0]).not.toContainKey("packets");
  });

  test("is audited, refusals too", async () => {
    await post();
    await post({ ...ORDER, name: "own" });
    await remove("chargen");
    await post(ORDER, "look");
    const row = { action: "filter_rule", targetType: "rule" };
    expect(service.audited).toMatchObject([
      { ...row, result: "set", operator: "noc", target: "chargen", reason: "r" },
      { ...row, result: "rejected", target: "own" },
      { ...row, result: "cleared", target: "chargen" },
      { ...row, result: "rejected", operator: "look" },
    ]);
  });
});

describe("filter rule refused", () => {
  const isCounted = async (reason: string) =>
    metricIn(await service.metrics.text(), `svc_filter_rule_orders_refused_total{reason="${reason}"}`);

  test("without a data plane", async () => {
    await service.stop();
    start(CONFIG.replace(/^(filter_rules|dataplane| {2}-).*\n/gm, ""));
    const error = "the data plane is absent or disabled: see dataplane in the configuration";
    expect<unknown>(await post()).toEqual(refused(409, error));
    expect(await isCounted("no_dataplane")).toBe(1);
  });

  test("for a name of the configuration", async () => {
    const error = "the configuration has a rule of this name: choose another";
    expect<unknown>(await post({ ...ORDER, name: "own" })).toEqual(refused(409, error));
    expect(await isCounted("name_configured")).toBe(1);
  });

  test("outside configured networks", async () => {
    const outside = { ...ORDER, destinations: ["203.0.113.1", "198.51.100.1"] };
    expect<unknown>(await post(outside)).toEqual(refused(409, "a destination is outside configured networks"));
    expect(await isCounted("outside_networks")).toBe(1);
  });

  test("for a set that there is not", async () => {
    expect((await post({ ...ORDER, source_sets: ["none"] })).status).toBe(409);
    expect((await post({ ...ORDER, source_sets: ["bogons"] })).status).toBe(200);
    expect(await isCounted("unknown_set")).toBe(1);
  });

  test("the 26th, and not for a name that was ordered", async () => {
    for (let i = 0; i < FILTER_RULE_ORDERS_MAX; i++) expect((await post({ ...ORDER, name: `r${i}` })).status).toBe(200);
    expect<unknown>(await post()).toEqual(refused(409, "25 rules are ordered: remove one of them"));
    expect((await post({ ...ORDER, name: "r0" })).status).toBe(200);
    expect(await isCounted("too_many_rules")).toBe(1);
  });
});
