/** Orders through a real etcd: kept by stamp, through members that are killed, frozen, wiped or restored. */
import { afterEach, describe, expect, test } from "bun:test";
import { orderText } from "../../src/cluster/etcd/order-record.ts";
import type { SharedRecord } from "../../src/cluster/order-exchange.ts";
import { TcpProxy } from "../fixtures/cluster/tcp-proxy.ts";
import { callsOf, PREFIX, TestBrain } from "../fixtures/etcd/etcd-clients.ts";
import { EtcdCluster, etcdUnavailable } from "../fixtures/etcd/etcd-cluster.ts";
import { eventually } from "../fixtures/service.ts";
import { Undo } from "../fixtures/undo.ts";

const reason = etcdUnavailable();
const undo = new Undo();
afterEach(() => undo.all());

async function etcdOf(members: 1 | 3): Promise<EtcdCluster> {
  const etcd = await EtcdCluster.start({ members });
  undo.add(() => etcd.close());
  return etcd;
}

function brain(etcd: EtcdCluster, name: string, first = 0): TestBrain {
  const made = new TestBrain(etcd, name, { first });
  undo.add(() => made.close());
  return made;
}

function order(key: string, ms: number, name: string): SharedRecord {
  return { table: "bans", key, stamp: { ms, brain: name }, record: null };
}

async function storedStamps(etcd: EtcdCluster): Promise<Record<string, string>> {
  const { records } = await callsOf(etcd).list(`${PREFIX}orders/`, 1000);
  const entries = records.map(({ key, value }) => {
    const { stamp } = JSON.parse(value) as SharedRecord;
    return [decodeURIComponent(key.slice(`${PREFIX}orders/bans/`.length)), `${stamp.ms} ${stamp.brain}`] as const;
  });
  return Object.fromEntries(entries);
}

const agree = (brains: readonly TestBrain[], key: string, stamp: string) =>
  eventually(
    () => brains.every((each) => each.stampOf(key) === stamp),
    () => `${key}: ${brains.map((each) => each.stampOf(key)).join(", ")} instead of ${stamp}`,
    30_000,
  );

