import { describe, expect, test } from "bun:test";
import { knownOf, learnedRates } from "../../../test/fixtures/baselines.ts";
import { type HostRowFields, hostRows, thresholds } from "../../../test/fixtures/host-rows.ts";
import { hostgroup, policyFor } from "../../../test/fixtures/hostgroups.ts";
import { loadAddon } from "../../dataplane/addon.ts";
import { CARPETS_MAX } from "../../limits.ts";
import { type Prefix, parsePrefix, prefixContains } from "../../net/prefix.ts";
import { allocateHostRows, type HostRows } from "../../traffic/host-rows.ts";
import { METRICS } from "../../traffic/rates.ts";
import { ActiveAttacks } from "../attack/active-attacks.ts";
import { AttackMeters } from "../attack/attack-meters.ts";
import { seededDraws } from "../attack/seeded-draws.ts";
import type { CarpetConfig } from "./carpet-config.ts";
import { CarpetJudge, type CarpetPolicy } from "./carpet-judge.ts";
import { CARPET_PREFIXES_MAX, CarpetScan } from "./carpet-scan.ts";

const NETWORKS = ["10.0.0.0/8", "192.0.2.128/25", "2001:db8::/32"].map((text) => parsePrefix(text) as Prefix);
const CARPET: CarpetConfig = {
  prefixV4: 24,
  prefixV6: 48,
  minHosts: 10,
  thresholds: thresholds({ pps: 1000 }),
  widestV4: 20,
  widestV6: 44,
};

const CLASSIFIED = { type: "udp_flood", confidence: 1, sourcePort: null, parts: [] } as const;

function harness(changes: Partial<CarpetPolicy> = {}) {
  const policy: CarpetPolicy = {
    ...policyFor([hostgroup({ pps: 1e6 }), hostgroup({ pps: 1e6 }, { name: "web" })], { maxActive: 1000 }),
    carpet: CARPET,
    networks: NETWORKS,
    networkOf: (ip) => NETWORKS.findIndex((network) => prefixContains(network, ip)),
    isBannable: null,
    ...changes,
  };
  const scan = new CarpetScan(policy, (capacity) => loadAddon().openPrefixSums(capacity));
  const rates = learnedRates({ capacity: 70_000 });
  const rule = { warmupSeconds: 0, halfLifeSeconds: 60, factor: 3, floor: Float64Array.of(1, 1, 1), isSeasonal: false };
  rates.setGroups([0, 1].map(() => ({ isWhole: false, rule })));
  rates.beginPass({ nowSeconds: 1, seconds: 1, hour: 0, intoSeconds: 1, idleSeconds: 0, windowMs: 1000 });
  const add = (rows: HostRows) => rates.learnRows(rows, rows.capacity, scan.sums);
  const active = new ActiveAttacks();
  let ids = 0;
  const judge = new CarpetJudge(
    policy,
    scan,
    { active, meters: new AttackMeters({ tickMs: 100, droppedOf: () => null }) },
    () => `c${++ids}`,
  );
  let monotonicMs = 0;
  const pass = (...hosts: (HostRowFields & { readonly network?: number })[]) => {
    monotonicMs += 1000;
    scan.begin();
    const rows = hostRows(...hosts);
    hosts.forEach(({ network = 0 }, row) => {
      rows.networks[row] = network;
    });
    add(rows);
    return judge
      .judgeWithoutPauses({ wallMs: 0, monotonicMs })
      .map(
        ({ kind, attack: { carpet, group, rates } }) =>
          `${kind} ${carpet?.prefix} ${carpet?.hosts} ${group} ${rates[0]}`,
      );
  };
  return { scan, rates, add, active, judge, policy, pass };
}

/** `count` hosts of a /24 with this packet rate in total. */
function spread(prefix: string, pps: number, count = 20, group = 0): HostRowFields[] {
  return Array.from({ length: count }, (_, i) => ({
    target: `${prefix}.${i + 1}`,
    rates: { pps: pps / count },
    group,
  }));
}

