import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { emptiedFolder } from "../../test/fixtures/folders.ts";
import { address } from "../../test/fixtures/host-rows.ts";
import { divertedBan } from "../../test/fixtures/scrub/scrubbing.ts";
import { attack, route as blackhole, udpRules, ban as viewedBan } from "../../test/fixtures/views.ts";
import { buildScrub } from "../config/sections/scrub.ts";
import type { Ban } from "../mitigation/ban.ts";
import type { DivertMeasure } from "../mitigation/measure.ts";
import type { Rule } from "../mitigation/rules/rule.ts";
import { exactly } from "../net/range.ts";
import { recordOfBan } from "./ban-record.ts";
import { moveAside, moveBack } from "./damaged-state.ts";
import type { StateChange, StateRecords } from "./state-change.ts";
import { StateDatabase } from "./state-database.ts";

const dir = emptiedFolder("state");

const ban = viewedBan({ target: "2001:db8::1", manual: true, attackId: null, heldBy: [], startedAt: 1 });
const INSERT_BAN = "INSERT INTO bans (id, started_at, record) VALUES (?1, 1, ?2)";

function saveBan(db: StateDatabase, record: Ban): void {
  db.write([{ table: "bans", key: record.id, record }]);
}

test("a record comes back as it went in, changed and removed records as last left", () => {
  const first = new StateDatabase(dir);
  saveBan(first, { ...ban, id: "later", startedAt: 9 });
  saveBan(first, ban);
  saveBan(first, { ...ban, state: "withdrawn", reason: "manual unban" });
  saveBan(first, { ...ban, id: "gone" });
  first.write([{ table: "bans", key: "gone", record: null }]);
  first.close();
  const second = new StateDatabase(dir);
  expect(second.stored().bans).toEqual([
    { ...ban, state: "withdrawn", reason: "manual unban" },
    { ...ban, id: "later", startedAt: 9 },
  ]);
  second.close();
});

const BLOCK = { victim: address("192.0.2.1"), createdAt: 1, reason: "a \ud800 scan" };
const LEVER = { mode: "manual", untilMs: 1, ttlSeconds: 60, reason: "é" } as const;
const RULE = { rule: { name: "a", action: "drop" }, createdAt: 1, expiresAt: 2, reason: "é" };
const CHOICE = { profile: "web", always: null, note: "é", operator: "noc", tenant: null, chosenAt: 1 };
const INCIDENT = { group: "é", startedAt: 1, members: [], peaks: { packets: {}, bits: {} }, work: { notes: [] } };
const ORDERS: readonly (readonly [keyof StateRecords, string, (key: string, i: number) => object])[] = [
  [
    "source_blocks",
    "198.51.100.%->192.0.2.1",
    (_, i) => ({ ...BLOCK, source: address(`198.51.100.${i % 2}`), expiresAt: i }),
  ],
  ["levers", "%.example.net", (zone, i) => ({ ...LEVER, zone, untilMs: i })],
  ["filter_rules", "rule-%", (name, i) => ({ ...RULE, name, expiresAt: i })],
  ["protections", "192.0.2.%/32", (prefix, i) => ({ ...CHOICE, prefix, always: i === 2 })],
  ["incidents", "incident-%", (id, i) => ({ ...INCIDENT, id, attacks: i })],
];

test.each(ORDERS)("%s come back by their key, as they were left last", (table, key, make) => {
  // The third one is the first one, changed.
  const changes = [0, 1, 2].map((i) => {
    const name = key.replace("%", String(i % 2));
    return { table, key: name, record: make(name, i) } as StateChange;
  });
  const [, other, changed] = changes as [StateChange, StateChange, StateChange];
  const first = new StateDatabase(dir);
  first.write([...changes, { ...other, key: key.replace("%", "7"), record: null }]);
  first.close();
  const second = new StateDatabase(dir);
  const left = () => second.stored()[table] as readonly unknown[];
  expect(left()).toHaveLength(2);
  expect(left()).toEqual(expect.arrayContaining([changed.record, other.record]));
  second.write([{ ...other, record: null }]);
  expect(left()).toEqual([changed.record]);
  second.close();
});

test("an attack comes back with its sample", () => {
  const share = { key: "198.51.100.1", packets: 2, bytes: 120 };
  const lists = { topSources: [share], topSourcePorts: [], topDestinationPorts: [], protocols: [share] };
  const sampled = attack({ sample: { totalPackets: 2, ...lists, flows: [], origins: null } });
  const first = new StateDatabase(dir);
  first.write([{ table: "attacks", key: "a1", record: attack() }]);
  first.write([{ table: "attacks", key: "a1", record: sampled }]);
  first.close();
  const second = new StateDatabase(dir);
  expect(second.stored().attacks).toEqual([sampled]);
  second.close();
});

