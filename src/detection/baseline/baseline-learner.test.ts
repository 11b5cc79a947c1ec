import { describe, expect, test } from "bun:test";
import { knownOf, openBaselines } from "../../../test/fixtures/baselines.ts";
import { address, type HostRowFields, hostRows, thresholds } from "../../../test/fixtures/host-rows.ts";
import { hostgroup } from "../../../test/fixtures/hostgroups.ts";
import { attack } from "../../../test/fixtures/views.ts";
import { loadAddon } from "../../dataplane/addon.ts";
import { addressToBytes } from "../../net/address.ts";
import type { HostRows } from "../../traffic/host-rows.ts";
import { ActiveAttacks } from "../attack/active-attacks.ts";
import { CarpetScan } from "../carpet/carpet-scan.ts";
import type { PrefixSums } from "../carpet/prefix-sums.ts";
import type { Hostgroup } from "../hostgroup.ts";
import { type AllRates, BaselineLearner } from "./baseline-learner.ts";
import type { LearnedRates } from "./learned-rates.ts";

const BASELINE = { factor: 3, halfLifeSeconds: 60, warmupSeconds: 0, seasonal: false, floor: [1, 1, 1] };
const GROUP = hostgroup({ pps: 1000 }, { baseline: BASELINE, thresholdsOutgoing: thresholds({ pps: 1000 }) });
const WHOLE = hostgroup({ pps: 1000 }, { name: "whole", baseline: BASELINE, calculation: "total" });

/** Has one host in each slice. */
class Source implements AllRates {
  hosts: (HostRowFields & { readonly idleMs?: number })[] = [];
  sums: HostRowFields[] = [];

  learnHosts(rates: LearnedRates, sums: PrefixSums | null, cursor: number): number {
    const host = this.hosts[cursor];
    if (host === undefined) return -1;
    const rows = hostRows(host);
    rows.idleMs[0] = host.idleMs ?? 0;
    rates.learnRows(rows, 1, sums);
    return cursor + 1 < this.hosts.length ? cursor + 1 : -1;
  }

  async learnHostsAsync(rates: LearnedRates, sums: PrefixSums | null, cursor: number): Promise<number> {
    return this.learnHosts(rates, sums, cursor);
  }

  readGroups(out: HostRows): number {
    copy(hostRows(...this.sums), out);
    return this.sums.length;
  }
}

function copy(from: HostRows, to: HostRows): void {
  for (const column of ["addresses", "groups", "incoming", "outgoing"] as const) to[column].set(from[column]);
}

function harness(groups: readonly Hostgroup[] = [GROUP], carpets: CarpetScan | null = null) {
  const source = new Source();
  const baselines = openBaselines({ capacity: 16, directions: 2 });
  baselines.reconfigure(groups);
  const active = new ActiveAttacks();
  const banned = new Set<string>();
  const learner = new BaselineLearner({
    source,
    baselines,
    active,
    carpets,
    windowMs: 1000,
    hostgroups: () => groups,
    banned: () => ({
      addresses: hostRows(...[...banned].map((target) => ({ target, rates: {} }))).addresses,
      lengths: new Uint8Array(banned.size).fill(128),
    }),
  });
  const pass = (nowSeconds: number) => [...learner.pass(nowSeconds)].length;
  pass(0);
  const normal = (target: string, direction: "incoming" | "outgoing" = "incoming") =>
    baselines.normal({ keys: addressToBytes(address(target)), at: 0, group: GROUP, direction })?.[0];
  return { source, baselines, active, banned, learner, pass, normal };
}

