/**
 * Masters of clearance keys that all brains use, so that a cookie of one is taken by the nodes of another: one key for
 * each UTC day, made once by the brain that comes first, days ahead. What a brain has and etcd lacks it puts there.
 */
import type { ClearanceMaster } from "../../edge/zones/clearance-keys.ts";
import type { EtcdApi } from "./etcd-calls.ts";
import type { EtcdRecord } from "./etcd-wire.ts";

const SECRET = /^[A-Za-z0-9_-]{43}$/;
/** Days after which a master is removed: cookies of it are over after two. */
const KEPT_DAYS = 8;
const KEYS_MAX = 4096;

export class EtcdMasters {
  readonly #calls: EtcdApi;
  readonly #prefix: string;

  /** @param prefix of all keys of the cluster */
  constructor(calls: EtcdApi, prefix: string) {
    this.#calls = calls;
    this.#prefix = `${prefix}clearance/`;
  }

  /**
   * Puts there what etcd lacks of `own`, and resolves with what all brains use for those days. Rejects with an EtcdFault.
   * @param today UTC days since the epoch
   */
  async agree(own: readonly ClearanceMaster[], today: number): Promise<readonly ClearanceMaster[]> {
    const agreed = await Promise.all(own.map((master) => this.#agreeOn(master)));
    await this.#removeOld(today);
    return agreed;
  }

  async #agreeOn(own: ClearanceMaster): Promise<ClearanceMaster> {
    const key = `${this.#prefix}${own.day}`;
    const value = Buffer.from(own.secret).toString("base64url");
    const { isDone, found } = await this.#calls.txn({
      compare: [{ key, target: "CREATE", revision: 0 }],
      success: [{ kind: "put", key, value }],
      failure: [{ kind: "range", key }],
    });
    const there = isDone ? null : masterIn(found[0] ?? null, own.day);
    return there ?? own;
  }

  async #removeOld(today: number): Promise<void> {
    const { records } = await this.#calls.list(this.#prefix, KEYS_MAX);
    for (const { key } of records) {
      const day = Number(key.slice(this.#prefix.length));
      if (!(day < today - KEPT_DAYS)) continue;
      await this.#calls.txn({ compare: [], success: [{ kind: "remove", key }], failure: [] });
    }
  }
}

/** null: damaged; each brain then uses its own. */
function masterIn(record: EtcdRecord | null, day: number): ClearanceMaster | null {
  if (record === null || !SECRET.test(record.value)) return null;
  return { day, secret: Buffer.from(record.value, "base64url") };
}