describe.skipIf(reason !== null)(`orders in etcd${reason === null ? "" : `: ${reason}`}`, () => {
  test("an older stamp never replaces a newer one, from whichever brain", async () => {
    const etcd = await etcdOf(1);
    const [one, two] = [brain(etcd, "brain1"), brain(etcd, "brain2")];
    expect(await one.order("192.0.2.1/32", 2000)).toBe(true);
    expect(await two.exchange.publish(order("192.0.2.1/32", 1000, "brain2"))).toBe(true);
    expect(await storedStamps(etcd)).toEqual({ "192.0.2.1/32": "2000 brain1" });
    await agree([one, two], "192.0.2.1/32", "2000 brain1");
    // The name decides between equal times.
    expect(await two.exchange.publish(order("192.0.2.1/32", 2000, "brain2"))).toBe(true);
    expect(await one.exchange.publish(order("192.0.2.1/32", 2000, "brain1"))).toBe(true);
    expect(await storedStamps(etcd)).toEqual({ "192.0.2.1/32": "2000 brain2" });
  });

  test("of eight clients that write one key at once, the newest stamp is left in each round", async () => {
    const etcd = await etcdOf(3);
    const brains = Array.from({ length: 8 }, (_, i) => brain(etcd, `brain${i}`, i % 3));
    for (let round = 0; round < 25; round++) {
      const key = `round ${round}/ä`;
      const stamps = brains.map((_, i) => 1000 + ((i * 5 + round) % 8));
      await Promise.all(brains.map((each, i) => each.order(key, stamps[i] as number)));
      const newest = stamps.indexOf(1007);
      await agree(brains, key, `1007 brain${newest}`);
      expect((await storedStamps(etcd))[key]).toBe(`1007 brain${newest}`);
    }
  }, 60_000);

  test("of several orders for one key that wait, the newest is written, and each caller is answered", async () => {
    const etcd = await etcdOf(1);
    const one = brain(etcd, "brain1");
    const answers = await Promise.all([1, 2, 3, 4, 5].map((ms) => one.order("k", ms)));
    expect(answers).toEqual([true, true, true, true, true]);
    expect(await storedStamps(etcd)).toEqual({ k: "5 brain1" });
  });

  test("the leader is killed, then another one frozen: orders go on, and those that were acknowledged are there", async () => {
    const etcd = await etcdOf(3);
    const [one, two] = [brain(etcd, "brain1"), brain(etcd, "brain2", 1)];
    const acknowledged: string[] = [];
    let isOver = false;
    const ordering = (async () => {
      for (let i = 0; !isOver; i++) {
        if (await one.order(`k${i}`, i)) acknowledged.push(`k${i}`);
        await Bun.sleep(20);
      }
    })();
    const more = async () => {
      const count = acknowledged.length;
      await eventually(() => acknowledged.length > count + 10, "orders do not go on", 30_000);
    };
    await more();
    const killed = await etcd.leader();
    await killed.kill();
    await more();
    killed.start();
    await eventually(() => etcd.answers(), "the member does not come back", 20_000, 100);
    const frozen = await etcd.leader();
    frozen.freeze();
    await more();
    frozen.thaw();
    isOver = true;
    await ordering;
    await eventually(() => one.exchange.waiting === 0, "orders still wait", 20_000);
    const last = acknowledged.at(-1) as string;
    await agree([one, two], last, one.stampOf(last) as string);
    expect(acknowledged.filter((key) => two.stampOf(key) === undefined)).toEqual([]);
    expect(one.calls.log.moves + two.calls.log.moves).toBeGreaterThan(0);
  }, 90_000);

  test("without a majority an order is answered as not shared, and is carried on until etcd takes it", async () => {
    const etcd = await etcdOf(3);
    const [one, two] = [brain(etcd, "brain1"), brain(etcd, "brain2", 1)];
    expect(await one.order("before", 1)).toBe(true);
    const [, second, third] = etcd.members;
    await Promise.all([second?.kill(), third?.kill()]);
    expect(await one.order("during", 2)).toBe(false);
    second?.start();
    third?.start();
    await agree([one, two], "during", "2 brain1");
  }, 60_000);

  test("all data of etcd are lost: the brains put everything back, the newest of each", async () => {
    const etcd = await etcdOf(3);
    const [one, two] = [brain(etcd, "brain1"), brain(etcd, "brain2", 1)];
    await one.order("from one", 10);
    await two.order("from two", 11);
    await two.order("unbanned", 12, null);
    for (const key of ["from one", "from two", "unbanned"])
      await agree([one, two], key, one.stampOf(key) ?? two.stampOf(key) ?? "");
    await etcd.loseAll();
    // While it is gone, one of them has a newer one.
    const isShared = one.order("from two", 20);
    await etcd.startAll();
    await eventually(async () => Object.keys(await storedStamps(etcd)).length === 3, "not all is put back", 30_000, 50);
    await isShared;
    await agree([one, two], "from two", "20 brain1");
    expect(await storedStamps(etcd)).toEqual({
      "from one": "10 brain1",
      "from two": "20 brain1",
      unbanned: "12 brain2",
    });
  }, 60_000);

  test("an older backup is restored: its records lose against newer stamps, and what it lacks is put back", async () => {
    const etcd = await etcdOf(1);
    const member = etcd.members[0];
    const [one, two] = [brain(etcd, "brain1"), brain(etcd, "brain2")];
    await one.order("changed later", 1);
    await one.order("unbanned later", 1);
    const snapshot = `${undo.folder("snapshot")}/db`;
    await member?.save(snapshot);
    await two.order("changed later", 2);
    await two.order("unbanned later", 2, null);
    await two.order("new", 2);
    await agree([one, two], "new", "2 brain2");
    await member?.kill();
    member?.restore(snapshot);
    await etcd.startAll();
    const wanted = { "changed later": "2 brain2", "unbanned later": "2 brain2", new: "2 brain2" };
    await eventually(async () => Bun.deepEquals(await storedStamps(etcd), wanted), "not all is put back", 30_000, 50);
    expect([one.stampOf("changed later"), two.stampOf("unbanned later")]).toEqual(["2 brain2", "2 brain2"]);
  }, 60_000);

  test("after a break changes are taken from where they ended; where these were compacted, all is read again", async () => {
    const etcd = await etcdOf(1);
    const wire = await TcpProxy.start(() => Number(etcd.endpoints[0]?.port));
    undo.add(() => wire.stop());
    const one = brain(etcd, "brain1");
    const two = new TestBrain(etcd, "brain2", { endpoints: [new URL(`http://127.0.0.1:${wire.port}`)] });
    undo.add(() => two.close());
    await one.order("a", 1);
    await agree([two], "a", "1 brain1");
    wire.cut();
    await one.order("a", 2);
    wire.heal();
    await agree([two], "a", "2 brain1");
    expect(two.given).toHaveLength(1);
    wire.cut();
    await one.order("a", 3);
    await one.order("b", 4);
    const raw = callsOf(etcd);
    const { header } = await raw.read("x");
    await raw.client.call("/v3/kv/compaction", { revision: String(header.revision), physical: true });
    wire.heal();
    await agree([two], "a", "3 brain1");
    await agree([two], "b", "4 brain1");
    expect(two.given).toHaveLength(2);
  }, 60_000);

  test("a value that is no order is replaced by a brain that has one, and taken by none", async () => {
    const etcd = await etcdOf(1);
    const raw = callsOf(etcd);
    const put = (key: string, value: string) =>
      raw.txn({ compare: [], success: [{ kind: "put", key: `${PREFIX}orders/${key}`, value }], failure: [] });
    await put("bans/a", "{");
    await put("bans/b", '{"clock":"x","stamp":{"ms":-1,"brain":"x"},"record":{}}');
    await put("unknown/c", orderText(order("c", 1, "x"), "x"));
    await put("bans/%E0%A4%A", orderText(order("d", 1, "x"), "x"));
    const one = brain(etcd, "brain1");
    await one.order("a", 5);
    await eventually(() => one.given.length > 0, "nothing was compared");
    expect([...one.held.keys()]).toEqual(["a"]);
    expect((await raw.read(`${PREFIX}orders/bans/a`)).record?.value).toContain('"ms":5');
  });

  test("orders whose ends all may have forgotten are removed and not taken, others stay", async () => {
    const etcd = await etcdOf(1);
    const nowMs = Date.now();
    const first = brain(etcd, "brain1");
    await first.order("old end", nowMs - 2_000_001, null);
    await first.order("old", nowMs - 2_000_001);
    await first.order("young end", nowMs - 1_900_000, null);
    await first.close();
    const second = new TestBrain(etcd, "brain2", { lifeMs: 1_000_000 });
    undo.add(() => second.close());
    await eventually(async () => !("old" in (await storedStamps(etcd))), "the old order is not removed");
    expect(Object.keys(await storedStamps(etcd))).toEqual(["young end"]);
    expect([...second.held.keys()]).toEqual(["young end"]);
  });
});