test("what was acknowledged survives kill -9 of the process", async () => {
  const script = `
    const { StateDatabase } = await import(${JSON.stringify(join(import.meta.dir, "state-database.ts"))});
    const db = new StateDatabase(${JSON.stringify(dir)});
    const ban = ${JSON.stringify(ban)};
    for (let i = 0; ; i++) {
      db.write([{ table: "bans", key: "b" + i, record: { ...ban, id: "b" + i, startedAt: i } }]);
      process.stdout.write(i + "\\n");
    }
  `;
  const child = Bun.spawn([process.execPath, "-e", script], { stdout: "pipe" });
  let acknowledged = -1;
  let text = "";
  for await (const chunk of child.stdout) {
    text += new TextDecoder().decode(chunk);
    acknowledged = Number(text.trimEnd().split("\n").at(-1));
    if (acknowledged >= 200) child.kill("SIGKILL");
  }
  const complete = text.slice(0, text.lastIndexOf("\n")).split("\n").length;
  const db = new StateDatabase(dir);
  expect(db.stored().bans.length).toBeGreaterThanOrEqual(complete);
  expect(complete).toBeGreaterThan(200);
  db.close();
});

test("removed with its folder, the file is there again with all in it", () => {
  const state = new StateDatabase(dir);
  saveBan(state, ban);
  state.write([{ table: "attacks", key: "a1", record: attack() }]);
  rmSync(dir, { recursive: true });
  saveBan(state, { ...ban, id: "b2" });
  const onDisk = readFileSync(state.path);
  expect(onDisk.length).toBeGreaterThan(0);
  state.close();
  const next = new StateDatabase(dir);
  expect(next.stored().bans.map(({ id }) => id)).toEqual(["b1", "b2"]);
  expect(next.stored().attacks).toEqual([attack()]);
  next.close();
});

test("replaced by another, the file takes nothing more, and the other one stays as it is", () => {
  const state = new StateDatabase(dir);
  rmSync(state.path);
  const other = new StateDatabase(dir);
  expect(() => saveBan(state, ban)).toThrow("the open file was replaced: another floodwall may run on this state_dir");
  saveBan(other, { ...ban, id: "other" });
  expect(other.stored().bans.map(({ id }) => id)).toEqual(["other"]);
  other.close();
  state.close();
});

