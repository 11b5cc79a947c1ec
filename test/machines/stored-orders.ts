/**
 * Orders whose answer says that they are stored (docs/interface.md#saved), by chance and over several connections at once,
 * and what of them is in force.
 */
import type { InForce, OrderKind, OrderLedger } from "../fixtures/order-ledger.ts";
import type { Chance } from "../fixtures/seeded-random.ts";
import type { Answer } from "../fixtures/service.ts";
import { LASTING_SECONDS, type PoweredService, ZONES } from "./powered-service.ts";

type Row = Readonly<Record<string, string>>;
type Send = (service: PoweredService, order: OrderKind, reason: string) => Promise<Answer<Row>>;

interface Target {
  /** In the ledger. */
  readonly key: string;
  readonly send: Send;
  /** What differs between two records of this target. */
  readonly valueOf: (row: Row) => string;
}

const CONNECTIONS = 4;
/** Of orders on what is in force: one renews it, the others end it. */
const RENEWALS = 3;
const BANNED = 120;
const [SOURCES, VICTIMS] = [20, 4];

const numbers = (count: number) => Array.from({ length: count }, (_, i) => i + 1);
const banKey = (target = "") => `ban ${target}`;
const banValue = (row: Row) => `${row["started_at"]} to ${row["expires_at"]}, ${row["order_reason"]}`;
const blockKey = ({ source, victim }: Row) => `block ${source} to ${victim}`;
const blockValue = (row: Row) => `${row["created_at"]} to ${row["expires_at"]}`;
const leverKey = (zone = "") => `lever ${zone}`;
const leverValue = (row: Row) => `${row["mode"]} to ${row["until"]}, ${row["reason"]}`;

function ban(ip: string): Target {
  const send: Send = (service, order, reason) =>
    order === "begin"
      ? service.send("POST", "/api/v1/ban", { ip, ttl_seconds: LASTING_SECONDS, reason })
      : service.send("POST", "/api/v1/unban", { ip });
  return { key: banKey(ip), send, valueOf: banValue };
}

function block(source: string, victim: string): Target {
  const path = "/api/v1/dataplane/sources";
  const send: Send = (service, order, reason) =>
    order === "begin"
      ? service.send("POST", path, { source, victim, ttl_seconds: LASTING_SECONDS, reason })
      : service.send("POST", `${path}/unblock`, { source, victim });
  return { key: blockKey({ source, victim }), send, valueOf: blockValue };
}

function lever(zone: string): Target {
  const path = `/api/v1/edge/zones/${zone}/challenge`;
  const send: Send = (service, order, reason) =>
    order === "begin"
      ? service.send("POST", path, { mode: "manual", ttl_seconds: LASTING_SECONDS, reason })
      : service.send("DELETE", path);
  return { key: leverKey(zone), send, valueOf: leverValue };
}

const TARGETS: readonly Target[] = [
  ...numbers(BANNED).map((i) => ban(`203.0.113.${i}`)),
  ...numbers(SOURCES).flatMap((i) => numbers(VICTIMS).map((j) => block(`198.51.100.${i}`, `203.0.113.${200 + j}`))),
  ...ZONES.map(lever),
];

/** Gives orders until the service does not answer any more. Throws when it refuses one. */
export async function giveOrders(service: PoweredService, ledger: OrderLedger, chance: Chance): Promise<void> {
  const work = async () => {
    while (await giveOne(service, ledger, chance));
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, work));
}

async function giveOne(service: PoweredService, ledger: OrderLedger, chance: Chance): Promise<boolean> {
  const target = chance.oneOf(TARGETS.filter(({ key }) => ledger.isAnswered(key)));
  const { key } = target;
  const order = ledger.valueOf(key) === null || chance.oneIn(RENEWALS) ? "begin" : "end";
  ledger.give(key, order);
  const answer = await target.send(service, order, `order ${ledger.given}`).catch(() => null);
  if (answer === null) return false;
  const { status, body } = answer;
  // The disk was too slow for it: what is in force on disk is not known.
  if (status === 503 || "saved" in body) return true;
  if (status !== 200) throw new Error(`${order} ${key}: ${status} ${JSON.stringify(body)}`);
  ledger.acknowledge(key, order === "begin" ? target.valueOf(body) : null);
  return true;
}

/** What is in force, and where one part of the API contradicts another. */
export async function stateOf(service: PoweredService): Promise<{ inForce: InForce; contradictions: string[] }> {
  const get = async <T>(path: string) => (await service.get<T>(path)).body;
  const { bans } = await get<{ bans: Row[] }>("/api/v1/bans");
  const { sources } = await get<{ sources: Row[] }>("/api/v1/dataplane/sources");
  const { zones } = await get<{ zones: { zone: string; override?: Row }[] }>("/api/v1/edge/zones/status");
  const status = await get<{ active_bans: number; storage: { unsaved: number } }>("/api/v1/status");
  const { available } = await get<{ available: boolean }>("/api/v1/audit");
  const active = bans.filter(({ state }) => state === "active");
  const inForce = new Map([
    ...active.map((row) => [banKey(row["target"]), banValue(row)] as const),
    ...sources.map((row) => [blockKey(row), blockValue(row)] as const),
    ...zones.flatMap(({ zone, override }) => (override ? [[leverKey(zone), leverValue(override)] as const] : [])),
  ]);
  const rows = active.length + sources.length + zones.filter(({ override }) => override !== undefined).length;
  const checks: [boolean, string][] = [
    [status.active_bans === active.length, `the status counts ${status.active_bans} of ${active.length} active bans`],
    [inForce.size === rows, `${rows} rows have ${inForce.size} keys`],
    [status.storage.unsaved === 0, `${status.storage.unsaved} changes are not on disk`],
    [available, "the history is not available"],
  ];
  return { inForce, contradictions: checks.flatMap(([holds, text]) => (holds ? [] : [text])) };
}
