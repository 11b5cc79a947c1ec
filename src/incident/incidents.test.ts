/** Which attacks are one incident, what its figures are, and that people's work is on disk first. */
import { describe, expect, test } from "bun:test";
import { address } from "../../test/fixtures/host-rows.ts";
import { IncidentWorld } from "../../test/fixtures/incident-world.ts";
import { memoryStore } from "../../test/fixtures/storage/memory-state.ts";
import { classification, NOON } from "../../test/fixtures/views.ts";
import type { Attack } from "../detection/attack/attack.ts";
import { type AttackVolume, NO_DROPS } from "../detection/attack/attack-volume.ts";
import { INCIDENTS_KEPT } from "../limits.ts";
import { INCIDENT_QUIET_MS, type Sums } from "./incident.ts";
import { INCIDENT_MEMBERS_KEPT } from "./incident-attacks.ts";
import { NO_WORK } from "./work.ts";

const ADMIN = { operator: "noc", tenant: null };

function volume(packets: number, dropped: number | null = null): AttackVolume {
  const known = { packets: dropped ?? 0, bits: (dropped ?? 0) * 1000 };
  const amount = dropped === null ? null : { ...known, by: { ...NO_DROPS, rules: known } };
  const size = { packets, bits: packets * 1000, beganAt: NOON, durationMs: 1000, peakOverMs: 100 };
  return { ...size, peakPps: packets, peakBps: packets * 1000, dropped: amount };
}

describe("an attack joins", () => {
  test("the incident of its customer and kind while it has not been quiet for ten minutes #incident-state #incident-joins #attack-incident", () => {
    const world = new IncidentWorld();
    const first = world.start("a", { classification: classification() });
    world.end("a");
    world.nowMs += INCIDENT_QUIET_MS - 1;
    expect(world.only().state).toBe("quiet");
    expect(world.start("b", { classification: classification() })).toBe(first);
    world.end("b");
    world.nowMs += INCIDENT_QUIET_MS;
    expect(world.only().state).toBe("closed");
    expect(world.start("c", { classification: classification() })).not.toBe(first);
  });

  test("no incident of another hostgroup, tenant, direction or kind", () => {
    const owners: Record<string, string> = { web: "acme", mail: "acme" };
    const world = new IncidentWorld({ ownerOf: ({ group }) => owners[group] ?? null });
    const kind = classification();
    const ids = [
      world.start("a", { classification: kind }),
      world.start("b", { classification: kind, group: "other" }),
      world.start("c", { classification: kind, group: "web" }),
      world.start("d", { classification: kind, direction: "outgoing" }),
      world.start("e", { classification: classification({ type: "syn_flood" }) }),
    ];
    expect(new Set(ids).size).toBe(5);
    // The customer is the tenant, whatever the hostgroup.
    expect(world.start("f", { classification: kind, group: "mail" })).toBe(ids[2]);
  });

  test("the customer's newest open incident while its kind is not known, and gives a new one its kind", () => {
    const world = new IncidentWorld();
    const first = world.start("a");
    expect(world.start("b")).toBe(first);
    expect(world.classify("a", "udp_flood")).toBe(first);
    expect(world.classify("b", "udp_flood")).toBe(first);
    expect(world.only()).toMatchObject({ kind: "udp_flood", attacks: 2, active: 2 });
  });

  test("another incident when its kind turns out to be another one, once #incident-kind", () => {
    const world = new IncidentWorld();
    const first = world.start("a");
    world.start("b", { volume: volume(9e6) });
    world.table.tick();
    expect(world.only().worst?.id).toBe("b");
    world.classify("a", "udp_flood");
    const second = world.classify("b", "syn_flood");
    expect(second).not.toBe(first);
    expect([...world.table.listed()].map(({ view }) => [view().kind, view().attacks])).toEqual([
      ["syn_flood", 1],
      ["udp_flood", 1],
    ]);
    expect(world.table.get(first ?? "")?.worst?.id).toBe("a");
    // It stays where it is when it is said to be yet another one.
    world.start("c");
    world.classify("c", "syn_flood");
    expect(world.classify("c", "udp_flood")).toBe(second);
  });

  test("an open incident of its kind, and the one without a kind that it was in is gone #incident-kind", () => {
    const world = new IncidentWorld();
    const seen: string[] = [];
    world.table.onChange(({ id, attacks }) => seen.push(`${id} ${attacks}`));
    const first = world.start("a", { classification: classification({ type: "udp_flood" }) });
    world.end("a");
    const other = world.start("b", { classification: classification({ type: "syn_flood" }) });
    expect(world.start("c")).toBe(other);
    expect(world.classify("c", "udp_flood")).toBe(first);
    expect(world.table.get(other ?? "")).toMatchObject({ attacks: 1 });
    expect(world.table.get(first ?? "")).toMatchObject({ attacks: 2, state: "active" });
    world.end("b");
    world.nowMs += INCIDENT_QUIET_MS;
    const third = world.start("d", { direction: "outgoing" }) ?? "";
    world.start("e", { direction: "outgoing", classification: classification({ type: "syn_flood" }) });
    expect(world.classify("d", "syn_flood")).not.toBe(third);
    expect(world.table.get(third)).toBeNull();
    expect(seen).toEqual([`${third} 0`]);
  });
});

