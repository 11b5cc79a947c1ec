import { beforeEach, describe, expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import { ManualClock } from "../../../test/fixtures/manual-clock.ts";
import { CLEARANCE_MASTERS_KEPT } from "../../limits.ts";
import { nextTurn } from "../../system/timers.ts";
import { type ClearanceKey, ClearanceKeys, type ClearanceMaster, clearanceKey, nextTurnMs } from "./clearance-keys.ts";

const WWW = { name: "www.example.net" };
const DAY_MS = 86_400_000;

/** Keeps what it is given, unless it is set to fail. */
class MemoryStore {
  masters: readonly ClearanceMaster[] = [];
  saves = 0;
  isBroken = false;

  load(): readonly ClearanceMaster[] {
    return this.masters;
  }

  async save(masters: readonly ClearanceMaster[]): Promise<void> {
    if (this.isBroken) throw new Error("disk full");
    this.saves++;
    this.masters = masters;
  }
}

let clock: ManualClock;
let store: MemoryStore;
let counter: number;
let faults: unknown[];

beforeEach(() => {
  clock = new ManualClock("2026-11-22T12:00:00.000Z");
  store = new MemoryStore();
  counter = 0;
  faults = [];
});

/** A start of the service. */
function start(): ClearanceKeys {
  const randomBytes = (count: number) => new Uint8Array(count).fill(++counter);
  return new ClearanceKeys({ store, randomBytes, onUnsaved: (cause) => faults.push(cause) }, clock.wallMs());
}

function keysNow(keys: ClearanceKeys, zone = WWW): readonly ClearanceKey[] {
  return keys.at(clock.wallMs())(zone);
}

const idsOf = (keys: readonly ClearanceKey[]) => keys.map(({ id }) => id);
const secretsOf = (keys: readonly ClearanceKey[]) => keys.map(({ secret }) => secret);

describe("a key", () => {
  const master = { day: 20_779, secret: Uint8Array.from({ length: 32 }, (_, i) => i) };

  test("is HKDF-SHA-256 of its day's master, with its id and zone as info", () => {
    const pseudoRandom = createHmac("sha256", Buffer.alloc(32)).update(master.secret).digest();
    const info = "floodwall clearance c20261122 www.example.net";
    const expected = createHmac("sha256", pseudoRandom).update(`${info}\x01`).digest("base64url");
    expect(clearanceKey(master, WWW.name).secret).toBe(expected);
    expect(Buffer.from(expected, "base64url")).toHaveLength(32);
  });

  test("has the id of its day, and is honoured for 48 hours from the begin of it #limit-clearance-key-validity", () => {
    const { id, notBeforeMs, notAfterMs } = clearanceKey(master, WWW.name);
    expect(id).toBe("c20261122");
    expect(new Date(notBeforeMs).toISOString()).toBe("2026-11-22T00:00:00.000Z");
    expect(new Date(notAfterMs).toISOString()).toBe("2026-11-24T00:00:00.000Z");
  });

  test("is another for each zone", () => {
    expect(clearanceKey(master, "a.example.net").secret).not.toBe(clearanceKey(master, "b.example.net").secret);
  });
});

describe("zone document clearance_keys #zone-document-clearance-keys", () => {
  test("are those of yesterday and today, also of a fresh install", () => {
    const keys = keysNow(start());
    expect(idsOf(keys)).toEqual(["c20261121", "c20261122"]);
    expect(new Set(secretsOf(keys)).size).toBe(2);
  });

  test("turn at midnight UTC exactly, and today's becomes yesterday's", () => {
    const keys = start();
    const before = keysNow(keys);
    clock.setWall("2026-11-22T23:59:59.999Z");
    expect(keysNow(keys)).toBe(before);
    expect(nextTurnMs(clock.wallMs())).toBe(Date.parse("2026-11-23T00:00:00.000Z"));
    clock.setWall("2026-11-23T00:00:00.000Z");
    const after = keysNow(keys);
    expect(idsOf(after)).toEqual(["c20261122", "c20261123"]);
    expect(after[0]).toEqual(before[1] as ClearanceKey);
    expect(nextTurnMs(clock.wallMs())).toBe(Date.parse("2026-11-24T00:00:00.000Z"));
  });

  test("are the same after a restart, on any day", () => {
    for (let day = 0; day < 5; day++, clock.advance(DAY_MS)) {
      const before = keysNow(start());
      expect(keysNow(start())).toEqual(before);
    }
  });

  test("are honoured at every moment that a document names them", () => {
    const keys = start();
    for (let hour = 0; hour < 72; hour++, clock.advance(3_600_000)) {
      for (const { notBeforeMs, notAfterMs } of keysNow(keys)) {
        expect(notBeforeMs).toBeLessThanOrEqual(clock.wallMs());
        expect(notAfterMs).toBeGreaterThan(clock.wallMs());
      }
    }
  });

  test("after days without the service are of the days that it is now", () => {
    start();
    clock.advance(30 * DAY_MS);
    expect(idsOf(keysNow(start()))).toEqual(["c20261221", "c20261222"]);
  });
});

describe("a clock that is set", () => {
  test("back by a day finds the keys of that day, and forth again those of today", () => {
    const keys = start();
    clock.advance(DAY_MS);
    const today = keysNow(keys);
    clock.advance(-DAY_MS);
    const yesterday = keysNow(keys);
    expect(idsOf(yesterday)).toEqual(["c20261121", "c20261122"]);
    expect(yesterday[1]).toEqual(today[0] as ClearanceKey);
    clock.advance(DAY_MS);
    expect(keysNow(keys)).toEqual(today);
  });

  test.each([-400, 400])("wrongly by %d days and right again finds those it had, over a restart too", (days) => {
    const keys = start();
    const before = keysNow(keys);
    clock.advance(days * DAY_MS);
    keysNow(keys);
    expect(keysNow(start())).toHaveLength(2);
    clock.advance(-days * DAY_MS);
    expect(keysNow(keys)).toEqual(before);
    expect(keysNow(start())).toEqual(before);
  });

  test("does not make masters without end", () => {
    const keys = start();
    for (let step = 0; step < 20; step++) {
      keysNow(keys);
      expect(store.masters.length).toBeLessThanOrEqual(CLEARANCE_MASTERS_KEPT);
      clock.advance(step % 2 === 0 ? 50 * DAY_MS : -37 * DAY_MS);
    }
    expect(store.masters).toHaveLength(CLEARANCE_MASTERS_KEPT);
  });
});

describe("masters", () => {
  test("are saved a day ahead, and once a day", () => {
    const keys = start();
    expect(store.masters.map(({ day }) => day * DAY_MS).map((ms) => new Date(ms).toISOString().slice(0, 10))).toEqual([
      "2026-11-21",
      "2026-11-22",
      "2026-11-23",
    ]);
    for (let hour = 0; hour < 24; hour++, clock.advance(3_600_000)) keysNow(keys);
    expect(store.saves).toBe(2);
    start();
    expect(store.saves).toBe(2);
  });

  test("that cannot be saved keep a service from starting", async () => {
    await start().saved;
    clock.advance(DAY_MS);
    store.isBroken = true;
    expect(start().saved).rejects.toThrow("disk full");
  });

  test("that cannot be saved later are reported, tried again after a minute, and midnight finds a key that was kept", async () => {
    const keys = start();
    store.isBroken = true;
    clock.advance(DAY_MS);
    const today = keysNow(keys);
    await nextTurn();
    expect(faults).toEqual([new Error("disk full")]);
    expect(keysNow(startElsewhere(store.masters))).toEqual(today);
    clock.advance(59_999);
    keysNow(keys);
    await nextTurn();
    expect(faults).toHaveLength(1);
    clock.advance(1);
    keysNow(keys);
    await nextTurn();
    expect(faults).toHaveLength(2);
    // Also after the clock was set back.
    clock.setWall(new Date(clock.wallMs() - 60_000).toISOString());
    keysNow(keys);
    await nextTurn();
    expect(faults).toHaveLength(3);
    store.isBroken = false;
    clock.advance(60_000);
    keysNow(keys);
    await nextTurn();
    expect(store.saves).toBe(2);
    clock.advance(60_000);
    keysNow(keys);
    await nextTurn();
    expect(store.saves).toBe(2);
  });
});

/** A start with the saved masters, on a working disk. */
function startElsewhere(masters: readonly ClearanceMaster[]): ClearanceKeys {
  const working = new MemoryStore();
  working.masters = masters;
  const randomBytes = (count: number) => new Uint8Array(count).fill(99);
  return new ClearanceKeys({ store: working, randomBytes, onUnsaved: () => {} }, clock.wallMs());
}

test("those of tomorrow can be had ahead, are those that midnight brings, and leave today's as they are", () => {
  const keys = start();
  const today = keysNow(keys);
  const ahead = keys.ahead(clock.wallMs())(WWW);
  expect(idsOf(ahead)).toEqual(["c20261122", "c20261123"]);
  expect(keysNow(keys)).toBe(today);
  clock.setWall("2026-11-23T00:00:00.000Z");
  expect(keysNow(keys)).toBe(ahead);
  clock.setWall("2026-11-25T00:00:00.000Z");
  expect(idsOf(keysNow(keys))).toEqual(["c20261124", "c20261125"]);
});

describe("masters that brains of a cluster agree on", () => {
  test("are made for the day before, the day and the six days after, once", () => {
    const keys = start();
    const masters = keys.masters(clock.wallMs());
    const today = Math.floor(clock.wallMs() / DAY_MS);
    expect(masters.map(({ day }) => day - today)).toEqual([-1, 0, 1, 2, 3, 4, 5, 6]);
    expect(keys.masters(clock.wallMs())).toEqual(masters);
    expect(store.masters).toEqual(masters);
  });

  test("take the place of own ones, at once and after a restart", () => {
    const keys = start();
    const own = keysNow(keys);
    const agreed = keys.masters(clock.wallMs()).map(({ day }) => ({ day, secret: new Uint8Array(32).fill(99) }));
    keys.ahead(clock.wallMs());
    keys.adopt(agreed, clock.wallMs());
    const adopted = keysNow(keys);
    expect(idsOf(adopted)).toEqual(idsOf(own));
    expect(adopted).toEqual(agreed.slice(0, 2).map((master) => clearanceKey(master, WWW.name)));
    expect(keysNow(start())).toEqual(adopted);
    clock.advance(DAY_MS);
    expect(keysNow(keys)).toEqual(agreed.slice(1, 3).map((master) => clearanceKey(master, WWW.name)));
  });

  test("that are the own ones change nothing", () => {
    const keys = start();
    const masters = keys.masters(clock.wallMs());
    const { saves } = store;
    const before = keysNow(keys);
    keys.adopt(masters, clock.wallMs());
    expect(keysNow(keys)).toBe(before);
    expect(store.saves).toBe(saves);
  });
});
