/** The addon takes the most that the configuration's schema lets through; one more is refused by both in plain words. */

import { afterEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { BpfDirectory, bpfUnavailable } from "../../test/fixtures/dataplane/bpf-directory.ts";
import { operatorRule } from "../../test/fixtures/mitigation/operator-rules.ts";
import { prefix } from "../../test/fixtures/networks.ts";
import { parseConfig } from "../config/load/load.ts";
import {
  ACTIVE_ATTACKS_MAX,
  DYNAMIC_RULES_MAX,
  FILTER_RULE_ORDERS_MAX,
  HOST_IDLE_MS,
  HOSTGROUPS_MAX,
  PREFIXES_MAX,
} from "../limits.ts";
import { operatorKernelRules } from "../mitigation/operator/operator-kernel-rules.ts";
import type { Rule } from "../mitigation/rules/rule.ts";
import { wideRule } from "../mitigation/rules/rule.ts";
import {
  CPU_NUMBER_MAX,
  DETAILED_RULES_MAX,
  FILTER_ENTRIES_MAX,
  FILTER_RULES_PER_DESTINATION_MAX,
  FILTER_SOURCES_MAX,
  HOSTS_MAX,
  OPERATOR_ENTRIES_MAX,
  QUEUE_NUMBER_MAX,
  SCREENED_ROWS_MAX,
  TABLE_PREFIXES_MAX,
  TICK_MS_MAX,
  TICK_MS_MIN,
  WINDOW_MS_MAX,
  WINDOW_MS_MIN,
} from "../native/constants.ts";
import { ADDRESS_BYTES } from "../net/address.ts";
import { exactly } from "../net/range.ts";
import { describeProblem } from "../schema/problem.ts";
import type { NetworksTable } from "../traffic/network-lookup.ts";
import { METRICS } from "../traffic/rates.ts";
import { loadAddon } from "./addon.ts";
import { openKernelFilter } from "./kernel-filter.ts";
import type { Engine, EngineOptions } from "./native.d.ts";

/** Only against a hang: tables at their bounds take a while on a busy machine. */
setDefaultTimeout(60_000);
const OPTIONS: EngineOptions = {
  maxHosts: 1024,
  windowMs: 1000,
  tickMs: 100,
  countOutgoing: true,
  clock: "monotonic",
  idleMs: HOST_IDLE_MS,
};

let opened: { close(): void }[] = [];
afterEach(() => {
  for (const one of opened) one.close();
  opened = [];
});

function openEngine(options: Partial<EngineOptions>): Engine {
  const engine = loadAddon().openEngine({ ...OPTIONS, ...options });
  opened.push(engine);
  return engine;
}

/** This number of addresses of 10.0.0.0/8, each a network of its own; the groups take turns. */
function networks(count: number, groupCount: number): NetworksTable {
  const addresses = new Uint8Array(count * ADDRESS_BYTES);
  for (let i = 0; i < count; i++) addresses.set([0xff, 0xff, 10, i >> 16, i >> 8, i], i * ADDRESS_BYTES + 10);
  return {
    addresses,
    lengths: new Uint8Array(count).fill(128),
    networks: Uint32Array.from({ length: count }, (_, i) => i),
    groups: Uint32Array.from({ length: count }, (_, i) => i % groupCount),
    networkCount: count,
    groupCount,
  };
}

function problemsOf(lines: string): string[] {
  const text = `networks: [192.0.2.0/24]\nthresholds: {pps: 1000, mbps: 10, flows_per_sec: 200}\n${lines}`;
  const loaded = parseConfig(new TextEncoder().encode(text));
  return loaded.kind === "valid" ? [] : loaded.problems.map((problem) => describeProblem("", problem).slice(1));
}

const captureOf = (keys: string) => `capture: {interfaces: [{name: eth1, mode: mirror${keys}}]}`;

describe("the engine", () => {
  test("opens with as many hosts as can be configured", () => {
    expect(problemsOf(`capture: {pcap_file: /x, max_hosts: ${HOSTS_MAX}}`)).toEqual([]);
    const engine = openEngine({ maxHosts: HOSTS_MAX });
    expect(engine.stats().trackedHosts).toBe(0);
    expect(() => openEngine({ maxHosts: HOSTS_MAX + 1 })).toThrow(
      new RangeError(`maxHosts must be between 1 and ${HOSTS_MAX}`),
    );
    expect(problemsOf(`capture: {pcap_file: /x, max_hosts: ${HOSTS_MAX + 1}}`)).toEqual([
      `3: capture.max_hosts: must be a whole number from 1 to ${HOSTS_MAX}, not ${HOSTS_MAX + 1}`,
    ]);
  });

  test.each([
    [WINDOW_MS_MIN, TICK_MS_MIN],
    [WINDOW_MS_MAX, TICK_MS_MIN],
    [WINDOW_MS_MAX, TICK_MS_MAX],
  ])("opens with a window of %d ms in ticks of %d ms", (windowMs, tickMs) => {
    expect(problemsOf(`detection: {window_ms: ${windowMs}, tick_ms: ${tickMs}}`)).toEqual([]);
    openEngine({ windowMs, tickMs });
  });

  test.each([
    ["window_ms", WINDOW_MS_MIN - 1],
    ["window_ms", WINDOW_MS_MAX + 1],
    ["tick_ms", TICK_MS_MIN - 1],
    ["tick_ms", TICK_MS_MAX + 1],
  ])("a configuration with %s %d is refused", (key, value) => {
    const refusal = `3: detection.${key}: must be a whole number from `;
    expect(problemsOf(`detection: {${key}: ${value}}`)).toContainEqual(expect.stringContaining(refusal));
  });

  test("takes all prefixes and hostgroups that can be configured, and watches all attacked hosts", async () => {
    const engine = openEngine({});
    const groups = HOSTGROUPS_MAX + 1;
    engine.setNetworks(networks(PREFIXES_MAX, groups));
    engine.setScreens(new Float64Array(groups * 2 * METRICS.length));
    engine.setWatched(networks(ACTIVE_ATTACKS_MAX, 1).addresses);
    const { screened } = await engine.tick();
    expect(screened).toBe(ACTIVE_ATTACKS_MAX);
    expect(ACTIVE_ATTACKS_MAX).toBeLessThan(SCREENED_ROWS_MAX);
  });

  test("refuses tables beyond its bounds, and names them", () => {
    const engine = openEngine({});
    const watched = networks(ACTIVE_ATTACKS_MAX + 1, 1).addresses;
    expect(() => engine.setWatched(watched)).toThrow(`more than ${ACTIVE_ATTACKS_MAX} hosts`);
    const table = networks(TABLE_PREFIXES_MAX + 1, 1);
    expect(() => engine.setNetworks(table)).toThrow(`networks: more than ${TABLE_PREFIXES_MAX} prefixes`);
  });

  test.each([
    ["cpus", CPU_NUMBER_MAX],
    ["queues", QUEUE_NUMBER_MAX],
  ])("takes a source with the last of %s, and refuses one beyond", (key, last) => {
    const engine = openEngine({});
    const options = { kind: "af_xdp", interface: "nosuch0", xdpMode: "auto", zeroCopy: "auto" } as const;
    const open = (number: number) => () =>
      engine.openSource({ ...options, queues: null, cpus: [], [key]: [number] }, null);
    expect(problemsOf(captureOf(`, ${key}: [${last}]`))).toEqual([]);
    expect(open(last)).toThrow("nosuch0");
    expect(open(last + 1)).toThrow(new RangeError(`${key}[0] must be a whole number from 0 to ${last}`));
    expect(problemsOf(captureOf(`, ${key}: [${last + 1}]`))).toContainEqual(expect.stringContaining(`: capture.`));
  });
});

test("as many rules of the operator as can be configured and ordered fit into the list of one destination", () => {
  const [most, names] = [100, (_: unknown, i: number) => `r${i}`];
  const configured = (count: number) => {
    const rules = Array.from({ length: count }, names).map((name) => `{name: ${name}, action: drop}`);
    return problemsOf(`dataplane: {interfaces: [eth1]}\nfilter_rules: [${rules.join()}]`);
  };
  expect([configured(most).length, configured(most + 1).length]).toEqual([0, 1]);
  const limit = { packetsPerSecond: 1, bytesPerSecond: 1000, isPerSource: true, ipv4Length: 32, ipv6Length: 64 };
  const rules = Array.from({ length: most + FILTER_RULE_ORDERS_MAX }, names).map((name) =>
    operatorRule({ name, action: "limit", limit }),
  );
  const networks = ["192.0.2.0/24", "2001:db8::/32"].map(prefix);
  const made = operatorKernelRules({ rules, networks, attacked: [], wallMs: 0, room: OPERATOR_ENTRIES_MAX });
  expect(made.rules).toHaveLength(4 * rules.length);
  expect(made.rules.length).toBeLessThanOrEqual(DETAILED_RULES_MAX);
  expect(made.destinations.map((list) => list.rules.length)).toEqual([2 * rules.length, 2 * rules.length]);
  expect(2 * rules.length).toBeLessThanOrEqual(FILTER_RULES_PER_DESTINATION_MAX);
});

const skipped = bpfUnavailable === null ? "" : ` (${bpfUnavailable})`;
describe.skipIf(bpfUnavailable !== null)(`the filter${skipped}`, () => {
  function openFilter(entries: number) {
    const directory = new BpfDirectory();
    opened.push(directory);
    const bounds = {
      maxPairs: entries,
      maxRules: entries,
      maxPrefixes: PREFIXES_MAX,
      maxSources: FILTER_SOURCES_MAX,
    };
    const filter = openKernelFilter({ pinPath: directory.path, interfaces: [], xdpMode: "auto", ...bounds });
    opened.unshift({ close: () => filter.close("detach") });
    return filter;
  }

  test("opens with as many rules and pairs as can be configured", () => {
    const entries = (count: number) =>
      problemsOf(`dataplane: {interfaces: [eth1], limits: {max_dynamic_rules: ${count}}}\nban: {max_active_bans: 1}`);
    expect(entries(DYNAMIC_RULES_MAX)).toEqual([]);
    expect(openFilter(DYNAMIC_RULES_MAX).status()).toMatchObject({ maxPairs: DYNAMIC_RULES_MAX, pairs: 0 });
    expect(entries(DYNAMIC_RULES_MAX + 1)).toContainEqual(expect.stringContaining(`to ${DYNAMIC_RULES_MAX}, not`));
    expect(() => openFilter(FILTER_ENTRIES_MAX + 1)).toThrow(
      new RangeError(`maxPairs must be from 1 to ${FILTER_ENTRIES_MAX}`),
    );
  });

  test("holds as many rules for one destination as detection may ask for, and refuses one more", () => {
    const filter = openFilter(1024);
    const expiresAtMs = Date.now() + 3_600_000;
    const rule = (i: number): Rule => ({
      ...wideRule(prefix("203.0.113.9/32"), { kind: "discard" }),
      protocols: exactly(i),
    });
    const puts = (count: number) =>
      Array.from({ length: count }, (_, i) => ({ id: `r${i}`, rule: rule(i % 256), expiresAtMs }));
    filter.setRules(puts(FILTER_RULES_PER_DESTINATION_MAX));
    expect(filter.readRules()).toHaveLength(FILTER_RULES_PER_DESTINATION_MAX);
    expect(() => filter.setRules(puts(FILTER_RULES_PER_DESTINATION_MAX + 1))).toThrow(
      `more than ${FILTER_RULES_PER_DESTINATION_MAX} of dynamic rules for one destination`,
    );
  });
});