describe("learning", () => {
  test("goes through all hosts in slices, and takes both directions", () => {
    const { source, pass, normal } = harness();
    source.hosts = [
      { target: "192.0.2.1", rates: { pps: 10 }, outgoing: { pps: 3 } },
      { target: "192.0.2.2", rates: { pps: 20 } },
    ];
    expect(pass(1)).toBe(2);
    expect([normal("192.0.2.1"), normal("192.0.2.2"), normal("192.0.2.1", "outgoing")]).toEqual([10, 20, 3]);
  });

  test("leaves out a host while it is silent", () => {
    const { source, pass, normal } = harness();
    source.hosts = [{ target: "192.0.2.1", rates: { pps: 10 } }];
    for (let second = 1; second <= 5; second++) pass(second);
    source.hosts = [{ target: "192.0.2.1", rates: {}, idleMs: 1000 }];
    for (let second = 6; second <= 60; second++) pass(second);
    expect(normal("192.0.2.1")).toBe(10);
  });

  test("leaves out the direction in which a host is attacked", () => {
    const { source, active, pass, normal } = harness();
    active.set(attack({ target: address("192.0.2.1") }));
    source.hosts = [{ target: "192.0.2.1", rates: { pps: 900 }, outgoing: { pps: 3 } }];
    pass(1);
    expect([normal("192.0.2.1"), normal("192.0.2.1", "outgoing")]).toEqual([0, 3]);
    active.delete(attack({ target: address("192.0.2.1") }));
    pass(2);
    expect(normal("192.0.2.1")).toBe(900);
  });

  test("leaves out a host whose attack starts during the pass, and takes one whose attack ends", () => {
    const { source, active, learner, normal } = harness();
    source.hosts = [1, 2, 3].map((n) => ({ target: `192.0.2.${n}`, rates: { pps: 900 } }));
    active.set(attack({ target: address("192.0.2.3") }));
    const steps = learner.pass(1);
    steps.next();
    active.set(attack({ target: address("192.0.2.2") }));
    active.delete(attack({ target: address("192.0.2.3") }));
    for (const _ of steps);
    expect([1, 2, 3].map((n) => normal(`192.0.2.${n}`))).toEqual([900, 0, 900]);
  });

  test("is the same on another thread", async () => {
    const { source, active, learner, normal } = harness();
    source.hosts = [1, 2].map((n) => ({ target: `192.0.2.${n}`, rates: { pps: 900 } }));
    active.set(attack({ target: address("192.0.2.2") }));
    let slices = 0;
    for await (const _ of learner.passAside(1)) slices++;
    expect([slices, normal("192.0.2.1"), normal("192.0.2.2")]).toEqual([2, 900, 0]);
  });

  test("leaves out a host while a ban keeps traffic from it, however long: what is left of it is not normal", () => {
    const { source, banned, pass, normal } = harness();
    source.hosts = [{ target: "192.0.2.1", rates: { pps: 900 } }];
    pass(1);
    banned.add("192.0.2.1");
    source.hosts = [{ target: "192.0.2.1", rates: { pps: 1 } }];
    for (let second = 2; second <= 300; second++) pass(second);
    expect(normal("192.0.2.1")).toBe(900);
    banned.clear();
    pass(301);
    expect(normal("192.0.2.1")).toBeLessThan(900);
  });

  test("leaves out hosts of groups without a baseline, and of groups that are judged as a whole", () => {
    const { source, baselines, pass } = harness([GROUP, hostgroup({}, { name: "off" }), WHOLE]);
    source.sums = [GROUP, GROUP, WHOLE].map(() => ({ target: "0.0.0.0", rates: {} }));
    source.hosts = [1, 2, 7].map((group) => ({ target: `192.0.2.${group}`, rates: { pps: 10 }, group }));
    pass(1);
    expect(baselines.rates?.stats().count).toBe(0);
  });

  test("takes the sums of a group that is judged as a whole, unless it is attacked or silent", () => {
    const { source, baselines, active, pass } = harness([WHOLE]);
    const limit = () => baselines.limits(baselines.ofGroup(WHOLE, "incoming"))?.[0];
    source.sums = [{ target: "0.0.0.0", rates: {} }];
    pass(1);
    expect(baselines.rates?.stats().count).toBe(0);
    source.sums = [{ target: "0.0.0.0", rates: { pps: 100 } }];
    pass(2);
    expect(limit()).toBe(300);
    active.set(attack({ target: null, scope: "group", group: "whole" }));
    source.sums = [{ target: "0.0.0.0", rates: { pps: 900 } }];
    pass(3);
    expect(limit()).toBe(300);
  });

  test("counts a pause for no more than five seconds of the rates of now", () => {
    const { source, baselines, pass } = harness();
    source.hosts = [{ target: "192.0.2.1", rates: { pps: 10 } }];
    pass(3600);
    expect(knownOf(baselines.rates as LearnedRates, addressToBytes(address("192.0.2.1")))?.seconds).toBe(5);
  });

  test("reads nothing while no group has a baseline", () => {
    const { source, pass } = harness([hostgroup({})]);
    source.hosts = [{ target: "192.0.2.1", rates: { pps: 10 } }];
    expect(pass(1)).toBe(0);
  });

  test("goes through all hosts while carpet attacks last after a reload disabled them", () => {
    const { active, learner } = harness(
      [hostgroup({})],
      new CarpetScan({ carpet: null, networks: [] }, (capacity) => loadAddon().openPrefixSums(capacity)),
    );
    expect(learner.hasWork).toBe(false);
    active.set(attack({ target: null, scope: "group", carpet: { prefix: "192.0.2.0/24", hosts: 20 } }));
    expect(learner.hasWork).toBe(true);
  });
});

test("the hour of the week is that of the wall clock, also where that is set while the service runs", () => {
  const group = hostgroup({ pps: 1e6 }, { baseline: { ...BASELINE, halfLifeSeconds: 604_800, seasonal: true } });
  const source = new Source();
  source.hosts = [{ target: "192.0.2.1", rates: { pps: 10 } }];
  const baselines = openBaselines();
  baselines.reconfigure([group]);
  let [now, wall] = [0, 1_700_000_000];
  const learner = new BaselineLearner({
    source,
    baselines,
    active: new ActiveAttacks(),
    carpets: null,
    windowMs: 1000,
    hostgroups: () => [group],
    wallSeconds: () => wall,
  });
  const pass = (seconds: number) => {
    now += seconds;
    wall += seconds;
    for (const _ of learner.pass(now));
  };
  const host = { keys: addressToBytes(address("192.0.2.1")), at: 0, group, direction: "incoming" } as const;
  // Two hours, so that one of them is complete.
  for (let passes = 0; passes < 2 * 720; passes++) pass(5);
  wall += 168 * 3600 - 3600;
  pass(5);
  expect(baselines.origin(host, 0).normalOf).toBe("hour_of_week");
  wall += 48 * 3600;
  pass(5);
  expect(baselines.origin(host, 0).normalOf).toBe("recent");
});
