/**
 * A lease of the cluster in etcd: one brain at a time holds it, for as long as its own clock says that etcd keeps it. A
 * brain that was frozen sees that its time is over before it acts again. A key that is bound to an etcd lease of 15 s.
 */
import type { Clock } from "../../system/clock.ts";
import { Pause } from "../../system/pause.ts";
import type { Timers } from "../../system/timers.ts";
import type { Lease } from "../lease.ts";
import type { DataGeneration } from "./data-generation.ts";
import type { EtcdApi } from "./etcd-calls.ts";
import { EtcdFault } from "./etcd-fault.ts";
import { isWithin, LEASE_SECONDS, type Moment, momentOf } from "./lease-terms.ts";

/** Three attempts within a lease. */
const RENEW_MS = 4000;
const TRY_AGAIN_MS = 1000;

interface EtcdLeaseOptions {
  readonly calls: EtcdApi;
  readonly generation: DataGeneration;
  /** The whole key. */
  readonly key: string;
  /** This brain's name: others see it in the key. */
  readonly own: string;
  readonly clock: Clock;
  readonly timers: Pick<Timers, "after">;
  readonly onChange: (isHeld: boolean) => void;
}

interface Held {
  readonly id: string;
  readonly createRevision: number;
  readonly asked: Moment;
  readonly seconds: number;
}

export class EtcdLease implements Lease {
  readonly #options: EtcdLeaseOptions;
  readonly #pause: Pause;
  #held: Held | null = null;
  #holder: string | null = null;
  /** When etcd last answered; null: never. */
  #answered: Moment | null = null;
  #isReported = false;
  #running: Promise<void> | null = null;
  #isClosed = false;

  constructor(options: EtcdLeaseOptions) {
    this.#options = options;
    this.#pause = new Pause(options.timers);
  }

  /** Right before each act: the answer holds for this moment only. */
  holds(): boolean {
    const held = this.#held;
    return held !== null && isWithin(held.asked, held.seconds, momentOf(this.#options.clock));
  }

  /** The brain that held it at the last look; null: none, or not known. */
  get holder(): string | null {
    return this.holds() ? this.#options.own : this.#holder;
  }

  /** Milliseconds since etcd answered last, by the monotonic clock; null: never. */
  get silenceMs(): number | null {
    return this.#answered === null ? null : this.#options.clock.monotonicMs() - this.#answered.monotonicMs;
  }

  start(): void {
    this.#running ??= this.#run();
  }

  /** Gives the lease back, so that another brain need not wait for its end. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#pause.end();
    await this.#running;
    const held = this.#held;
    this.#held = null;
    this.#report();
    if (held !== null) await this.#options.calls.revokeLease(held.id).catch(() => {});
  }

  async #run(): Promise<void> {
    while (!this.#isClosed) {
      const isGood = await this.#step().catch((cause: unknown) => {
        if (!(cause instanceof EtcdFault)) throw cause;
        return false;
      });
      if (!this.holds()) this.#held = null;
      this.#report();
      if (!this.#isClosed) await this.#pause.wait(isGood && this.#held !== null ? RENEW_MS : TRY_AGAIN_MS);
    }
  }

  async #step(): Promise<boolean> {
    const isGood = this.#held === null ? await this.#take() : await this.#renew(this.#held);
    this.#answered = momentOf(this.#options.clock);
    return isGood;
  }

  async #take(): Promise<boolean> {
    const { calls, generation, key, own, clock } = this.#options;
    const present = await generation.look();
    const { record } = await calls.read(key);
    this.#holder = record?.value ?? null;
    if (record !== null) return false;
    const asked = momentOf(clock);
    const id = await calls.grantLease(LEASE_SECONDS);
    const { isDone, header } = await calls.txn({
      compare: [{ key, target: "CREATE", revision: 0 }, ...generation.conditionsOf(present)],
      success: [{ kind: "put", key, value: own, lease: id }],
      failure: [],
    });
    if (isDone) this.#held = { id, createRevision: header.revision, asked, seconds: LEASE_SECONDS };
    else await calls.revokeLease(id).catch(() => {});
    return isDone;
  }

  /** Its key is looked at too: an older backup may have the lease without it. */
  async #renew(held: Held): Promise<boolean> {
    const { calls, key, own, clock } = this.#options;
    const asked = momentOf(clock);
    const seconds = await calls.keepLease(held.id);
    const { record } = await calls.read(key);
    const isOwn = record?.value === own && record.createRevision === held.createRevision;
    this.#held = seconds > 0 && isOwn ? { ...held, asked, seconds: Math.min(seconds, LEASE_SECONDS) } : null;
    return this.#held !== null;
  }

  #report(): void {
    const isHeld = this.holds();
    if (isHeld === this.#isReported) return;
    this.#isReported = isHeld;
    this.#options.onChange(isHeld);
  }
}
