/**
 * An etcd in memory that keeps what it promises until it loses all: one register for all brains, with revisions, leases
 * and watches, which each brain may be cut off from. An answer may be lost after the call was carried out.
 */
import type { EtcdApi, EtcdTxn, TxnOutcome, WatchStart } from "../../../src/cluster/etcd/etcd-calls.ts";
import { EtcdFault } from "../../../src/cluster/etcd/etcd-fault.ts";
import type { EtcdChange, EtcdCompare, EtcdHeader, EtcdRecord } from "../../../src/cluster/etcd/etcd-wire.ts";
import type { Chance } from "../../fixtures/seeded-random.ts";

interface Kept extends EtcdRecord {
  readonly lease: string | null;
}

interface Granted {
  readonly ttlMs: number;
  readonly endsAtMs: number;
}

interface Data {
  readonly keys: Map<string, Kept>;
  readonly leases: Map<string, Granted>;
  revision: number;
}

interface Watcher {
  readonly brain: string;
  readonly prefix: string;
  nextRevision: number;
  readonly take: (changes: readonly EtcdChange[]) => void;
  readonly end: (fault: EtcdFault) => void;
}

export class ModelEtcd {
  isAway = false;
  readonly cutFrom = new Set<string>();
  /** One call in as many loses its answer; 0: none does. */
  lossOneIn = 0;
  trueMs = 0;
  readonly #chance: Chance;
  #data: Data = { keys: new Map(), leases: new Map(), revision: 1 };
  #changes: { readonly revision: number; readonly change: EtcdChange }[] = [];
  #compactedTo = 0;
  #backup: Data | null = null;
  #leases = 0;
  readonly #watchers = new Set<Watcher>();

  constructor(chance: Chance) {
    this.#chance = chance;
  }

  callsOf(brain: string): EtcdApi {
    return new ModelEtcdCalls(this, brain);
  }