describe("a carpet attack", () => {
  test("is on a prefix whose hosts together are over the thresholds, and ends with them", () => {
    const { active, pass } = harness();
    expect(pass(...spread("10.0.0", 1000))).toEqual([]);
    expect(pass(...spread("10.0.0", 1020))).toEqual(["started 10.0.0.0/24 20 global 1020"]);
    expect([...active.values()][0]).toMatchObject({
      scope: "group",
      target: null,
      metric: "pps",
      threshold: 1000,
      reason: { thresholdSource: "static" },
    });
    expect(pass(...spread("10.0.0", 2000, 40))).toEqual(["lasts 10.0.0.0/24 40 global 2000"]);
    expect(pass(...spread("10.0.0", 500))).toEqual(["ended 10.0.0.0/24 40 global 2000"]);
    expect(active.size).toBe(0);
  });

  test("is none when few of its hosts get nearly all", () => {
    const { pass } = harness();
    const few = [{ target: "10.0.0.200", rates: { pps: 5000 } }, ...spread("10.0.0", 100)];
    expect(pass(...few)).toEqual([]);
    expect(pass(...spread("10.0.0", 5000, 9))).toEqual([]);
    expect(pass(...spread("10.0.0", 5000, 10))).toEqual(["started 10.0.0.0/24 10 global 5000"]);
  });

  test("on sampled hosts is one when the samples of all of them are certain, at once or with time", () => {
    const { active, pass } = harness();
    // One sample of 100 packets each: ten are expected of the prefix at its threshold.
    const sampled = (pps: number, count: number) =>
      spread("10.0.0", pps, count).map((host) => ({
        ...host,
        rates: { ...host.rates, mbps: 1 },
        weights: [100, 1e5, 0, 0],
      }));
    expect(pass(...sampled(2000, 20))).toEqual([]);
    expect(pass(...sampled(4000, 40))).toEqual(["started 10.0.0.0/24 40 global 4000"]);
    const [attack] = active.values();
    expect(attack?.samplingError?.pps).toBeCloseTo(1.96 / Math.sqrt(40), 6);
    expect(pass(...sampled(1500, 15))).toEqual(["ended 10.0.0.0/24 40 global 4000"]);
    let passes = 0;
    while (pass(...sampled(2000, 20)).length === 0) passes++;
    expect([passes > 1, passes < 8]).toEqual([true, true]);
  });

  describe("of which a window has samples of fewer hosts than min_hosts", () => {
    /** Windows of 30 samples of 100 packets on average, over this many hosts; passes until it is found, of 100. */
    function passesUntilFound(hosts: number, minHosts = 50): number | null {
      const { pass } = harness({ carpet: { ...CARPET, minHosts } });
      const draw = seededDraws(7);
      for (let passes = 1; passes <= 100; passes++) {
        const samples = new Map<number, number>();
        for (let i = 0; i < 30; i++) {
          const host = Math.floor(draw() * hosts);
          samples.set(host, (samples.get(host) ?? 0) + 1);
        }
        const rows = [...samples].map(([host, count]) => ({
          target: `10.0.0.${host}`,
          rates: { pps: 100 * count, mbps: 0.1 * count },
          weights: [100, 12_500, 0, 0],
        }));
        if (pass(...rows).length > 0) return passes;
      }
      return null;
    }

    test("is found by the samples of several windows", () => {
      const passes = passesUntilFound(250) ?? Infinity;
      expect([passes > 1, passes < 10]).toEqual([true, true]);
      expect(passesUntilFound(100)).toBeLessThan(20);
    });

    test("is none over half as many hosts, however long it lasts", () => {
      expect([passesUntilFound(25), passesUntilFound(10), passesUntilFound(5, 10)]).toEqual([null, null, null]);
    });
  });

  test("waits for the sustain time", () => {
    const { pass } = harness({ sustainMs: 2000 });
    expect(pass(...spread("10.0.0", 2000))).toEqual([]);
    expect(pass()).toEqual([]);
    expect(pass(...spread("10.0.0", 2000))).toEqual([]);
    expect(pass(...spread("10.0.0", 2000))).toEqual([]);
    expect(pass(...spread("10.0.0", 2000))).toEqual(["started 10.0.0.0/24 20 global 2000"]);
  });

  test("is one over prefixes side by side, as wide as what holds them", () => {
    const { pass } = harness();
    const sixteen = Array.from({ length: 16 }, (_, i) => spread(`10.1.${i + 16}`, 2000)).flat();
    expect(pass(...sixteen)).toEqual(["started 10.1.16.0/20 320 global 32000"]);
  });

  test("takes in prefixes that come to it, and keeps its id", () => {
    const { active, pass } = harness();
    pass(...spread("10.0.0", 2000));
    const { id } = [...active.values()][0] ?? {};
    expect(pass(...spread("10.0.0", 2000), ...spread("10.0.1", 2000))).toEqual(["lasts 10.0.0.0/23 40 global 4000"]);
    expect([...active.values()].map((attack) => attack.id)).toEqual([id ?? ""]);
    // Half of it is calm again: its width does not change.
    expect(pass(...spread("10.0.1", 2000))).toEqual(["lasts 10.0.0.0/23 20 global 2000"]);
  });

  test("takes in another one, which ends when the wider one has been there for a pass", () => {
    const { active, pass } = harness();
    pass(...spread("10.0.0", 2000), ...spread("10.0.7", 2000));
    expect(active.size).toBe(2);
    const all = Array.from({ length: 8 }, (_, third) => spread(`10.0.${third}`, 2000)).flat();
    expect(pass(...all)).toEqual(["lasts 10.0.0.0/21 160 global 16000", "lasts 10.0.7.0/24 20 global 2000"]);
    expect(pass(...all)).toEqual(["lasts 10.0.0.0/21 160 global 16000", "ended 10.0.7.0/24 20 global 2000"]);
    expect(pass(...all)).toEqual(["lasts 10.0.0.0/21 160 global 16000"]);
  });

  test("that may be banned grows no wider than what may be, and begins so", () => {
    const { pass } = harness({ isBannable: ({ text, length }) => length >= 23 && text !== "10.0.2.0/23" });
    const all = [0, 1, 2, 3, 4, 5].flatMap((third) => spread(`10.0.${third}`, 2000));
    expect(pass(...spread("10.0.0", 2000))).toEqual(["started 10.0.0.0/24 20 global 2000"]);
    expect(pass(...all)).toEqual([
      "lasts 10.0.0.0/23 40 global 4000",
      "started 10.0.2.0/24 20 global 2000",
      "started 10.0.3.0/24 20 global 2000",
      "started 10.0.4.0/23 40 global 4000",
    ]);
  });

  test("keeps what is found of it while it is judged", () => {
    const { active, judge, pass, scan } = harness();
    const many = Array.from({ length: 3000 }, (_, i) => spread(`10.${i >> 8}.${i & 0xff}`, 2000, 10)).flat();
    pass(...many);
    expect(active.size).toBe(1);
    expect(scan.leaves.length).toBe(3000);
    const steps = judge.judge({ wallMs: 0, monotonicMs: 9000 });
    steps.next();
    for (const attack of [...active.values()]) active.set({ ...attack, classification: { ...CLASSIFIED } });
    let step = steps.next();
    while (step.done !== true) step = steps.next();
    expect(step.value).toMatchObject([{ kind: "lasts", attack: { classification: CLASSIFIED } }]);
  });

  test("is not judged further when a reload comes in between", () => {
    const { judge, pass, policy } = harness();
    pass(...spread("10.0.0", 2000));
    const steps = judge.judge({ wallMs: 0, monotonicMs: 9000 });
    steps.next();
    judge.reconfigure(policy);
    expect(steps.next()).toEqual({ done: true, value: [] });
  });

  test("does not reach over what is calm: prefixes far apart are two attacks", () => {
    const { pass } = harness();
    expect(pass(...spread("10.0.0", 2000), ...spread("10.0.7", 2000))).toEqual([
      "started 10.0.0.0/24 20 global 2000",
      "started 10.0.7.0/24 20 global 2000",
    ]);
  });

  test("ends although its many calm prefixes together are over what one may have", () => {
    const { pass } = harness();
    const four = (pps: number) => [0, 1, 2, 3].flatMap((third) => spread(`10.0.${third}`, pps));
    expect(pass(...four(2000))).toEqual(["started 10.0.0.0/22 80 global 8000"]);
    expect(pass(...four(900))).toEqual(["ended 10.0.0.0/22 80 global 8000"]);
  });

  test("never mixes hostgroups", () => {
    const { pass } = harness();
    expect(pass(...spread("10.0.0", 600, 20, 0), ...spread("10.0.0", 600, 20, 1))).toEqual([]);
    expect(pass(...spread("10.0.0", 2000, 20, 0), ...spread("10.0.1", 2000, 20, 1))).toEqual([
      "started 10.0.0.0/24 20 global 2000",
      "started 10.0.1.0/24 20 web 2000",
    ]);
  });

  test("is on a whole network that is smaller than the prefix, and never wider than a network", () => {
    const { pass } = harness();
    const hosts = spread("192.0.2", 2000).map((host, i) => ({ ...host, target: `192.0.2.${200 + i}`, network: 1 }));
    expect(pass(...hosts)).toEqual(["started 192.0.2.128/25 20 global 2000"]);
  });

  test("is found in IPv6", () => {
    const { pass } = harness();
    const hosts = (site: number) =>
      Array.from({ length: 20 }, (_, i) => ({
        target: `2001:db8:${site}:${i + 1}::1`,
        rates: { pps: 100 },
        network: 2,
      }));
    expect(pass(...hosts(4))).toEqual(["started 2001:db8:4::/48 20 global 2000"]);
    expect(pass(...hosts(4), ...hosts(5))).toEqual(["lasts 2001:db8:4::/47 40 global 4000"]);
  });

  test("goes on after a restart, by the thresholds of its start", () => {
    const before = harness();
    before.pass(...spread("10.0.0", 2000));
    const after = harness({ carpet: { ...CARPET, thresholds: thresholds({ pps: 1e6 }) } });
    for (const attack of before.active.values()) after.active.set(attack);
    expect(after.pass(...spread("10.0.0", 1500))).toEqual(["lasts 10.0.0.0/24 20 global 1500"]);
    expect(after.pass()).toEqual(["ended 10.0.0.0/24 20 global 1500"]);
  });

  test("ends when a reload switches carpets off, and is not judged by sums of two configurations", () => {
    const { judge, policy, pass } = harness();
    pass(...spread("10.0.0", 2000));
    judge.reconfigure({ ...policy, carpet: null });
    expect(judge.judgeWithoutPauses({ wallMs: 0, monotonicMs: 9000 })).toEqual([]);
    expect(pass(...spread("10.0.0", 2000))).toEqual(["ended 10.0.0.0/24 20 global 2000"]);
  });

  test("marks its hosts, so that nothing is learned from them", () => {
    const { rates, add, pass } = harness();
    pass(...spread("10.0.0", 2000));
    const rows = hostRows({ target: "10.0.0.77", rates: {} }, { target: "10.0.1.77", rates: {} });
    add(rows);
    const known = [0, 1].map((row) => knownOf(rates, rows.addresses.subarray(16 * row, 16 * row + 16)) !== null);
    expect(known).toEqual([false, true]);
  });
});

