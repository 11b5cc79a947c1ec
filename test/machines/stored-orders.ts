/**
 * Orders whose answer says that they are stored (docs/interface.md#saved), by chance and over several connections at once,
 * and what of them is in force.
 */
import type { InForce, OrderKind, OrderLedger } from "../fixtures/order-ledger.ts";
import type { Chance } from "../fixtures/seeded-random.ts";
import type { Answer } from "../fixtures/service.ts";
import { GROUPS, LASTING_SECONDS, type PoweredService, PROFILE, ZONES } from "./powered-service.ts";

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
/** Of these, addresses whose orders have a method and rules of their own. */
const RULED = 30;
const [WINDOWS, RULES, PROTECTED] = [8, 12, 8];
const [SOURCES, VICTIMS] = [20, 4];

const numbers = (count: number) => Array.from({ length: count }, (_, i) => i + 1);
const banKey = (target = "") => `ban ${target}`;
const banValue = (row: Row) =>
  `${row["started_at"]} to ${row["expires_at"]}, ${row["order_reason"]}, ${JSON.stringify(row["ordered"] ?? null)}`;
const blockKey = ({ source, victim }: Row) => `block ${source} to ${victim}`;
const blockValue = (row: Row) => `${row["created_at"]} to ${row["expires_at"]}`;
const leverKey = (zone = "") => `lever ${zone}`;
const leverValue = (row: Row) => `${row["mode"]} to ${row["until"]}, ${row["reason"]}`;

const windowKey = (name = "") => `window ${name}`;
const windowValue = (row: Row) => `${row["until"]}, ${row["threshold_factor"]}, ${row["reason"]}`;
const ruleKey = (name = "") => `filter rule ${name}`;
const ruleValue = (row: Row) => `${row["created_at"]} to ${row["expires_at"]}, ${row["match"]}, ${row["reason"]}`;
const settingsKey = (group: string) => `settings of ${group}`;
const settingsValue = (settings: unknown) => JSON.stringify(settings ?? null);
const protectionKey = (prefix: string) => `protection of ${prefix}`;
const protectionValue = (choice: Row) => `${choice["chosen_at"]}, ${choice["note"]}`;

/** The number of an order, from its reason: what differs between two orders of one target. */
const numberOf = (reason: string) => Number(/\d+/.exec(reason)?.[0]);

function ban(ip: string, i: number): Target {
  const rules = (reason: string) => [{ protocol: "udp", source_ports: [String(1 + (numberOf(reason) % 65_535))] }];
  const terms = (reason: string) => (i <= RULED ? { method: "scrub", rules: rules(reason) } : {});
  const send: Send = (service, order, reason) =>
    order === "begin"
      ? service.send("POST", "/api/v1/ban", { ip, ttl_seconds: LASTING_SECONDS, reason, ...terms(reason) })
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

function maintenanceWindow(name: string): Target {
  const path = "/api/v1/maintenance";
  const send: Send = (service, order, reason) =>
    order === "begin"
      ? service.send("POST", path, { name, ttl_seconds: LASTING_SECONDS, threshold_factor: 2, reason })
      : service.send("DELETE", `${path}/${name}`);
  return { key: windowKey(name), send, valueOf: windowValue };
}

function filterRule(name: string): Target {
  const path = "/api/v1/filter-rules";
  const send: Send = (service, order, reason) => {
    const ports = [String(1 + (numberOf(reason) % 65_535))];
    const rule = { name, action: "drop", protocol: "udp", source_ports: ports };
    return order === "begin"
      ? service.send("POST", path, { ...rule, ttl_seconds: LASTING_SECONDS, reason })
      : service.send("DELETE", `${path}/${name}`);
  };
  return { key: ruleKey(name), send, valueOf: ruleValue };
}

function groupSettings(group: string): Target {
  const path = `/api/v1/hostgroups/${group}/settings`;
  const send: Send = (service, order, reason) =>
    order === "begin"
      ? service.send("PUT", path, { thresholds: { pps: 1000 + numberOf(reason) }, reason })
      : service.send("DELETE", path);
  return { key: settingsKey(group), send, valueOf: ({ settings }) => settingsValue(settings) };
}

function protection(prefix: string): Target {
  const path = `/api/v1/protection/${encodeURIComponent(prefix)}`;
  const send: Send = (service, order, reason) =>
    order === "begin" ? service.send("PUT", path, { profile: PROFILE, note: reason }) : service.send("DELETE", path);
  return { key: protectionKey(prefix), send, valueOf: ({ choice }) => protectionValue(choice as unknown as Row) };
}

const TARGETS: readonly Target[] = [
  ...numbers(BANNED).map((i) => ban(`203.0.113.${i}`, i)),
  ...numbers(WINDOWS).map((i) => maintenanceWindow(`window${i}`)),
  ...numbers(RULES).map((i) => filterRule(`rule${i}`)),
  ...GROUPS.map(groupSettings),
  ...numbers(PROTECTED).map((i) => protection(`203.0.113.${240 + i}/32`)),
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
  const { windows } = await get<{ windows: Row[] }>("/api/v1/maintenance");
  const { rules } = await get<{ rules: Row[] }>("/api/v1/filter-rules");
  const { hostgroups } = await get<{ hostgroups: { name: string; settings?: Row }[] }>("/api/v1/config");
  const { protections } = await get<{ protections: { prefix: string; choice: Row }[] }>("/api/v1/protection");
  const set = hostgroups.filter(({ settings }) => settings !== undefined);
  const status = await get<{ active_bans: number; storage: { unsaved: number } }>("/api/v1/status");
  const { available } = await get<{ available: boolean }>("/api/v1/audit");
  const active = bans.filter(({ state }) => state === "active");
  const inForce = new Map([
    ...active.map((row) => [banKey(row["target"]), banValue(row)] as const),
    ...sources.map((row) => [blockKey(row), blockValue(row)] as const),
    ...windows.map((row) => [windowKey(row["name"]), windowValue(row)] as const),
    ...rules.map((row) => [ruleKey(row["name"]), ruleValue(row)] as const),
    ...set.map(({ name, settings }) => [settingsKey(name), settingsValue(settings)] as const),
    ...protections.map(({ prefix, choice }) => [protectionKey(prefix), protectionValue(choice)] as const),
    ...zones.flatMap(({ zone, override }) => (override ? [[leverKey(zone), leverValue(override)] as const] : [])),
  ]);
  const levers = zones.filter(({ override }) => override !== undefined);
  const rows = [active, sources, levers, windows, rules, set, protections].reduce((sum, { length }) => sum + length, 0);
  const checks: [boolean, string][] = [
    [status.active_bans === active.length, `the status counts ${status.active_bans} of ${active.length} active bans`],
    [inForce.size === rows, `${rows} rows have ${inForce.size} keys`],
    [status.storage.unsaved === 0, `${status.storage.unsaved} changes are not on disk`],
    [available, "the history is not available"],
  ];
  return { inForce, contradictions: checks.flatMap(([holds, text]) => (holds ? [] : [text])) };
}
