/** What brains share, in the state database of one of them: at the next start it is whole, or costs what is damaged. */
import { Database } from "bun:sqlite";
import { afterEach, expect, test } from "bun:test";
import { join } from "node:path";
import { Undo } from "../../test/fixtures/undo.ts";
import { NOON } from "../../test/fixtures/views.ts";
import { type StampedOrder, stampedName } from "../cluster/stamped-order.ts";
import { StateDatabase } from "./state-database.ts";

const undo = new Undo();
afterEach(() => undo.all());

const ended = (key: string): StampedOrder => ({
  ...{ table: "bans", key, stamp: { ms: NOON, brain: "brain1" }, state: "ended", record: null, atMs: NOON },
});

/** The orders of the next start, and the damage that it finds. */
function nextStart(dir: string): readonly [readonly StampedOrder[], string | undefined] {
  const db = new StateDatabase(dir);
  const read = [db.stored().cluster_orders, db.damage?.reason] as const;
  db.close();
  return read;
}

test("orders that brains share are as they were at the next start, and one of another key costs that order alone", () => {
  const dir = undo.folder("stored-orders");
  const [one, other] = [ended("203.0.113.7/32"), ended("203.0.113.8/32")];
  const db = new StateDatabase(dir);
  db.write([one, other].map((record) => ({ table: "cluster_orders", key: stampedName(record), record })));
  db.close();
  expect(nextStart(dir)).toEqual([[one, other], undefined]);
  const raw = new Database(join(dir, "state.db"));
  const values = [JSON.stringify(other), stampedName(one)];
  raw.query("UPDATE cluster_orders SET record = ?1 WHERE name = ?2").run(...values);
  raw.close();
  expect(nextStart(dir)).toEqual([[other], "table cluster_orders has a record that cannot be read"]);
});
