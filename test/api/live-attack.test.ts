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

interface Attack {
  readonly id: string;
  readonly target: string;
  readonly active: boolean;
  readonly rate: number;
  readonly metric: string;
  readonly threshold: number;
  readonly rates: Record<string, number>;
  readonly reason: Record<string, unknown>;
  readonly ban_state?: string;
  readonly ended_at?: string;
  readonly tenant?: string;
}
interface Attacks {
  readonly active: Attack[];
  readonly recent: Attack[];
}

const VICTIM = "203.0.113.7";
/** Attacked as well; an operator takes its ban over. */
const OTHER_VICTIM = "203.0.113.8";
const RISING_SECONDS = 4;
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
let hostInAttack: Record<string, unknown> = {};

/** From 2,000 to 8,000 packets a second in steps, then only a packet every 100 ms to another host. */
function risingFlood(): Uint8Array {
  const datagram = (dst: string) => ethernet(ip({ src: "198.51.100.9", dst }, udp({ payload: new Uint8Array(100) })));
  const calm = ethernet(ip({ src: "198.51.100.9", dst: "203.0.113.200" }, udp()));
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

async function attacks(): Promise<Attacks> {
  return (await service.get<Attacks>("/api/v1/attacks")).body;
}

beforeAll(async () => {
  writeFileSync(join(directory, "flood.pcap"), risingFlood());
  const capture = `capture: { pcap_file: ${join(directory, "flood.pcap")} }\n`;
  service = await ServiceProcess.start({ config: CONFIG + capture });
  await eventually(
    async () => {
      const { active, recent } = await attacks();
      readings.push(...active.filter(({ target }) => target === VICTIM));
      if (active.some(({ target }) => target === OTHER_VICTIM)) await service.post("/api/v1/ban", { ip: OTHER_VICTIM });
      if (active.some(({ target }) => target === VICTIM) && Object.keys(hostInAttack).length === 0) {
        const { hosts } = (await service.get<{ hosts: Record<string, unknown>[] }>("/api/v1/hosts?q=203.0.113.7")).body;
        hostInAttack = hosts[0] ?? {};
      }
      for (const attack of recent) {
        if (attack.target === VICTIM) ended = attack;
        else otherEnded = attack;
      }
      return recent.length === 2;
    },
    () => `the attacks did not come and go: ${service.output}`,
    30_000,
    50,
  );
}, 60_000);
afterAll(async () => {
  await service.remove();
  rmSync(directory, { recursive: true, force: true });
});

test("status hostgroups are those of the configuration, and one that is judged as a whole does not ban", async () => {
  const { hostgroups } = (await service.get<{ hostgroups: unknown }>("/api/v1/status")).body;
  expect(hostgroups).toEqual([
    { name: "global", calculation: "per_host", mitigation: "blackhole", ban: true },
    { name: "web", calculation: "per_host", mitigation: "blackhole", ban: true },
    { name: "whole", calculation: "total", mitigation: "flowspec", ban: false },
  ]);
});

test("attack rate is re-read from the engine on every request while active", () => {
  const rates = new Set(readings.map(({ rate }) => rate));
  expect(rates.size).toBeGreaterThan(3);
  expect(Math.max(...rates)).toBeGreaterThan(5000);
});

test("attack rate is that of the metric that tripped, and one of the rates", () => {
  for (const { rate, metric, rates } of [...readings, ended]) expect(rates[metric]).toBe(rate);
});

test("attack metric and threshold are frozen at detection", () => {
  expect(new Set(readings.map(({ metric, threshold }) => `${metric} ${threshold}`))).toEqual(new Set(["pps 1000"]));
});

test("attack reason is attached once at start", () => {
  expect(new Set(readings.map(({ reason }) => JSON.stringify(reason))).size).toBe(1);
  expect(ended.reason).toEqual(readings[0]?.reason ?? {});
});

test("attack tenant is the owning group's", () => {
  expect(ended).toMatchObject({ group: "web", tenant: "acme" });
});

test("attack rate stops following the engine at the end, ended_at is set and active is false", async () => {
  expect(ended).toMatchObject({ active: false, ended_at: expect.any(String) });
  await service.get("/api/v1/hosts");
  expect((await attacks()).recent.find(({ id }) => id === ended.id)?.rate).toBe(ended.rate);
});

test("attack ban_state of an attack that is over is that of its ban", () => {
  expect(readings.at(-1)).toMatchObject({ ban_state: "active", dry_run: true });
  expect(ended).toMatchObject({ ban_state: "withdrawn", method: "blackhole" });
});

test("attack ban_state of an attack that is over is that of the manual ban that covered it to the end", () => {
  expect(otherEnded).toMatchObject({ target: OTHER_VICTIM, active: false, ban_state: "active" });
});

test("host in_attack and metric are those of its attack", () => {
  expect(hostInAttack).toMatchObject({ target: VICTIM, group: "web", in_attack: true, metric: "pps" });
});

test("ban metric, rate and threshold of an automatic one are its attack's", async () => {
  const { bans } = (await service.get<{ bans: Record<string, unknown>[] }>("/api/v1/bans")).body;
  expect(bans.map(({ target }) => target)).toEqual([VICTIM, OTHER_VICTIM]);
  expect(bans[0]).toMatchObject({ target: VICTIM, metric: "pps", threshold: 1000, manual: false, state: "withdrawn" });
  expect(bans[0]).toMatchObject({ reason: "attack ended", withdrawn_at: expect.any(String) });
});

test("attack that ends moves from the active to the recent list", async () => {
  expect(readings.length).toBeGreaterThan(0);
  const { active, recent } = await attacks();
  expect(active).toEqual([]);
  expect(recent.map(({ id }) => id)).toContain(readings[0]?.id ?? "");
});

test("GET /api/v1/attacks/{id} finds an attack that is over, by the id that it had from its start", async () => {
  const { status, body } = await service.get<Attack>(`/api/v1/attacks/${readings[0]?.id}`);
  expect(status).toBe(200);
  expect(body).toEqual(ended);
});
