/**
 * Rates that change (docs/interface.md#attack-states), by the whole service with a flood whose rate rises and then
 * ends.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { evenly, pcapBytes } from "../fixtures/captures/pcap-writer.ts";
import { ethernet, ip, udp } from "../fixtures/packets/frames.ts";
import { eventually, ServiceProcess } from "../fixtures/service.ts";

type Json = Record<string, unknown>;
interface Attack extends Json {
  readonly id: string;
  readonly target: string;
  readonly rate: number;
  readonly metric: string;
  readonly rates: Record<string, number>;
}
interface Attacks {
  readonly active: Attack[];
  readonly recent: Attack[];
}

const VICTIM = "203.0.113.7";
/** Attacked as well; an operator takes its ban over. */
const OTHER_VICTIM = "203.0.113.8";
const RISING_SECONDS = 4;
/** 2,000, 4,000, 6,000 and 8,000. */
const SENT_TO_VICTIM = 20_000;
const CONFIG = `
networks: [203.0.113.0/24]
thresholds: { pps: 1000, mbps: 1000, flows_per_sec: 100000 }
hostgroups:
  - { name: web, networks: [203.0.113.0/25], tenant: acme }
  - { name: whole, networks: [203.0.113.128/25], calculation: total, mitigation: flowspec }
ban: { unban_hysteresis_seconds: 1 }
`;

const directory = mkdtempSync(join(tmpdir(), `floodwall-live-${process.pid}-`));
let service: ServiceProcess;
/** The attack as it was at each reading while it lasted, and then when it was over. */
const readings: Attack[] = [];
let ended: Attack;
let otherEnded: Attack;
let hostInAttack: Json = {};

/** From 2,000 to 8,000 packets a second in steps, then only a packet every 100 ms to another host. */
function risingFlood(): Uint8Array {
  const datagram = (dst: string) => ethernet(ip({ src: "198.51.100.9", dst }, udp({ payload: new Uint8Array(100) })));
  const calm = datagram("203.0.113.200");
  const start = 1_700_000_000_000;
  const rising = Array.from({ length: RISING_SECONDS }, (_, second) => {
    const pps = 2000 * (second + 1) + 2000;
    // Of these, 2,000 a second go to the other victim.
    const frames = Array.from({ length: pps }, (_, i) => datagram(i % (second + 2) === 0 ? OTHER_VICTIM : VICTIM));
    return evenly(frames, { startMs: start + second * 1000, stepMs: 1000 / pps });
  });
  const rest = { startMs: start + RISING_SECONDS * 1000, stepMs: 100 };
  return pcapBytes([...rising.flat(), ...evenly(new Array<Uint8Array>(40).fill(calm), rest)]);
}

const get = async <T>(path: string) => (await service.get<T>(`/api/v1/${path}`)).body;

/** Whether both attacks are over. */
async function readOnce(): Promise<boolean> {
  const { active, recent } = await get<Attacks>("attacks");
  const [reading] = active.filter(({ target }) => target === VICTIM);
  if (reading !== undefined) {
    readings.push(reading);
    const { hosts } = await get<{ hosts: Json[] }>(`hosts?q=${VICTIM}`);
    if (readings.length === 1) hostInAttack = hosts[0] ?? {};
  }
  if (active.some(({ target }) => target === OTHER_VICTIM)) await service.post("/api/v1/ban", { ip: OTHER_VICTIM });
  for (const attack of recent) {
    if (attack.target === VICTIM) ended = attack;
    else otherEnded = attack;
  }
  return recent.length === 2;
}

beforeAll(async () => {
  writeFileSync(join(directory, "flood.pcap"), risingFlood());
  const capture = `capture: { pcap_file: ${join(directory, "flood.pcap")} }\n`;
  service = await ServiceProcess.start({ config: CONFIG + capture });
  await eventually(readOnce, () => `the attacks did not come and go: ${service.output}`, 30_000, 50);
}, 60_000);
afterAll(async () => {
  await service.remove();
  rmSync(directory, { recursive: true, force: true });
});

test("hostgroups of the status are those of the configuration, and one that is judged as a whole does not ban #status-hostgroups", async () => {
  const plain = { calculation: "per_host", mitigation: "blackhole", ban: true };
  const whole = { name: "whole", calculation: "total", mitigation: "flowspec", ban: false };
  const hostgroups = [{ name: "global", ...plain }, { name: "web", ...plain }, whole];
  expect(await get("status")).toMatchObject({ hostgroups });
});

test("attack rate is re-read from the engine on every request while active, the one of its metric #attack-rate", () => {
  for (const { rate, metric, rates } of [...readings, ended]) expect(rates[metric]).toBe(rate);
  expect(new Set(readings.map(({ rate }) => rate)).size).toBeGreaterThan(3);
  expect(Math.max(...readings.map(({ rate }) => rate))).toBeGreaterThan(5000);
});

