/** Killed again and again amid orders: what was acknowledged is there afterwards, in the state, the audit and the peer. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findGobgpd } from "../../src/bgp/gobgpd-process.ts";
import { loopback } from "../fixtures/bgp/bgp.ts";
import { type Bird, startBird } from "../fixtures/bgp/bird.ts";
import { seededRandom } from "../fixtures/seeded-random.ts";
import { eventually, freePort, ServiceProcess } from "../fixtures/service.ts";

const ASN = 64500;
const CYCLES = 200;
/** Orders on their way at once, each on a target of its own. */
const WORKERS = 4;
/** The latest moment of a kill, ms after the service is ready; on a slow machine a share of what its start took. */
const KILL_MS = 250;
const KILL_SHARE = 0.25;

interface Ban {
  readonly target: string;
  readonly state: string;
  readonly started_at: string;
  readonly expires_at: string;
}
interface AuditEvent {
  readonly action: string;
  readonly target: string;
  readonly result: string;
}
/** What the service said last of a target; null: killed before it answered, so that either is true. */
type Known = { readonly kind: "active"; readonly ban: Ban } | { readonly kind: "withdrawn" } | null;

let directory: string;
let bgpPort: number;
let bird: Bird;
let service: ServiceProcess | null = null;

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), `floodwall-kill-${process.pid}-`));
  bgpPort = await freePort();
  const sessions = [{ name: "floodwall", address: loopback(1), asn: ASN, port: bgpPort }];
  bird = await startBird({ address: loopback(2), port: bgpPort, asn: ASN, sessions });
});

afterEach(async () => {
  await service?.remove();
  service = null;
  const pid = findGobgpd(join(directory, "state/gobgpd/run"));
  if (pid !== null) process.kill(pid, "SIGKILL");
  await bird.stop();
  rmSync(directory, { recursive: true, force: true });
});

const config = () => `
networks: [203.0.113.0/24]
thresholds: { pps: 1000, mbps: 100, flows_per_sec: 500 }
dry_run: false
ban: { max_active_bans: 250 }
bgp:
  local_asn: ${ASN}
  router_id: ${loopback(1)}
  listen: "${loopback(1)}:${bgpPort}"
  next_hop: 192.0.2.1
  neighbors: [{ address: ${loopback(2)}, remote_asn: ${ASN}, port: ${bgpPort}, multihop_ttl: 4 }]
`;

test(`${CYCLES} bans and unbans with kill -9 at random moments lose nothing that was acknowledged`, async () => {
  const seed = Number(process.env["SEED"] ?? Math.floor(Math.random() * 2 ** 31));
  console.log(`seed ${seed}`);
  const random = seededRandom(seed);
  const known = new Map<string, Known>();
  const acknowledged: string[] = [];
  let cycles = 0;
  let kills = 0;

  /** Bans a target, or unbans it when it is banned; resolves with false when the service died before it answered. */
  const order = async (running: ServiceProcess, target: string): Promise<boolean> => {
    const action = known.get(target)?.kind === "active" ? "unban" : "ban";
    known.set(target, null);
    const answer = await running.post<Ban>(`/api/v1/${action}`, { ip: target }).catch(() => null);
    if (answer === null) return false;
    expect(answer.status).toBe(200);
    known.set(target, action === "ban" ? { kind: "active", ban: answer.body } : { kind: "withdrawn" });
    acknowledged.push(`${action} ${target} ${answer.body.state}`);
    return true;
  };

  const work = async (running: ServiceProcess, worker: number): Promise<void> => {
    while (cycles < CYCLES) {
      const target = `203.0.113.${1 + worker + WORKERS * Math.floor(random() * 60)}`;
      if (!(await order(running, target))) return;
      if (known.get(target)?.kind === "withdrawn") cycles++;
    }
  };

  while (cycles < CYCLES) {
    const startedMs = performance.now();
    service = await ServiceProcess.start({ config: config(), directory });
    const latestMs = Math.max(KILL_MS, KILL_SHARE * (performance.now() - startedMs));
    const running = service;
    await agree(running, known);
    const dying = Bun.sleep(random() * latestMs).then(() => running.stop("SIGKILL"));
    await Promise.all(Array.from({ length: WORKERS }, (_, worker) => work(running, worker)));
    await dying;
    kills++;
  }

  service = await ServiceProcess.start({ config: config(), directory });
  await agree(service, known);
  await audited(service, acknowledged);
  const active = [...known].flatMap(([target, k]) => (k?.kind === "active" ? `${target}/32` : [])).sort();
  await eventually(
    async () =>
      (await bird.routes())
        .map(({ prefix }) => prefix)
        .sort()
        .join() === active.join(),
    "the peer's table does not become that of the active bans",
    20_000,
  );
  console.log(`${cycles} cycles, ${kills} kills, ${acknowledged.length} orders acknowledged`);
  expect(kills).toBeGreaterThan(3);
}, 180_000);

/** The service's bans are as they were acknowledged; what was not is learned from it. */
async function agree(running: ServiceProcess, known: Map<string, Known>): Promise<void> {
  const { bans } = (await running.get<{ bans: Ban[] }>("/api/v1/bans")).body;
  const active = new Map(bans.filter(({ state }) => state === "active").map((ban) => [ban.target, ban]));
  for (const [target, expected] of known) {
    const ban = active.get(target);
    if (expected?.kind === "active") {
      const { started_at, expires_at } = expected.ban;
      expect(ban).toMatchObject({ target, started_at, expires_at });
    } else if (expected?.kind === "withdrawn") {
      expect(ban).toBeUndefined();
    }
    known.set(target, ban === undefined ? { kind: "withdrawn" } : { kind: "active", ban });
  }
  expect([...active.keys()].filter((target) => !known.has(target))).toEqual([]);
}

/** There may be more rows than acknowledgements, of orders whose answer was cut off; never fewer. */
async function audited(running: ServiceProcess, acknowledged: readonly string[]): Promise<void> {
  const { available, events } = (await running.get<{ available: boolean; events: AuditEvent[] }>("/api/v1/audit")).body;
  expect(available).toBe(true);
  const rows = Map.groupBy(events, ({ action, target, result }) => `${action} ${target} ${result}`);
  for (const [order, times] of Map.groupBy(acknowledged, (text) => text)) {
    expect({ order, rows: rows.get(order)?.length ?? 0 }).toEqual({ order, rows: expect.any(Number) });
    expect(rows.get(order)?.length ?? 0).toBeGreaterThanOrEqual(times.length);
  }
}