describe("opening", () => {
  test("refuses a second owner and says what to do", () => {
    const first = new StateDatabase(dir);
    expect(() => new StateDatabase(dir)).toThrow("is in use by another floodwall: stop it, or set another state_dir");
    first.close();
    new StateDatabase(dir).close();
  });

  /** Names of the files that were moved aside, without their logs. */
  const moved = () => readdirSync(dir).filter((name) => name.startsWith("state.db.damaged-") && !name.endsWith("-wal"));
  const NOON = Date.parse("2026-03-01T12:00:00Z");

  test("moves a file aside that is no database, as it was, and keeps the newest three of them", () => {
    const path = join(dir, "state.db");
    const content = (i: number) => `these are not the pages you are looking for ${i} `.repeat(200);
    for (let i = 0; i < 5; i++) {
      writeFileSync(path, content(i));
      const db = new StateDatabase(dir, () => NOON + i * 1000);
      expect(db.damage).toMatchObject({
        reason: "file is not a database",
        movedTo: `${path}.damaged-20260301T12000${i}Z`,
      });
      expect(db.stored().bans).toEqual([]);
      db.close();
    }
    expect(moved()).toEqual([2, 3, 4].map((i) => `state.db.damaged-20260301T12000${i}Z`));
    expect(readFileSync(join(dir, moved()[0] ?? ""), "utf8")).toBe(content(2));
    const sound = new StateDatabase(dir, () => NOON);
    expect(sound.damage).toBeNull();
    sound.close();
  });

  test("salvages the rows of a database with damaged pages, those after the damage too", () => {
    const db = new StateDatabase(dir);
    const ids = Array.from({ length: 500 }, (_, i) => `b${String(i).padStart(3, "0")}`);
    for (const id of ids) saveBan(db, { ...ban, id });
    db.write([{ table: "attacks", key: "a1", record: attack() }]);
    db.close();
    const path = join(dir, "state.db");
    const bytes = new Uint8Array(readFileSync(path));
    const pages = bytes.length / 4096;
    bytes.fill(0xa5, 4096 * Math.floor(pages / 2), 4096 * Math.floor(pages / 2 + 4));
    writeFileSync(path, bytes);
    const next = new StateDatabase(dir);
    const kept = next.stored().bans.map(({ id }) => id);
    expect(next.damage?.salvaged).toMatchObject({ bans: kept.length, attacks: 1 });
    expect(kept.length).toBeGreaterThan(250);
    expect(kept.length).toBeLessThan(500);
    expect([kept[0], kept.at(-1)]).toEqual(["b000", "b499"]);
    expect(next.stored().bans[0]).toEqual({ ...ban, id: "b000" });
    next.close();
    expect(moved()).toHaveLength(1);
    expect(readdirSync(dir).filter((name) => name.includes("copy"))).toEqual([]);
  });

  test.each([
    ["no JSON", '{"id":"b1",'],
    ["another ban's", JSON.stringify({ ...ban, id: "b2" })],
  ])("a record that is %s costs that ban alone", (_, record) => {
    const db = new StateDatabase(dir);
    saveBan(db, ban);
    saveBan(db, { ...ban, id: "sound" });
    db.close();
    const raw = new Database(join(dir, "state.db"));
    raw.query("UPDATE bans SET record = ?1 WHERE id = ?2").run(record, ban.id);
    raw.close();
    const next = new StateDatabase(dir);
    expect(next.damage?.reason).toBe("table bans has a record that cannot be read");
    expect(next.stored().bans.map(({ id }) => id)).toEqual(["sound"]);
    next.close();
  });

  test("a damaged database that cannot be replaced is put back for the next start, with its log", () => {
    const path = join(dir, "state.db");
    const content = { "state.db": "damaged", "state.db-wal": "its log" };
    for (const [name, text] of Object.entries(content)) writeFileSync(join(dir, name), text);
    const movedTo = moveAside(path, NOON);
    for (const name of ["state.db", "state.db-wal", "state.db-shm"]) writeFileSync(join(dir, name), "half a new one");
    moveBack(movedTo, path);
    const found = readdirSync(dir).map((name) => [name, readFileSync(join(dir, name), "utf8")]);
    expect(Object.fromEntries(found)).toEqual(content);
  });

  test("keeps all of what is written at once, or nothing", () => {
    const db = new StateDatabase(dir);
    const change = (id: string, record: Ban | null = { ...ban, id }): StateChange => ({
      table: "bans",
      key: id,
      record,
    });
    db.write([change("kept"), change("removed"), change("removed", null)]);
    const unreadable = { table: "none" } as unknown as StateChange;
    expect(() => db.write([change("half"), unreadable])).toThrow(`cannot write ${join(dir, "state.db")}: `);
    expect(db.stored().bans.map(({ id }) => id)).toEqual(["kept"]);
    db.close();
  });

  test("refuses a newer schema", () => {
    new StateDatabase(dir).close();
    const raw = new Database(join(dir, "state.db"));
    raw.run("PRAGMA user_version = 99");
    raw.close();
    expect(() => new StateDatabase(dir)).toThrow("has schema version 99, this build knows 14");
  });

  test("refuses a folder that cannot be written", () => {
    expect(() => new StateDatabase("/proc/floodwall")).toThrow("check state_dir");
    writeFileSync(join(dir, "file"), "");
    expect(() => new StateDatabase(join(dir, "file"))).toThrow("check state_dir");
  });
});

/** In the format of builds before escalation. */
function writeVersion1(bans: readonly object[], attacks: readonly object[]): void {
  const raw = new Database(join(dir, "state.db"));
  raw.run(
    "CREATE TABLE bans (id TEXT PRIMARY KEY, started_at INTEGER NOT NULL, record TEXT NOT NULL) STRICT, WITHOUT ROWID",
  );
  raw.run("CREATE TABLE attacks (id TEXT PRIMARY KEY, record TEXT NOT NULL) STRICT, WITHOUT ROWID");
  const put = (table: string, records: readonly object[], columns: string) => {
    for (const record of records) {
      const [{ id }, marks] = [{ id: "", ...record }, table === "bans" ? "?1, 1, ?2" : "?1, ?2"];
      raw.query(`INSERT INTO ${table} (${columns}) VALUES (${marks})`).run(id, recordOfBan(record as Ban));
    }
  };
  put("bans", bans, "id, started_at, record");
  put("attacks", attacks, "id, record");
  raw.run("PRAGMA user_version = 1");
  raw.close();
}

/** As a build of this version left it. @param lacks tables that it did not have, beside those that came after version 7 */
function age(raw: Database, version: number, ...lacks: string[]): void {
  const later = "incidents maintenance notify_targets notifications cluster_orders notified order_notices";
  for (const table of [...later.split(" "), "browser_sessions", "audit_unconfirmed", ...lacks])
    raw.run(`DROP TABLE ${table}`);
  raw.run(`PRAGMA user_version = ${version}`);
  raw.close();
}

function without(record: object, ...keys: string[]): object {
  return Object.fromEntries(Object.entries(record).filter(([key]) => !keys.includes(key)));
}