test("attack metric and threshold are frozen at detection, and the reason is attached once at start #attack-metric", () => {
  const [{ reason } = { reason: null }] = readings;
  for (const reading of [...readings, ended]) expect(reading).toMatchObject({ metric: "pps", threshold: 1000 });
  for (const reading of [...readings, ended]) expect<unknown>(reading["reason"]).toEqual(reason);
});

test("an attack that ends moves from the active to the recent list, and its rate stays #attack-that-ends", async () => {
  expect(ended).toMatchObject({ active: false, ended_at: expect.any(String), group: "web", tenant: "acme" });
  const { active, recent } = await get<Attacks>("attacks");
  expect(active).toEqual([]);
  expect(recent).toContainEqual(ended);
  expect(readings[0]?.id).toBe(ended.id);
  expect(await get<Attack>(`attacks/${ended.id}`)).toEqual(ended);
});

test("attack ban_state of an attack that is over is that of its ban, also of a manual one that covered it to the end #attack-ban-state", () => {
  expect(readings.at(-1)).toMatchObject({ ban_state: "active", dry_run: true });
  expect(ended).toMatchObject({ ban_state: "withdrawn", method: "blackhole" });
  expect(otherEnded).toMatchObject({ target: OTHER_VICTIM, active: false, ban_state: "active" });
});

test("volume is of every tick of a flood whose rate changes #volume-is-of-every-tick", () => {
  const volume = ended["volume"] as Record<string, number>;
  expect(Math.abs((volume["packets"] ?? 0) - SENT_TO_VICTIM)).toBeLessThan(0.05 * SENT_TO_VICTIM);
  expect(volume["bits"]).toBe((volume["packets"] ?? 0) * 8 * 142);
  expect(volume["peak_pps"]).toBeGreaterThan(0.95 * 2000 * RISING_SECONDS);
  expect(readings.at(-1)?.["volume"]).toBeDefined();
});

test("series begins before the detection, and has all of the flood #series-begins-before", async () => {
  interface Point {
    readonly at: string;
    readonly seconds: number;
    readonly pps: number;
    readonly pps_max: number;
  }
  const series = await get<{ available: boolean; points: Point[] }>(`attacks/${ended.id}/series`);
  const { points } = series;
  expect(series).toMatchObject({ available: true, metric: "pps", threshold: 1000 });
  expect(Date.parse(points[0]?.at ?? "")).toBeLessThan(Date.parse(String(ended["started_at"])));
  const packets = points.reduce((sum, { pps, seconds }) => sum + pps * seconds, 0);
  expect(Math.abs(packets - SENT_TO_VICTIM)).toBeLessThan(0.05 * SENT_TO_VICTIM);
  expect(points.at(-1)?.pps_max).toBe(0);
});

test("timeline entries are in the order in which it was decided, and go with the attack when it ends #timeline-entries", async () => {
  const { entries } = await get<{ entries: { kind: string; at: string }[] }>(`attacks/${ended.id}/timeline`);
  const kinds = entries.map(({ kind }) => kind);
  expect(kinds.filter((kind) => kind !== "reclassified")).toEqual([
    ...["detected", "ban_placed", "classified", "ban_withdrawn", "ended"],
  ]);
  expect(entries.map(({ at }) => at)).toEqual(entries.map(({ at }) => at).sort());
  expect(entries[0]?.at).toBe(String(ended["started_at"]));
});

test("host in_attack and metric are those of its attack #host-in-attack", () => {
  expect(hostInAttack).toMatchObject({ target: VICTIM, group: "web", in_attack: true, metric: "pps" });
});

test("ban metric, rate and threshold of an automatic one are its attack's #ban-metric", async () => {
  const automatic = { metric: "pps", threshold: 1000, manual: false, withdrawn_at: expect.any(String) };
  const own = { target: VICTIM, state: "withdrawn", reason: "attack ended", ...automatic };
  expect((await get<{ bans: Json[] }>("bans")).bans).toEqual([
    expect.objectContaining(own),
    expect.objectContaining({ target: OTHER_VICTIM }),
  ]);
});

test("attacks on one customer are one incident, which is quiet when they are over #attack-incident", async () => {
  const { incidents } = await get<{ incidents: (Json & { id: string })[] }>("incidents");
  const [incident] = incidents;
  if (incident === undefined) throw new Error("there is no incident");
  expect(incidents).toHaveLength(1);
  for (const attack of [...readings, ended, otherEnded]) expect(attack["incident"]).toBe(incident.id);
  expect(incident).toMatchObject({ tenant: "acme", group: "web", state: "quiet", attacks: 2, active_attacks: 0 });
  expect(incident).toMatchObject({ victims: 2, prefixes: [{ prefix: "203.0.113.0/24", victims: 2 }] });
  const packets = [ended, otherEnded].map(({ volume }) => (volume as { packets: number }).packets);
  expect(incident["packets"]).toBe(packets.reduce((a, b) => a + b));
  const { members } = await get<{ members: Json[] }>(`incidents/${incident.id}`);
  expect(new Set(members.map(({ id }) => id))).toEqual(new Set([ended.id, otherEnded.id]));
});
