/** Slots of edge nodes in etcd: one key for each zone, bound to an etcd lease as long as a slot lasts. */
import type { SlotAgreement, SlotClaim } from "../../edge/zones/slot-agreement.ts";
import { SLOT_LEASE_MS, ZONES_MAX } from "../../limits.ts";
import type { EtcdApi } from "./etcd-calls.ts";
import { EtcdFault } from "./etcd-fault.ts";
import type { EtcdRecord } from "./etcd-wire.ts";

/** Above that of the slot at the brain, which is over first. */
const LEASE_SECONDS = SLOT_LEASE_MS / 1000 + 10;

/** The value of a key. */
interface Slot {
  readonly node: string;
  readonly lease: string;
}

export class EtcdSlots implements SlotAgreement {
  readonly #calls: EtcdApi;
  readonly #prefix: string;

  /** @param prefix of all keys of the cluster */
  constructor(calls: EtcdApi, prefix: string) {
    this.#calls = calls;
    this.#prefix = `${prefix}acme/slots/`;
  }

  async take(node: string, zone: string): Promise<SlotClaim> {
    try {
      return await this.#take(node, this.#prefix + encodeURIComponent(zone));
    } catch (cause) {
      return or(cause, { kind: "unavailable" });
    }
  }

  async isHolder(node: string, zone: string): Promise<boolean> {
    try {
      const { record } = await this.#calls.read(this.#prefix + encodeURIComponent(zone));
      return slotIn(record)?.node === node;
    } catch (cause) {
      return or(cause, false);
    }
  }

  async release(node: string, zone: string | null): Promise<void> {
    try {
      const records =
        zone === null
          ? (await this.#calls.list(this.#prefix, ZONES_MAX)).records
          : [(await this.#calls.read(this.#prefix + encodeURIComponent(zone))).record];
      const leases = records.map(slotIn).flatMap((slot) => (slot?.node === node ? [slot.lease] : []));
      // The key goes with its lease.
      await Promise.all(leases.map((lease) => this.#calls.revokeLease(lease)));
    } catch (cause) {
      or(cause, null);
    }
  }

  async #take(node: string, key: string): Promise<SlotClaim> {
    const { record } = await this.#calls.read(key);
    const present = slotIn(record);
    if (present !== null && present.node !== node) return { kind: "held", holder: present.node };
    if (present !== null && (await this.#calls.keepLease(present.lease)) > 0) return { kind: "taken" };
    const lease = await this.#calls.grantLease(LEASE_SECONDS);
    const { isDone, found } = await this.#calls.txn({
      compare: [{ key, target: "MOD", revision: record?.modRevision ?? 0 }],
      success: [{ kind: "put", key, value: JSON.stringify({ node, lease }), lease }],
      failure: [{ kind: "range", key }],
    });
    if (isDone) return { kind: "taken" };
    await this.#calls.revokeLease(lease);
    const holder = slotIn(found[0] ?? null)?.node;
    return holder === undefined || holder === node ? { kind: "unavailable" } : { kind: "held", holder };
  }
}

/** null: none, or text that is not one. */
function slotIn(record: EtcdRecord | null): Slot | null {
  if (record === null) return null;
  try {
    const { node, lease } = JSON.parse(record.value) as Partial<Slot>;
    return typeof node === "string" && typeof lease === "string" ? { node, lease } : null;
  } catch {
    return null;
  }
}

/** For a fault of etcd; what else fails is a bug. */
function or<Answer>(cause: unknown, answer: Answer): Answer {
  if (cause instanceof EtcdFault) return answer;
  throw cause;
}