test("bans and attacks of a build before escalation come back as this one keeps them", () => {
  const newer = [
    "heldBy",
    "measure",
    "retiring",
    "escalation",
    "step",
    "fallback",
    "repeat",
    "holdUntil",
    "countedFrom",
  ];
  const learned = ["baseline", "baselineConfigured", "warmupRemainingSeconds"];
  const plain = without(ban, ...newer);
  const old = { ...plain, manual: false, attackId: "a1", route: without(blackhole("2001:db8::1"), "kind") };
  const ordered = { ...plain, id: "b2", manual: true, attackId: "a1", route: null };
  writeVersion1(
    [old, ordered],
    [{ ...without(attack(), "classification", "carpet"), reason: without(attack().reason, ...learned) }],
  );
  const first = new StateDatabase(dir);
  expect(first.stored().bans).toEqual([
    { ...ban, manual: false, attackId: "a1", heldBy: ["a1"], countedFrom: ban.startedAt },
    {
      ...ban,
      id: "b2",
      attackId: null,
      heldBy: ["a1"],
      measure: { kind: "blackhole", route: null },
      countedFrom: ban.startedAt,
    },
  ]);
  expect(first.stored().attacks).toEqual([attack()]);
  first.close();
  const second = new StateDatabase(dir);
  expect(second.stored().bans).toHaveLength(2);
  // Of a build before source blocks.
  expect(second.stored().source_blocks).toEqual([]);
  second.close();
});

test("scrubbed bans of a build before filters validate sources of TCP as they did", () => {
  const path = join(dir, "state.db");
  new StateDatabase(dir).close();
  const raw = new Database(path);
  const measure = {
    kind: "scrub",
    rules: udpRules(),
    filter: buildScrub({ tcp: "reset", learned_mbps: 0, source_packets_per_second: 0 }, []),
  } as const;
  const { filter, ...rest } = measure;
  const old = { ...ban, id: "b2", measure: { ...rest, tcp: filter.tcp } };
  for (const record of [ban, old]) {
    raw.query(INSERT_BAN).run(record.id, recordOfBan(record as Ban));
  }
  age(raw, 5, "protections", "filter_rules");
  const state = new StateDatabase(dir);
  const { profile: _name, isAlways: _always, isOnNodes: _nodes, ...kept } = filter;
  expect(state.stored().bans).toEqual([ban, { ...old, measure: { ...rest, filter: kept } }]);
  state.close();
});

test.each([7, 8])("rules of a build of version %d, before several protocols and lengths, keep theirs", (version) => {
  const path = join(dir, "state.db");
  new StateDatabase(dir).close();
  const raw = new Database(path);
  const services = [{ protocol: 17, ports: exactly(53), sourcePorts: [] }];
  const filter = { ...buildScrub({ tcp: "off", source_packets_per_second: 0 }, []), services };
  const [rule] = udpRules().rules as [Rule];
  const rules = { ...udpRules(), rules: [rule, { ...rule, protocols: [], packetLengths: [{ from: 28, to: 90 }] }] };
  const retiring = [{ kind: "flowspec", prefix: ban.prefix, rule, communities: [], localPref: 0 }] as const;
  const kept: Ban = { ...ban, id: "b2", measure: { kind: "scrub", rules, filter }, retiring };
  const old = JSON.stringify(JSON.parse(recordOfBan(kept)), (_key, value: Partial<Rule> | null) => {
    if (value?.packetLengths === undefined) return value;
    const { destination, source, sourcePorts, destinationPorts, tcpFlags, fragment, action } = value;
    const [length = null] = value.packetLengths;
    const of = {
      protocol: value.protocols?.[0]?.from ?? null,
      packetLength: length && { min: length.from, max: length.to },
    };
    return { destination, source, sourcePorts, destinationPorts, tcpFlags, fragment, action, ...of };
  });
  expect(old).toContain('"protocol":null,"packetLength":{"min":28,"max":90}');
  raw.query(INSERT_BAN).run("b2", old);
  age(raw, version);
  const state = new StateDatabase(dir);
  expect(state.stored().bans).toEqual([kept]);
  state.close();
});

test("diverted bans of a build before scrub nodes come back as this one keeps them", () => {
  const path = join(dir, "state.db");
  new StateDatabase(dir).close();
  const raw = new Database(path);
  const diverted = divertedBan({ target: "192.0.2.9" });
  const { route } = diverted.measure as DivertMeasure;
  for (const record of [ban, { ...diverted, measure: { kind: "divert", route } }]) {
    raw.query(INSERT_BAN).run(record.id, recordOfBan(record as Ban));
  }
  age(raw, 3, "levers", "protections", "filter_rules");
  const state = new StateDatabase(dir);
  expect(state.stored().bans).toEqual([ban, diverted]);
  // Of a build before levers.
  expect(state.stored().levers).toEqual([]);
  state.close();
});
