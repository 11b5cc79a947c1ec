/** Killed again and again amid orders: what was acknowledged is there afterwards, in the state, the audit and the peer. */
import { expect, test } from "bun:test";
import { PeeredScenario } from "../fixtures/bgp/peered-scenario.ts";
import { OrderLedger } from "../fixtures/order-ledger.ts";
import { seededRandom } from "../fixtures/seeded-random.ts";
import { seedsOfRun } from "../fixtures/seeds.ts";
import { eventually, type ServiceProcess } from "../fixtures/service.ts";

/** Of orders that begin and end a ban. */
const CYCLES = 60;
const KILLS = 5;
/** Orders on their way at once, each on addresses of its own. */
const WORKERS = 4;
/** The latest moment of a kill, ms after the service is ready; on a slow machine a share of what its start took. */
const KILL_MS = 250;
const KILL_SHARE = 0.25;

type Row = Readonly<Record<string, string>>;

const scene = new PeeredScenario();
const timesOf = (ban: Row) => `${ban["started_at"]} to ${ban["expires_at"]}`;
const activeBans = async (service: ServiceProcess) => {
  const { bans } = (await service.get<{ bans: Row[] }>("/api/v1/bans")).body;
  return new Map(bans.filter(({ state }) => state === "active").map((ban) => [ban["target"] ?? "", timesOf(ban)]));
};

class BanOrders {
  readonly ledger = new OrderLedger();
  readonly acknowledged: string[] = [];
  cycles = 0;

  /** Bans what is not banned and unbans what is. Resolves with false when the service died before it answered. */
  async order(service: ServiceProcess, ip: string): Promise<boolean> {
    const order = this.ledger.valueOf(ip) === null ? "ban" : "unban";
    this.ledger.give(ip, order === "ban" ? "begin" : "end");
    const answer = await service.post<Row>(`/api/v1/${order}`, { ip }).catch(() => null);
    if (answer === null) return false;
    expect(answer.status).toBe(200);
    this.ledger.acknowledge(ip, order === "ban" ? timesOf(answer.body) : null);
    this.acknowledged.push(`${order} ${ip} ${answer.body["state"]}`);
    if (order === "unban") this.cycles++;
    return true;
  }

  async agrees(service: ServiceProcess): Promise<void> {
    expect(this.ledger.compare(await activeBans(service))).toEqual({ lost: [], undone: [] });
  }
}

const [seed = 0] = seedsOfRun(1);

test(`${CYCLES} bans and unbans with kill -9 at random moments lose nothing that was acknowledged (SEED=${seed})`, async () => {
  const random = seededRandom(seed);
  const orders = new BanOrders();
  const config = `
networks: [203.0.113.0/24]
thresholds: { pps: 1000, mbps: 100, flows_per_sec: 500 }
dry_run: false
ban: { max_active_bans: 250 }
${await scene.peer()}`;
  for (let kills = 0; orders.cycles < CYCLES || kills < KILLS; kills++) {
    const startedMs = performance.now();
    const service = await scene.start(config);
    await orders.agrees(service);
    const latestMs = Math.max(KILL_MS, KILL_SHARE * (performance.now() - startedMs));
    const dying = Bun.sleep(random() * latestMs).then(() => service.stop("SIGKILL"));
    const address = (worker: number) => `203.0.113.${1 + worker + WORKERS * Math.floor(random() * 60)}`;
    const work = async (worker: number) => {
      while (await orders.order(service, address(worker)));
    };
    await Promise.all(Array.from({ length: WORKERS }, (_, worker) => work(worker)));
    await dying;
  }
  const service = await scene.start(config);
  await orders.agrees(service);
  // There may be more rows than acknowledgements, of orders whose answer was cut off; never fewer.
  const { events } = (await service.get<{ events: Row[] }>("/api/v1/audit")).body;
  const rows = Map.groupBy(events, ({ action, target, result }) => `${action} ${target} ${result}`);
  const acknowledged = Map.groupBy(orders.acknowledged, (text) => text);
  expect([...acknowledged].filter(([order, times]) => times.length > (rows.get(order)?.length ?? 0))).toEqual([]);
  const active = [...(await activeBans(service)).keys()].map((ip) => `${ip}/32`).sort();
  const isInPeer = async () => (await scene.bird.prefixes()).join() === active.join();
  await eventually(isInPeer, "the peer's table does not become that of the active bans", 20_000);
}, 180_000);