test("there are no more carpet attacks at once than their bound", () => {
  const { active, judge, pass } = harness();
  pass(...Array.from({ length: CARPETS_MAX + 1 }, (_, i) => spread(`10.${i}.0`, 2000)).flat());
  expect([active.size, judge.refused]).toEqual([CARPETS_MAX, 1]);
});

test("a larger carpet attack replaces the smallest one when there are too many, and one that is calm", () => {
  const { judge, pass } = harness({ hysteresisMs: () => 60_000 });
  const many = Array.from({ length: CARPETS_MAX }, (_, i) => spread(`10.${i}.0`, 2000)).flat();
  pass(...many, ...spread("10.200.0", 1500));
  expect(pass(...many, ...spread("10.200.0", 1500), ...spread("10.201.0", 9000)).slice(CARPETS_MAX)).toEqual([
    "ended 10.0.0.0/24 20 global 2000",
    "started 10.201.0.0/24 20 global 9000",
  ]);
  const calm = many.slice(40);
  expect(pass(...spread("10.201.0", 9000), ...calm, ...spread("10.202.0", 1100)).slice(CARPETS_MAX)).toEqual([
    "ended 10.1.0.0/24 20 global 0",
    "started 10.202.0.0/24 20 global 1100",
  ]);
  expect(judge.replaced).toBe(2);
});