describe("an incident", () => {
  test("has the sums of its attacks, and what is not known of one is not known of all", () => {
    const world = new IncidentWorld();
    for (const [id, dropped] of [
      ["a", 60],
      ["b", 40],
    ] as const) {
      world.start(id);
      world.end(id, { volume: volume(100, dropped) });
    }
    expect(world.only().sums).toMatchObject({ packets: 200, droppedPackets: 100, unmeasured: 0, unaccounted: 0 });
    world.start("c", { volume: volume(50) });
    expect(world.only().sums).toMatchObject({ packets: 250, unmeasured: 0, unaccounted: 1 });
    world.end("c", { volume: null });
    expect(world.only().sums).toMatchObject({ packets: 200, unmeasured: 1, unaccounted: 1 });
    world.start("d", { volume: { ...volume(50), dropped: { packets: 0, bits: 0 } } });
    expect(world.only().sums).toMatchObject({ packets: 250, unaccounted: 2 });
  });

  test("says of how many attacks the sums lack a part", () => {
    const world = new IncidentWorld();
    const notCounted = [{ fromMs: NOON, toMs: NOON + 1 }];
    world.start("a", { volume: { ...volume(100, 60), notCounted } });
    world.start("b", { volume: volume(100, 60) });
    expect(world.only().sums).toMatchObject({ packets: 200, uncounted: 1 });
    world.end("a", { volume: { ...volume(100, 60), notCounted } });
    expect(world.only().sums).toMatchObject({ packets: 200, uncounted: 1 });
  });

  test("says of how many attacks the sums are estimated, also where an exact one has the peak", () => {
    const world = new IncidentWorld();
    world.start("a", { volume: { ...volume(100, 60), peakError: 0.1 } });
    world.start("b", { volume: { ...volume(100, 60), peakPps: 1e6, peakBps: 1e9 } });
    expect(world.only().sums).toMatchObject({ packets: 200, estimated: 1 });
    world.end("a", { volume: { ...volume(100, 60), peakError: 0.1 } });
    expect(world.only().sums).toMatchObject({ packets: 200, estimated: 1 });
  });

  test("has the peak of its attacks together, its error, and the worst attack", () => {
    const world = new IncidentWorld({ linkMbps: () => 100 });
    const error = { pps: 0.3, mbps: 0.4 };
    world.start("a", { rates: [300, 30], samplingError: error, volume: volume(30_000) });
    world.start("b", { rates: [400, 40], samplingError: error, volume: volume(40_000) });
    world.table.tick();
    world.active.set("a", { ...(world.active.get("a") as Attack), rates: [1, 1] });
    world.nowMs += 1000;
    world.table.tick();
    const { peaks, worst, severity } = world.only();
    // The root of the sum of squares: 0.3 × 500 of 700.
    expect(peaks.packets).toEqual({ rate: 700, error: 0.3 * (500 / 700) });
    expect(peaks.bits.rate).toBe(70e6);
    expect(worst?.id).toBe("b");
    expect(severity).toEqual({ severity: "high", linkShare: 0.7 });
    world.end("b", { volume: { ...volume(40_000), peakBps: 120e6, peakPps: 900 } });
    expect(world.only().peaks).toEqual({ packets: { rate: 900, error: 0 }, bits: { rate: 120e6, error: 0 } });
    expect(world.only().severity?.severity).toBe("critical");
  });

  test("counts the traffic of a host within a spread attack once", () => {
    const world = new IncidentWorld();
    const carpet = { prefix: "192.0.2.0/24", hosts: 40 };
    world.start("wide", { target: null, carpet, rates: [1000, 10], volume: volume(1000) });
    world.start("host", { rates: [600, 6], volume: volume(600) });
    world.start("other", { target: address("198.51.100.1"), rates: [50, 1], volume: volume(50) });
    world.table.tick();
    expect(world.only().sums.packets).toBe(1050);
    expect(world.only().peaks.packets.rate).toBe(1050);
    world.end("host");
    world.end("other");
    expect(world.only().sums.packets).toBe(1050);
  });

  test("counts it once also where the spread attack ends first, and what came before it as well", () => {
    const world = new IncidentWorld();
    world.start("host", { rates: [600, 6], volume: volume(400) });
    const carpet = { prefix: "192.0.2.0/24", hosts: 40 };
    world.start("wide", { target: null, carpet, rates: [1000, 10], volume: volume(0) });
    world.see("host", { volume: volume(1000) });
    world.see("wide", { volume: volume(1000) });
    world.table.tick();
    expect(world.only().sums.packets).toBe(1400);
    world.end("wide", { volume: volume(1000) });
    expect(world.only().sums.packets).toBe(1400);
    world.end("host", { volume: volume(1050) });
    expect(world.only().sums.packets).toBe(1450);
  });

  test("an attack whose kind is not known yet leaves no mark on another's incident", () => {
    const world = new IncidentWorld();
    world.start("small", {
      classification: classification(),
      rates: [10, 1],
      volume: { ...volume(10), peakBps: 1e6, peakPps: 10 },
    });
    world.start("large", {
      classification: null,
      rates: [900, 90],
      volume: { ...volume(900), peakBps: 90e6, peakPps: 900 },
    });
    world.table.tick();
    expect(world.only().worst?.id).toBe("small");
    expect(world.only().peaks.bits.rate).toBe(1e6);
  });

  test("lists its victims once, by /24 and /48, and says when there are more than it lists", () => {
    const world = new IncidentWorld();
    const victims = ["192.0.2.1", "192.0.2.1", "192.0.2.9", "198.51.100.1", "2001:db8::1", "2001:db8:0:9::1"];
    for (const [i, victim] of victims.entries()) {
      world.start(`v${i}`, { target: address(victim) });
      world.end(`v${i}`);
    }
    const { victims: found, isWhole } = world.only();
    expect(isWhole).toBe(true);
    expect(found).toEqual({
      count: 5,
      prefixes: [
        { prefix: "192.0.2.0/24", victims: 2 },
        { prefix: "2001:db8::/48", victims: 2 },
        { prefix: "198.51.100.0/24", victims: 1 },
      ],
      prefixCount: 3,
    });
    for (let i = 0; i < INCIDENT_MEMBERS_KEPT; i++) world.start(`more${i}`);
    const full = world.only();
    expect(full).toMatchObject({ attacks: INCIDENT_MEMBERS_KEPT + victims.length, isWhole: false });
    expect(full.members()).toHaveLength(INCIDENT_MEMBERS_KEPT);
    // Those that last took the places of those that ended.
    expect(full.members().every(({ endedAt }) => endedAt === null)).toBe(true);
    world.start("unlisted");
    expect(world.end("unlisted")).toBe(full.id);
    expect(world.only()).toMatchObject({
      attacks: INCIDENT_MEMBERS_KEPT + victims.length + 1,
      active: INCIDENT_MEMBERS_KEPT,
    });
  });
});

