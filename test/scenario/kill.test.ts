/** Killed again and again amid orders: what was acknowledged is there afterwards, in the state, the audit and the peer. */
import { expect, test } from "bun:test";
import { PeeredScenario } from "../fixtures/bgp/peered-scenario.ts";
import { seededRandom } from "../fixtures/seeded-random.ts";
import { eventually, type ServiceProcess } from "../fixtures/service.ts";

const KILLS = 8;
/** Orders on their way at once, each on subjects of its own. */
const WORKERS = 4;
/** The latest moment of a kill, ms after the service is ready; on a slow machine a share of what its start took. */
const KILL_MS = 250;
const KILL_SHARE = 0.25;
const BLOCKS = "/api/v1/dataplane/sources";

type Row = Readonly<Record<string, string | number>>;
/** What the service said last of a subject; null: killed before it answered, so that either is true. */
type Known = Row | "not in force" | null;

/** A ban of an address, or a source block of a pair. */
interface Kind {
  readonly name: string;
  readonly fieldsOf: (random: () => number, worker: number) => Row;
  readonly nameOf: (row: Row) => string;
  /** Of orders that begin and end one. */
  readonly cycles: number;
  readonly begin: string;
  readonly end: string;
  /** What the service has in force, as it was acknowledged. */
  readonly live: (service: ServiceProcess) => Promise<readonly Row[]>;
  /** Of a row, what never changes while it is in force. */
  readonly kept: readonly string[];
  readonly sections: () => Promise<string>;
}

const scene = new PeeredScenario();
const whole = (random: () => number, below: number) => Math.floor(random() * below);
const KINDS: readonly Kind[] = [
  {
    name: "ban",
    cycles: 200,
    fieldsOf: (random, worker) => ({ ip: `203.0.113.${1 + worker + WORKERS * whole(random, 60)}` }),
    nameOf: ({ ip, target = ip }) => String(target),
    begin: "/api/v1/ban",
    end: "/api/v1/unban",
    live: async (service) =>
      (await service.get<{ bans: Row[] }>("/api/v1/bans")).body.bans.filter(({ state }) => state === "active"),
    kept: ["started_at", "expires_at"],
    sections: async () => `dry_run: false\nban: { max_active_bans: 250 }\n${await scene.peer()}`,
  },
  {
    name: "source_block",
    cycles: 40,
    fieldsOf: (random, worker) => ({
      source: `198.51.100.${worker * 50 + whole(random, 50)}`,
      victim: `203.0.113.${whole(random, 8)}`,
      ttl_seconds: 600 + whole(random, 600),
      reason: String(random()),
    }),
    nameOf: ({ source, victim }) => `${source}->${victim}`,
    begin: BLOCKS,
    end: `${BLOCKS}/unblock`,
    live: async (service) => (await service.get<{ sources: Row[] }>(BLOCKS)).body.sources,
    kept: ["created_at", "expires_at", "reason", "dry_run"],
    sections: async () => "dataplane: { interfaces: [fw-absent0] }\n",
  },
];

/** What one kind of orders came to, and what the service must say of it after each start. */
class Ledger {
  readonly #known = new Map<string, Known>();
  readonly acknowledged: string[] = [];
  cycles = 0;

  constructor(
    readonly kind: Kind,
    readonly random: () => number,
  ) {}

  /** Begins what is not in force and ends what is. Resolves with false when the service died before it answered. */
  async order(service: ServiceProcess, worker: number): Promise<boolean> {
    const { begin, end, nameOf, name: kind, fieldsOf } = this.kind;
    const fields = fieldsOf(this.random, worker);
    const name = nameOf(fields);
    const before = this.#known.get(name) ?? "not in force";
    const isEnd = before !== "not in force" && (kind === "ban" || this.random() < 0.6);
    this.#known.set(name, null);
    const answer = await service.post<Row>(isEnd ? end : begin, fields).catch(() => null);
    if (answer === null) return false;
    expect(answer.status).toBe(200);
    if (before !== "not in force") expect(answer.body["created_at"]).toBe(before["created_at"]);
    this.#known.set(name, isEnd ? "not in force" : answer.body);
    if (kind === "ban") this.acknowledged.push(`${isEnd ? "unban" : "ban"} ${name} ${answer.body["state"]}`);
    if (isEnd) this.cycles++;
    return true;
  }

  /** What is in force is as it was acknowledged; what was not is learned from the service. */
  async agrees(service: ServiceProcess): Promise<void> {
    const { live, nameOf, kept } = this.kind;
    const rows = new Map((await live(service)).map((row) => [nameOf(row), row]));
    const pick = (row: Row | string) => (typeof row === "string" ? row : kept.map((field) => row[field]));
    for (const [name, expected] of this.#known) {
      const row = rows.get(name) ?? "not in force";
      if (expected !== null) expect([name, pick(row)]).toEqual([name, pick(expected)]);
      this.#known.set(name, row);
    }
    expect([...rows.keys()].filter((name) => !this.#known.has(name))).toEqual([]);
  }
}

test.each(KINDS.map((kind) => [kind.cycles, kind.name, kind] as const))(
  "%d times %s and its end with kill -9 at random moments lose nothing that was acknowledged",
  async (cycles, _, kind) => {
    const seed = Number(process.env["SEED"] ?? Math.floor(Math.random() * 2 ** 31));
    console.log(`seed ${seed}`);
    const random = seededRandom(seed);
    const ledger = new Ledger(kind, random);
    const config = `
networks: [203.0.113.0/24]
thresholds: { pps: 1000, mbps: 100, flows_per_sec: 500 }
${await kind.sections()}`;
    for (let kills = 0; ledger.cycles < cycles || kills < KILLS; kills++) {
      const startedMs = performance.now();
      const service = await scene.start(config);
      await ledger.agrees(service);
      const latestMs = Math.max(KILL_MS, KILL_SHARE * (performance.now() - startedMs));
      const dying = Bun.sleep(random() * latestMs).then(() => service.stop("SIGKILL"));
      const work = async (worker: number) => {
        while (await ledger.order(service, worker));
      };
      await Promise.all(Array.from({ length: WORKERS }, (_, worker) => work(worker)));
      await dying;
    }
    const service = await scene.start(config);
    await ledger.agrees(service);
    if (kind.name !== "ban") return;
    // There may be more rows than acknowledgements, of orders whose answer was cut off; never fewer.
    const { events } = (await service.get<{ events: Row[] }>("/api/v1/audit")).body;
    const rows = Map.groupBy(events, ({ action, target, result }) => `${action} ${target} ${result}`);
    const orders = Map.groupBy(ledger.acknowledged, (text) => text);
    expect([...orders].filter(([order, times]) => times.length > (rows.get(order)?.length ?? 0))).toEqual([]);
    const active = (await kind.live(service)).map(({ target }) => `${target}/32`).sort();
    await eventually(
      async () => (await scene.bird.prefixes()).join() === active.join(),
      "the peer's table does not become that of the active bans",
      20_000,
    );
  },
  180_000,
);
