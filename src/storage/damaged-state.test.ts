import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { join } from "node:path";
import { Scenario } from "../../test/fixtures/scenario.ts";
import { attack, ban, udpRules } from "../../test/fixtures/views.ts";
import { NO_PEAKS } from "../incident/incident.ts";
import { NO_WORK } from "../incident/work.ts";
import { StateDatabase } from "./state-database.ts";

const scene = new Scenario();
const VICTIM = { id: "a", victim: "192.0.2.x", startedAt: 1, endedAt: 2 };
const ORDER = { name: "x", createdAt: 1, expiresAt: 2 };

test.each([
  ["bans", "id, started_at", { ...ban(), id: "x", target: "192.0.2.x" }],
  [
    "bans",
    "id, started_at",
    { ...ban({ measure: { ...udpRules(), rules: [{ action: { kind: "discard" } }] as never } }), id: "x" },
  ],
  ["attacks", "id", { ...attack(), id: "x", group: 7 }],
  ["incidents", "id", { id: "x", members: [VICTIM], peaks: NO_PEAKS, work: NO_WORK }],
  ["maintenance", "name", { ...ORDER, window: { reason: "" } }],
  ["filter_rules", "name", { ...ORDER, rule: null }],
])("a record of %s that no start could use is damage, and costs itself alone", (table, keys, record) => {
  const directory = scene.directory;
  const first = new StateDatabase(directory);
  first.write([{ table: "bans", key: "sound", record: ban({ id: "sound" }) }]);
  first.close();
  const raw = new Database(join(directory, "state.db"));
  const values = keys === "id, started_at" ? "'x', 1" : "'x'";
  raw.query(`INSERT INTO ${table} (${keys}, record) VALUES (${values}, ?1)`).run(JSON.stringify(record));
  raw.close();
  const next = new StateDatabase(directory);
  expect(next.damage?.reason).toBe(`table ${table} has a record that cannot be read`);
  expect(next.damage?.salvaged).toMatchObject({ bans: 1, attacks: 0, incidents: 0, maintenance: 0, filter_rules: 0 });
  expect(next.stored().bans.map(({ id }) => id)).toEqual(["sound"]);
  next.close();
});