test("the largest of very many prefixes is judged, wherever it is in the pass", () => {
  const { active, pass } = harness();
  const many = Array.from({ length: 200 }, (_, i) => spread(`10.${i}.0`, 1500)).flat();
  pass(...many, ...spread("10.250.0", 90_000));
  expect([...active.values()].map(({ carpet }) => carpet?.prefix)).toContain("10.250.0.0/24");
});

test("an attacked prefix finds room behind very many prefixes with little traffic, within a few passes", () => {
  const { scan, add } = harness();
  const little = prefixesOf(CARPET_PREFIXES_MAX);
  const attacked = hostRows({ target: "10.0.0.1", rates: { pps: 50 }, group: 1 });
  const seen: boolean[] = [];
  for (let pass = 0; pass < 4; pass++) {
    scan.begin();
    add(little);
    add(attacked);
    scan.read();
    seen.push(scan.leaves.some(({ group }) => group === 1));
  }
  expect(seen).toEqual([false, false, true, true]);
});

test("prefixes beyond their bound are counted, and have room again in a later pass", () => {
  const { scan, add } = harness();
  scan.begin();
  add(prefixesOf(CARPET_PREFIXES_MAX + 1));
  scan.read();
  expect([scan.leaves.length, scan.overflow]).toEqual([CARPET_PREFIXES_MAX, 1]);
  scan.begin();
  add(hostRows({ target: "10.0.0.1", rates: { pps: 1 } }));
  scan.read();
  expect(scan.leaves.length).toBe(1);
});

/** One host in each prefix, up to the given number of prefixes. */
function prefixesOf(count: number): HostRows {
  const rows = allocateHostRows(count);
  const first = hostRows({ target: "10.0.0.1", rates: { pps: 1 } });
  for (let i = 0; i < count; i++) {
    rows.addresses.set(first.addresses, 16 * i);
    rows.addresses[16 * i + 13] = i >> 8;
    rows.addresses[16 * i + 14] = i & 0xff;
    rows.groups[i] = i >> 16;
    rows.incoming.set(first.incoming, i * METRICS.length);
  }
  return rows;
}
