/**
 * A lease in a real etcd: at no moment do two brains hold it, whatever is killed, frozen or lost. Real time: that etcd
 * ends a lease after 15 s cannot be had by a clock of the test's.
 */
import { afterEach, describe, expect, test } from "bun:test";
import type { EtcdLease } from "../../src/cluster/etcd/etcd-lease.ts";
import { isWithin, LEASE_SECONDS } from "../../src/cluster/etcd/lease-terms.ts";
import { TcpProxy } from "../fixtures/cluster/tcp-proxy.ts";
import { callsOf, leaseOf, PREFIX } from "../fixtures/etcd/etcd-clients.ts";
import { EtcdCluster, etcdUnavailable } from "../fixtures/etcd/etcd-cluster.ts";
import { eventually } from "../fixtures/service.ts";
import { Undo } from "../fixtures/undo.ts";

const reason = etcdUnavailable();
const undo = new Undo();
afterEach(() => undo.all());
const DEADLINE_MS = 60_000;

async function world(members: 1 | 3) {
  const etcd = await EtcdCluster.start({ members });
  undo.add(() => etcd.close());
  // Data that are old already: of new ones no lease is taken for a while.
  await callsOf(etcd).txn({
    compare: [],
    success: [{ kind: "put", key: `${PREFIX}generation`, value: "first" }],
    failure: [],
  });
  const proxies = await Promise.all([0, 1].map(() => TcpProxy.start(() => Number(etcd.endpoints[0]?.port))));
  for (const proxy of proxies) undo.add(() => proxy.stop());
  const leases = proxies.map(({ port }, i) => {
    const endpoints = members === 1 ? [new URL(`http://127.0.0.1:${port}`)] : etcd.endpoints;
    return leaseOf(etcd, `brain${i + 1}`, { endpoints });
  });
  const overlaps: number[] = [];
  const looking = setInterval(() => {
    if (leases.every((lease) => lease.holds())) overlaps.push(performance.now());
  }, 5);
  undo.add(() => clearInterval(looking));
  for (const lease of leases) {
    lease.start();
    undo.add(() => lease.close());
  }
  return { etcd, leases, proxies, overlaps };
}

const held = async (leases: readonly EtcdLease[]): Promise<number> => {
  await eventually(() => leases.some((lease) => lease.holds()), "no brain takes the lease", DEADLINE_MS);
  return leases.findIndex((lease) => lease.holds());
};

test("a lease is over when either clock says so, and half a second before etcd ends it", () => {
  const start = { monotonicMs: 1000, wallMs: 50_000 };
  const after = (monotonicMs: number, wallMs: number) =>
    isWithin(start, LEASE_SECONDS, { monotonicMs: 1000 + monotonicMs, wallMs: 50_000 + wallMs });
  expect([after(0, 0), after(14_499, 14_499), after(14_500, 14_499)]).toEqual([true, true, false]);
  // The machine was suspended, or its clock was set forward; set back by an hour it changes nothing.
  expect([after(10, 20_000), after(10, -3_600_000), after(14_500, -3_600_000)]).toEqual([false, true, false]);
});

describe.skipIf(reason !== null)(`a lease in etcd${reason === null ? "" : `: ${reason}`}`, () => {
  test("one brain holds it, shows its name, and gives it back when it stops", async () => {
    const { leases, overlaps } = await world(1);
    const first = await held(leases);
    const [holder, other] = [leases[first] as EtcdLease, leases[1 - first] as EtcdLease];
    await eventually(() => other.holder === `brain${first + 1}`, "the other one does not see the holder");
    await holder.close();
    expect(holder.holds()).toBe(false);
    // Much sooner than by the end of its time.
    await eventually(() => other.holds(), "the other one does not take it", 5000);
    expect(overlaps).toEqual([]);
  }, 90_000);

  test("a holder that cannot reach etcd any more gives up before another one takes it", async () => {
    const { etcd, leases, overlaps } = await world(3);
    const first = await held(leases);
    const holder = leases[first] as EtcdLease;
    await Promise.all(etcd.members.map((member) => member.kill()));
    await eventually(() => !holder.holds(), "it holds on", DEADLINE_MS);
    expect(leases.map((lease) => lease.holds())).toEqual([false, false]);
    await etcd.startAll();
    await held(leases);
    expect(overlaps).toEqual([]);
  }, 120_000);

  test("all data of etcd are lost while the holder is cut off: no other takes the lease that it still counts on", async () => {
    const { etcd, leases, proxies, overlaps } = await world(1);
    const first = await held(leases);
    const [holder, other] = [leases[first] as EtcdLease, leases[1 - first] as EtcdLease];
    proxies[first]?.cut();
    await etcd.loseAll();
    await etcd.startAll();
    expect([holder.holds(), other.holds()]).toEqual([true, false]);
    await eventually(() => other.holds(), "the other one does not take it", DEADLINE_MS);
    expect(overlaps).toEqual([]);
  }, 120_000);

  test("the leader is killed, then one frozen: the holder keeps it", async () => {
    const { etcd, leases, overlaps } = await world(3);
    const first = await held(leases);
    const holder = leases[first] as EtcdLease;
    let lost = 0;
    const looking = setInterval(() => {
      if (!holder.holds()) lost++;
    }, 50);
    undo.add(() => clearInterval(looking));
    const killed = await etcd.leader();
    await killed.kill();
    await Bun.sleep(6000);
    killed.start();
    await eventually(() => etcd.answers(), "the member does not come back", 20_000, 100);
    const frozen = await etcd.leader();
    frozen.freeze();
    await Bun.sleep(6000);
    frozen.thaw();
    await Bun.sleep(3000);
    expect([lost, overlaps.length]).toEqual([0, 0]);
  }, 120_000);
});