describe("the table", () => {
  test("forgets the oldest closed incident of the customer with most #incident-kept", () => {
    const world = new IncidentWorld();
    world.start("quiet-one", { group: "small" });
    world.end("quiet-one");
    for (let i = 1; i < INCIDENTS_KEPT; i++) {
      world.nowMs += INCIDENT_QUIET_MS;
      world.start(`a${i}`, { group: "large" });
      world.end(`a${i}`);
    }
    expect(world.dropped).toEqual([]);
    world.nowMs += INCIDENT_QUIET_MS;
    world.start("new", { group: "third" });
    // i0001 is the only one of the small customer.
    expect(world.dropped).toEqual(["i0002"]);
    expect(world.table.get("i0001")).not.toBeNull();
  });

  test("leaves an attack without an incident while all are open, and counts it #incident-kept", () => {
    const world = new IncidentWorld();
    for (let i = 0; i < INCIDENTS_KEPT; i++) world.start(`a${i}`, { group: `g${i}` });
    expect(world.start("one more", { group: "more" })).toBeUndefined();
    expect(world.unplaced).toBe(1);
    // It is counted once.
    expect(world.classify("one more", "syn_flood")).toBeUndefined();
    expect(world.end("one more")).toBeUndefined();
    expect(world.unplaced).toBe(1);
  });

  test("restores incidents, the attacks that last, and people's work #incident-kept", async () => {
    const { file, store, flush } = memoryStore();
    const world = new IncidentWorld({ store: store.table("incidents") });
    const id = world.start("a", { volume: volume(10) });
    world.start("lost");
    world.start("b");
    world.end("b", { volume: volume(5, 5) });
    await world.table.order(id ?? "", { owner: "take" }, ADMIN);
    world.nowMs += 1000;
    world.table.tick();
    await flush();
    const later = new IncidentWorld();
    later.nowMs = world.nowMs;
    const lasting = world.table.stamped(world.active.get("a") as Attack);
    later.active.set("a", lasting);
    // It began after the record was written.
    const unwritten = { ...lasting, id: "unwritten", volume: null };
    // Earlier versions did not write how many are counted in part.
    const written = [...file.rows.incidents.values()].map((row) => {
      const { uncounted: _, ...ended } = row.ended;
      return { ...row, ended: ended as Sums };
    });
    later.table.restore(written, [lasting, unwritten]);
    const restored = later.only();
    expect(restored).toMatchObject({ id, attacks: 4, active: 2, work: { owner: { by: ADMIN } } });
    // The end of the attack that is gone was not seen.
    expect(restored.sums).toMatchObject({ packets: 15, unmeasured: 1, uncounted: 0 });
    expect(restored.members().find((member) => member.id === "lost")?.endedAt).not.toBeNull();
    expect(restored.members().map((member) => member.id)).toEqual(["a", "lost", "b", "unwritten"]);
    expect(later.end("a")).toBe(id);
    later.active.set("unwritten", unwritten);
    later.end("unwritten");
    expect(later.only().state).toBe("quiet");
  });

  test("takes nothing into effect that the disk refuses", async () => {
    const { file, store } = memoryStore();
    const world = new IncidentWorld({ store: store.table("incidents") });
    const id = world.start("a") ?? "";
    file.isBroken = true;
    const refused = world.table.note(id, { text: "seen", isHandover: false }, ADMIN).catch((cause: Error) => cause);
    expect(await refused).toMatchObject({ message: "disk full" });
    expect(world.only().work.notes).toEqual([]);
    file.isBroken = false;
    const answer = await world.table.note(id, { text: "seen", isHandover: false }, ADMIN);
    expect(answer).toMatchObject({ kind: "done", isSaved: true });
    expect(file.rows.incidents.get(id)?.work.notes).toMatchObject([{ id: 1, text: "seen" }]);
  });

  test("keeps both of two notes that are written at once", async () => {
    const { file, store } = memoryStore();
    const world = new IncidentWorld({ store: store.table("incidents") });
    const id = world.start("a") ?? "";
    const write = (text: string) => world.table.note(id, { text, isHandover: false }, ADMIN);
    await Promise.all([write("one"), write("two")]);
    expect(world.only().work.notes.map((note) => `${note.id} ${note.text}`)).toEqual(["1 one", "2 two"]);
    expect(file.rows.incidents.get(id)?.work.notes).toHaveLength(2);
  });

  test("calls listeners with what changed, at most once a second", () => {
    const world = new IncidentWorld();
    const seen: string[] = [];
    world.table.onChange(({ state, attacks }) => seen.push(`${state} ${attacks}`));
    world.start("a");
    world.start("b");
    world.table.tick();
    world.table.tick();
    expect(seen).toEqual(["active 2"]);
    world.end("a");
    world.end("b");
    world.nowMs += 1000;
    world.table.tick();
    world.nowMs += 1000;
    world.table.tick();
    world.nowMs += INCIDENT_QUIET_MS;
    world.table.tick();
    expect(seen).toEqual(["active 2", "quiet 2", "closed 2"]);
  });

  test("stores and shows incidents with very many attacks one after the other", () => {
    const { store } = memoryStore();
    const world = new IncidentWorld({ store: store.table("incidents") });
    const seen = new Set<string>();
    world.table.onChange(({ group }) => seen.add(group));
    const groups = ["a", "b", "c"];
    for (const group of groups) {
      for (let i = 0; i < INCIDENT_MEMBERS_KEPT; i++) world.start(`${group}${i}`, { group });
    }
    const counts = [1, 2, 3, 4].map(() => {
      world.table.tick();
      return [seen.size, store.unsaved.incidents];
    });
    expect(counts).toEqual([
      [1, 1],
      [2, 2],
      [3, 3],
      [3, 3],
    ]);
  });

  test("takes what another brain has of it by any of its attacks, known or not", () => {
    const world = new IncidentWorld();
    world.start("a");
    world.nowMs += 600_000;
    const shared = { id: "other", aliases: [], work: NO_WORK };
    expect(world.table.join({ ...shared, attacks: ["unknown"] })).toBe(false);
    expect(world.table.join({ ...shared, attacks: ["unknown", "a"] })).toBe(true);
  });
});
