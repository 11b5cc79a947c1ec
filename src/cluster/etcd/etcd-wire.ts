/**
 * Bodies of etcd's JSON gateway (gRPC-gateway of etcd 3.4 and 3.5, paths `/v3/…`): keys and values are base64, 64-bit
 * numbers are decimal strings, and zero values are left out. Answers are read field by field: a field that is missing
 * or has another form makes the answer unusable.
 */
import { EtcdFault } from "./etcd-fault.ts";

export interface EtcdHeader {
  /** Revision of the whole store; grows by one with each write. */
  readonly revision: number;
  /** Term of the raft group: grows with each election. */
  readonly term: number;
  /** Decimal text: it has 64 bits. */
  readonly clusterId: string;
}

export interface EtcdRecord {
  readonly key: string;
  readonly value: string;
  readonly createRevision: number;
  readonly modRevision: number;
}

export type EtcdChange =
  | { readonly kind: "put"; readonly record: EtcdRecord }
  | { readonly kind: "removed"; readonly key: string; readonly modRevision: number };

/** A condition of a transaction; `revision` 0: the key does not exist. */
export type EtcdCompare =
  | { readonly key: string; readonly target: "CREATE" | "MOD"; readonly revision: number }
  | { readonly key: string; readonly target: "VALUE"; readonly value: string };

export type EtcdOperation =
  | { readonly kind: "put"; readonly key: string; readonly value: string; readonly lease?: string }
  | { readonly kind: "range"; readonly key: string }
  | { readonly kind: "remove"; readonly key: string };

export type Json = Readonly<Record<string, unknown>>;

export const encoded = (text: string) => Buffer.from(text, "utf8").toString("base64");
const decoded = (text: string) => Buffer.from(text, "base64").toString("utf8");

/** The end of the range of all keys that begin with `prefix`, base64: its last byte plus one. */
export function endOfPrefix(prefix: string): string {
  const bytes = Buffer.from(prefix, "utf8");
  const last = bytes.length - 1;
  const byte = bytes[last];
  if (byte === undefined || byte === 0xff) throw new Error(`bug: no range for the prefix ${JSON.stringify(prefix)}`);
  bytes[last] = byte + 1;
  return bytes.toString("base64");
}

export function compareToWire(compare: EtcdCompare): Json {
  const { target } = compare;
  const side = { key: encoded(compare.key), target, result: "EQUAL" };
  if (target === "VALUE") return { ...side, value: encoded(compare.value) };
  const field = target === "CREATE" ? "create_revision" : "mod_revision";
  return { ...side, [field]: String(compare.revision) };
}

export function operationToWire(operation: EtcdOperation): Json {
  const key = encoded(operation.key);
  if (operation.kind === "range") return { request_range: { key } };
  if (operation.kind === "remove") return { request_delete_range: { key } };
  const { value, lease } = operation;
  return { request_put: { key, value: encoded(value), ...(lease !== undefined && { lease }) } };
}

export function headerOf(answer: Json): EtcdHeader {
  const header = objectIn(answer, "header");
  return {
    revision: numberIn(header, "revision"),
    term: numberIn(header, "raft_term"),
    clusterId: textIn(header, "cluster_id"),
  };
}

export function recordsOf(answer: Json): EtcdRecord[] {
  return listIn(answer, "kvs").map(recordOf);
}

/** The ranges of a transaction, in their order; null: the key does not exist. */
export function rangesOf(answer: Json): (EtcdRecord | null)[] {
  return listIn(answer, "responses").flatMap((response) => {
    const range = response["response_range"];
    return range === undefined ? [] : [recordsOf(asObject(range))[0] ?? null];
  });
}

/** The changes in one message of a watch. */
export function changesOf(result: Json): EtcdChange[] {
  return listIn(result, "events").map((event) => {
    const kv = objectIn(event, "kv");
    if (event["type"] !== "DELETE") return { kind: "put", record: recordOf(kv) };
    return { kind: "removed", key: decoded(textIn(kv, "key")), modRevision: numberIn(kv, "mod_revision") };
  });
}

function recordOf(kv: Json): EtcdRecord {
  return {
    key: decoded(textIn(kv, "key")),
    value: decoded(typeof kv["value"] === "string" ? kv["value"] : ""),
    createRevision: numberIn(kv, "create_revision"),
    modRevision: numberIn(kv, "mod_revision"),
  };
}

export function asObject(value: unknown): Json {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Json;
  throw unusable("an object is missing");
}

function objectIn(parent: Json, name: string): Json {
  return asObject(parent[name]);
}

/** Zero values are left out, so an absent list is an empty one. */
function listIn(parent: Json, name: string): Json[] {
  const list = parent[name] ?? [];
  if (!Array.isArray(list)) throw unusable(`${name} is not a list`);
  return list.map(asObject);
}

export function textIn(parent: Json, name: string): string {
  const value = parent[name];
  if (typeof value === "string") return value;
  throw unusable(`${name} is missing`);
}

/** An absent number is 0. Revisions stay far below 2^53. */
export function numberIn(parent: Json, name: string): number {
  const value = parent[name] ?? "0";
  const number =
    typeof value === "number" ? value : typeof value === "string" && /^\d{1,16}$/.test(value) ? Number(value) : NaN;
  if (!Number.isSafeInteger(number)) throw unusable(`${name} is not a number`);
  return number;
}

function unusable(reason: string): EtcdFault {
  return new EtcdFault("unusable", `the answer is not one of etcd: ${reason}`);
}
