/**
 * Notices that etcd has lost its data or was restored from an older backup: a key with a drawn value, and the revision,
 * which never goes back otherwise. Beside a new generation stands a key that lasts longer than any lease, so that no brain
 * takes a lease whose last holder, of the lost data, still counts on it.
 */

import type { EtcdApi } from "./etcd-calls.ts";
import { EtcdFault } from "./etcd-fault.ts";
import type { EtcdCompare, EtcdHeader } from "./etcd-wire.ts";
import type { CallOptions } from "./gateway-client.ts";
import { LEASE_SECONDS } from "./lease-terms.ts";

/** Above a lease, with what clocks of machines may differ in rate. */
const YOUNG_SECONDS = LEASE_SECONDS + 5;

interface Generation {
  readonly id: string;
  /** At the moment of the look. */
  readonly header: EtcdHeader;
}

interface GenerationOptions {
  readonly calls: EtcdApi;
  readonly prefix: string;
  readonly newId: () => string;
}

export class DataGeneration {
  readonly #options: GenerationOptions;
  /** Looks follow one another, so that revisions are compared in the order in which they were read. */
  #last: Promise<unknown> = Promise.resolve();
  #known: Generation | null = null;

  constructor(options: GenerationOptions) {
    this.#options = options;
  }

  /** Reads the generation, and begins one where there is none. Rejects with an EtcdFault. */
  look(options: CallOptions = {}): Promise<Generation> {
    const look = this.#last.then(() => this.#look(options));
    this.#last = look.catch(() => {});
    return look;
  }

  /** The conditions for taking a lease: the generation is this one, and older than any lease. */
  conditionsOf({ id }: Generation): readonly EtcdCompare[] {
    return [
      { key: this.#key, target: "VALUE", value: id },
      { key: this.#youngKey, target: "CREATE", revision: 0 },
    ];
  }

  async #look(options: CallOptions): Promise<Generation> {
    const { calls } = this.#options;
    const { newestRevision } = calls;
    const { header, record } = await calls.read(this.#key, options);
    if (record === null) return this.#begin([{ key: this.#key, target: "CREATE", revision: 0 }]);
    const known = this.#known;
    const isOld = header.revision < newestRevision || (known !== null && known.header.clusterId !== header.clusterId);
    if (known !== null && known.id === record.value && isOld)
      return this.#begin([{ key: this.#key, target: "MOD", revision: record.modRevision }]);
    return this.#found(record.value, header);
  }

  #found(id: string, header: EtcdHeader): Generation {
    if (this.#known?.id !== id) this.#options.calls.beginAt(header.revision);
    this.#known = { id, header };
    return this.#known;
  }

  /** One brain begins it, the others find it. */
  async #begin(when: readonly EtcdCompare[]): Promise<Generation> {
    const { calls, newId } = this.#options;
    const lease = await calls.grantLease(YOUNG_SECONDS);
    await calls.txn({
      compare: when,
      success: [
        { kind: "put", key: this.#key, value: newId() },
        { kind: "put", key: this.#youngKey, value: "", lease },
      ],
      failure: [],
    });
    const { header, record } = await calls.read(this.#key);
    if (record === null) throw new EtcdFault("no_majority", "etcd loses what it has acknowledged");
    return this.#found(record.value, header);
  }

  get #key(): string {
    return `${this.#options.prefix}generation`;
  }

  get #youngKey(): string {
    return `${this.#options.prefix}generation-young`;
  }
}
