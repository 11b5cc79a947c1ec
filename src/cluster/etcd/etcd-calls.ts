/** The calls of etcd that a cluster of brains needs, by their names in etcd's documentation of its API (v3). */
import { EtcdFault, kindOfRefusal } from "./etcd-fault.ts";
import {
  asObject,
  changesOf,
  compareToWire,
  type EtcdChange,
  type EtcdCompare,
  type EtcdHeader,
  type EtcdOperation,
  type EtcdRecord,
  encoded,
  endOfPrefix,
  headerOf,
  type Json,
  numberIn,
  operationToWire,
  rangesOf,
  recordsOf,
  textIn,
} from "./etcd-wire.ts";
import type { CallOptions, GatewayClient } from "./gateway-client.ts";

/** Keys of one page of a list; fewer where the answer would be too large. */
const PAGE_KEYS = 500;

export interface TxnOutcome {
  readonly isDone: boolean;
  readonly header: EtcdHeader;
  /** Records of the ranges in `failure`, when it is not done. */
  readonly found: readonly (EtcdRecord | null)[];
}

export interface EtcdTxn {
  readonly compare: readonly EtcdCompare[];
  readonly success: readonly EtcdOperation[];
  readonly failure: readonly EtcdOperation[];
}

export interface WatchStart {
  readonly prefix: string;
  /** The first revision that is reported. */
  readonly fromRevision: number;
}

/** The calls that parts need which keep something in etcd. */
export type EtcdApi = Omit<EtcdCalls, "client">;

export class EtcdCalls {
  readonly client: GatewayClient;
  /** The newest revision of all answers and changes: etcd never goes behind it while it has its data. */
  #newestRevision = 0;

  constructor(client: GatewayClient) {
    this.client = client;
  }

  /** The member that calls go to now. */
  get endpoint(): URL {
    return this.client.endpoint;
  }

  /** It fails: calls go to the next one. */
  leave(endpoint: URL, cause: EtcdFault): void {
    this.client.leave(endpoint, cause);
  }

  get newestRevision(): number {
    return this.#newestRevision;
  }

  /** The data are other ones now. */
  beginAt(revision: number): void {
    this.#newestRevision = revision;
  }

  /** Linearizable; null: the key does not exist. */
  async read(key: string, options: CallOptions = {}): Promise<{ header: EtcdHeader; record: EtcdRecord | null }> {
    const answer = await this.client.call("/v3/kv/range", { key: encoded(key) }, options);
    return { header: this.#headerOf(answer), record: recordsOf(answer)[0] ?? null };
  }

  /**
   * All keys under a prefix as they were at one revision, page by page.
   * @throws EtcdFault also when there are more than `keysMax`.
   */
  async list(prefix: string, keysMax: number): Promise<{ header: EtcdHeader; records: readonly EtcdRecord[] }> {
    const end = endOfPrefix(prefix);
    const records: EtcdRecord[] = [];
    let [key, limit] = [encoded(prefix), PAGE_KEYS];
    let header: EtcdHeader | null = null;
    for (;;) {
      const at = header === null ? {} : { revision: String(header.revision) };
      const answer = await this.client
        .call("/v3/kv/range", { key, range_end: end, limit, ...at })
        .catch((cause: unknown) => {
          if (limit <= 3 || !(cause instanceof EtcdFault) || !cause.message.includes("bytes")) throw cause;
          return null;
        });
      if (answer === null) {
        limit = Math.ceil(limit / 4);
        continue;
      }
      header ??= this.#headerOf(answer);
      const page = recordsOf(answer);
      records.push(...page);
      const last = page.at(-1);
      if (answer["more"] !== true || last === undefined) return { header, records };
      if (records.length > keysMax)
        throw new EtcdFault("refused", `there are more than ${keysMax} keys under ${prefix}`);
      key = encoded(`${last.key}\0`);
    }
  }

  async txn({ compare, success, failure }: EtcdTxn, options: CallOptions = {}): Promise<TxnOutcome> {
    const body = {
      compare: compare.map(compareToWire),
      success: success.map(operationToWire),
      failure: failure.map(operationToWire),
    };
    const answer = await this.client.call("/v3/kv/txn", body, options);
    const isDone = answer["succeeded"] === true;
    return { isDone, header: this.#headerOf(answer), found: isDone ? [] : rangesOf(answer) };
  }

  /** Returns the id of a new lease. */
  async grantLease(ttlSeconds: number): Promise<string> {
    return textIn(await this.client.call("/v3/lease/grant", { TTL: String(ttlSeconds) }), "ID");
  }

  /** Returns the seconds that the lease lasts from now on; 0: it is gone. */
  async keepLease(id: string): Promise<number> {
    const answer = await this.client.call("/v3/lease/keepalive", { ID: id });
    return numberIn(asObject(answer["result"]), "TTL");
  }

  async revokeLease(id: string): Promise<void> {
    await this.client.call("/v3/lease/revoke", { ID: id });
  }

  /** The version of the member at an endpoint. */
  async version(endpoint: URL): Promise<string> {
    return textIn(await this.client.call("/v3/maintenance/status", {}, { endpoint }), "version");
  }

  /**
   * Changes under a prefix, in their order, until `abort` or a fault: rejects with an EtcdFault, `compacted` when
   * `fromRevision` is not kept any more.
   */
  async watch(
    start: WatchStart,
    take: (changes: readonly EtcdChange[]) => void,
    abort: AbortController,
  ): Promise<void> {
    const { prefix, fromRevision } = start;
    const body = {
      create_request: { key: encoded(prefix), range_end: endOfPrefix(prefix), start_revision: String(fromRevision) },
    };
    await this.client.stream("/v3/watch", body, (result) => take(this.#changesIn(result)), abort);
  }

  #headerOf(answer: Json): EtcdHeader {
    const header = headerOf(answer);
    this.#newestRevision = Math.max(this.#newestRevision, header.revision);
    return header;
  }

  #changesIn(result: Json): readonly EtcdChange[] {
    const changes = changesIn(result);
    this.#headerOf(result);
    return changes;
  }
}

function changesIn(result: Json): readonly EtcdChange[] {
  if (result["canceled"] !== true) return changesOf(result);
  if (numberIn(result, "compact_revision") > 0) throw new EtcdFault("compacted", "the revision was compacted");
  const reason = result["cancel_reason"];
  const words = typeof reason === "string" ? reason.slice(0, 200) : "the watch was canceled";
  throw new EtcdFault(kindOfRefusal(0, words), words);
}