  /** All values under a prefix, by the rest of the key. */
  values(prefix: string): ReadonlyMap<string, string> {
    const found = [...this.#data.keys.values()].filter(({ key }) => key.startsWith(prefix));
    return new Map(found.map(({ key, value }) => [key.slice(prefix.length), value]));
  }

  advance(trueMs: number): void {
    this.trueMs += trueMs;
    for (const [id, { endsAtMs }] of this.#data.leases) if (endsAtMs <= this.trueMs) this.revoke(id);
    this.pump();
  }

  loseAll(): void {
    this.#restart({ keys: new Map(), leases: new Map(), revision: 1 });
  }

  backUp(): void {
    const { keys, leases, revision } = this.#data;
    this.#backup = { keys: new Map(keys), leases: new Map(leases), revision };
  }

  /** Leases last their whole time again, as after an election. False: there is no backup. */
  restore(): boolean {
    if (this.#backup === null) return false;
    const { keys, leases, revision } = this.#backup;
    const fresh = [...leases].map(([id, { ttlMs }]) => [id, { ttlMs, endsAtMs: this.trueMs + ttlMs }] as const);
    this.#restart({ keys: new Map(keys), leases: new Map(fresh), revision });
    return true;
  }

  compact(): void {
    this.#compactedTo = this.#data.revision;
    this.#changes = [];
  }

  /** Called at the begin of each call. */
  reach(brain: string): void {
    if (this.isAway || this.cutFrom.has(brain)) throw new EtcdFault("unreachable", "cut off");
  }

  /** Called at the end of each call. */
  answer<T>(value: T): T {
    if (this.lossOneIn > 0 && this.#chance.oneIn(this.lossOneIn))
      throw new EtcdFault("unreachable", "the answer was lost");
    return value;
  }

  get header(): EtcdHeader {
    return { revision: this.#data.revision, term: 1, clusterId: "1" };
  }

  read(key: string): EtcdRecord | null {
    return this.#data.keys.get(key) ?? null;
  }

  list(prefix: string): EtcdRecord[] {
    return [...this.#data.keys.values()].filter(({ key }) => key.startsWith(prefix));
  }

  txn({ compare, success, failure }: EtcdTxn): TxnOutcome {
    const isDone = compare.every((each) => this.#isTrue(each));
    const found: (EtcdRecord | null)[] = [];
    const operations = isDone ? success : failure;
    if (operations.some(({ kind }) => kind !== "range")) this.#data.revision++;
    for (const operation of operations) {
      if (operation.kind === "range") found.push(this.read(operation.key));
      else if (operation.kind === "remove") this.#remove(operation.key);
      else this.#put(operation.key, operation.value, operation.lease ?? null);
    }
    this.pump();
    return { isDone, header: this.header, found: isDone ? [] : found };
  }

  grant(ttlSeconds: number): string {
    const id = String(++this.#leases);
    const ttlMs = ttlSeconds * 1000;
    this.#data.leases.set(id, { ttlMs, endsAtMs: this.trueMs + ttlMs });
    return id;
  }

  keep(id: string): number {
    const lease = this.#data.leases.get(id);
    if (lease === undefined) return 0;
    this.#data.leases.set(id, { ...lease, endsAtMs: this.trueMs + lease.ttlMs });
    return lease.ttlMs / 1000;
  }

  revoke(id: string): void {
    if (!this.#data.leases.delete(id)) return;
    this.#data.revision++;
    for (const { key, lease } of [...this.#data.keys.values()]) if (lease === id) this.#remove(key);
  }

  watch(
    brain: string,
    { prefix, fromRevision }: WatchStart,
    take: Watcher["take"],
    signal: AbortSignal,
  ): Promise<void> {
    if (fromRevision <= this.#compactedTo) throw new EtcdFault("compacted", "compacted");
    return new Promise((_, reject) => {
      const end = (fault: EtcdFault) => {
        this.#watchers.delete(watcher);
        reject(fault);
      };
      const watcher: Watcher = { brain, prefix, nextRevision: fromRevision, take, end };
      this.#watchers.add(watcher);
      signal.addEventListener("abort", () => end(new EtcdFault("unreachable", "aborted")));
      take([]);
    });
  }

  /** Changes reach watches; those of brains that are cut off end. */
  pump(): void {
    for (const watcher of [...this.#watchers]) {
      if (this.isAway || this.cutFrom.has(watcher.brain)) {
        watcher.end(new EtcdFault("unreachable", "cut off"));
        continue;
      }
      const due = this.#changes.filter(({ revision }) => revision >= watcher.nextRevision);
      const changes = due.map(({ change }) => change).filter((change) => keyOf(change).startsWith(watcher.prefix));
      watcher.nextRevision = Math.max(watcher.nextRevision, this.#data.revision + 1);
      if (changes.length > 0) watcher.take(changes);
    }
  }

  #restart(data: Data): void {
    this.#data = data;
    this.#changes = [];
    this.#compactedTo = 0;
    for (const watcher of [...this.#watchers]) watcher.end(new EtcdFault("unreachable", "restarted"));
  }

  #isTrue(compare: EtcdCompare): boolean {
    const present = this.read(compare.key);
    if (compare.target === "VALUE") return present?.value === compare.value;
    const revision = compare.target === "CREATE" ? present?.createRevision : present?.modRevision;
    return (revision ?? 0) === compare.revision;
  }

  #put(key: string, value: string, lease: string | null): void {
    if (lease !== null && !this.#data.leases.has(lease)) throw new EtcdFault("refused", "requested lease not found");
    const { revision } = this.#data;
    const createRevision = this.read(key)?.createRevision ?? revision;
    const record = { key, value, createRevision, modRevision: revision, lease };
    this.#data.keys.set(key, record);
    this.#changes.push({ revision, change: { kind: "put", record } });
  }

  #remove(key: string): void {
    if (!this.#data.keys.delete(key)) return;
    const { revision } = this.#data;
    this.#changes.push({ revision, change: { kind: "removed", key, modRevision: revision } });
  }
}

const keyOf = (change: EtcdChange) => (change.kind === "put" ? change.record.key : change.key);

class ModelEtcdCalls implements EtcdApi {
  readonly endpoint = new URL("http://etcd:2379");
  newestRevision = 0;
  readonly #etcd: ModelEtcd;
  readonly #brain: string;

  constructor(etcd: ModelEtcd, brain: string) {
    this.#etcd = etcd;
    this.#brain = brain;
  }

  leave(): void {}

  beginAt(revision: number): void {
    this.newestRevision = revision;
  }

  read(key: string): Promise<{ header: EtcdHeader; record: EtcdRecord | null }> {
    return this.#call(() => ({ header: this.#etcd.header, record: this.#etcd.read(key) }));
  }

  list(prefix: string): Promise<{ header: EtcdHeader; records: readonly EtcdRecord[] }> {
    return this.#call(() => ({ header: this.#etcd.header, records: this.#etcd.list(prefix) }));
  }

  txn(txn: EtcdTxn): Promise<TxnOutcome> {
    return this.#call(() => this.#etcd.txn(txn));
  }

  grantLease(ttlSeconds: number): Promise<string> {
    return this.#call(() => this.#etcd.grant(ttlSeconds));
  }

  keepLease(id: string): Promise<number> {
    return this.#call(() => this.#etcd.keep(id));
  }

  revokeLease(id: string): Promise<void> {
    return this.#call(() => this.#etcd.revoke(id));
  }

  version(): Promise<string> {
    return this.#call(() => "3.4.23");
  }

  async watch(start: WatchStart, take: Watcher["take"], abort: AbortController): Promise<void> {
    await Promise.resolve();
    this.#etcd.reach(this.#brain);
    const taking = (changes: readonly EtcdChange[]) => {
      this.#see();
      take(changes);
    };
    await this.#etcd.watch(this.#brain, start, taking, abort.signal);
  }

  async #call<T>(call: () => T): Promise<T> {
    // Others may come first.
    await Promise.resolve();
    this.#etcd.reach(this.#brain);
    const value = this.#etcd.answer(call());
    this.#see();
    return value;
  }

  #see(): void {
    this.newestRevision = Math.max(this.newestRevision, this.#etcd.header.revision);
  }
}
