import { expect, test } from "bun:test";
import { ModelEtcd } from "../../../test/cluster/model/model-etcd.ts";
import { ManualClock, ManualTimers } from "../../../test/fixtures/manual-clock.ts";
import { Chance, longRandom } from "../../../test/fixtures/seeded-random.ts";
import type { SharedRecord } from "../order-exchange.ts";
import { type OrderInEtcd, orderName } from "./order-record.ts";
import { OrderWriter } from "./order-writer.ts";

const PREFIX = "/m/orders/";
const order = (ms: number): SharedRecord => ({
  ...{ table: "bans", key: "192.0.2.1/32" },
  ...{ stamp: { ms, brain: "brain1" }, record: { text: `${ms}` } },
});

function writerOf(etcd: ModelEtcd) {
  const newer: OrderInEtcd[] = [];
  const observer = { written: () => {}, superseded: () => {}, failed: () => {}, leftOut: () => {} };
  const writer = new OrderWriter({
    ...{ calls: etcd.callsOf("brain1"), own: "brain1", prefix: PREFIX, timers: new ManualTimers(new ManualClock()) },
    ...{ onNewer: (each) => void newer.push(each), observer },
  });
  return { writer, newer };
}
const stored = (etcd: ModelEtcd) => [...etcd.values(PREFIX).values()].map((text) => JSON.parse(text).stamp.ms);

test("an older order is never written over a newer one, also where the watch has shown that", async () => {
  const etcd = new ModelEtcd(new Chance(longRandom(1)));
  const { writer, newer } = writerOf(etcd);
  expect(await writerOf(etcd).writer.write(order(2000))).toBe(true);
  const [record] = etcd.list(PREFIX);
  writer.saw(orderName(order(0)), { revision: record?.modRevision ?? 0, stamp: order(2000).stamp });
  expect(await writer.write(order(1000))).toBe(true);
  expect([stored(etcd), newer.map(({ shared }) => shared.stamp.ms)]).toEqual([[2000], [2000]]);
});

test("it is written if the newer one is lost", async () => {
  const etcd = new ModelEtcd(new Chance(longRandom(1)));
  const { writer } = writerOf(etcd);
  writer.saw(orderName(order(0)), { revision: 7, stamp: order(2000).stamp });
  expect(await writer.write(order(1000))).toBe(true);
  expect(stored(etcd)).toEqual([1000]);
});
