/**
 * Takes the flow sample of each attack: once at its detection, and again while that showed too few packets, since the
 * packet counter keeps more of a host's headers once it watches it. Knows the attacks whose sample is not complete.
 */
import { addressToBytes, type IpAddress } from "../net/address.ts";
import { HEADER_RECORD_BYTES, type HeaderSamples, headerRecord } from "../traffic/header-record.ts";
import { decodeHeader } from "../traffic/packet-header.ts";
import type { Direction } from "../traffic/rates.ts";
import type { Attack, Now } from "./attack.ts";
import type { AttackChange } from "./detector.ts";
import { type Sample, type SampleBounds, type SampledPacket, sampleOf } from "./sample.ts";

/** With so many packets a sample is complete: a sender of a tenth of them is all but certain to be in it. */
export const ENOUGH_PACKETS = 64;
/** A sample is of the detection: after so long it stays as it is, ms. */
export const COMPLETION_MS = 1000;
/** Headers read at once, unless `samples.per_attack_flows` asks for more: more tell no more, and cost milliseconds. */
export const HEADERS_READ = 256;

export interface SamplingPolicy extends SampleBounds {
  /** Packets from before the window that tripped have no part in the attack. */
  readonly windowMs: number;
}

export interface SampledAttack {
  /** Of the attack. */
  readonly id: string;
  readonly target: IpAddress;
  readonly sample: Sample;
  /** No further reading follows. */
  readonly isComplete: boolean;
}

interface Waiting {
  readonly target: IpAddress;
  readonly direction: Direction;
  /** Monotonic ms. */
  readonly detectedMs: number;
}

export class AttackSampler {
  readonly #headers: HeaderSamples;
  #policy: SamplingPolicy | null = null;
  /** By attack, in the order of their next reading. */
  readonly #waiting = new Map<string, Waiting>();
  #records = new Uint8Array(0);

  /** @param policy null: sampling is off. */
  constructor(headers: HeaderSamples, policy: SamplingPolicy | null) {
    this.#headers = headers;
    this.reconfigure(policy);
  }

  /** Attacks that have a sample keep it. */
  reconfigure(policy: SamplingPolicy | null): void {
    this.#policy = policy;
    if (policy === null) this.#waiting.clear();
    else this.#records = new Uint8Array(Math.max(HEADERS_READ, policy.flows) * HEADER_RECORD_BYTES);
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  attacksChanged(changes: readonly AttackChange[], now: Now): void {
    for (const { kind, attack } of changes) {
      if (kind === "started") this.begin(attack, now);
      else if (kind === "ended") this.#waiting.delete(attack.id);
    }
  }

  /** An attack on a hostgroup has no sample: headers are kept by host. */
  begin({ id, target, direction }: Attack, now: Now): void {
    if (this.#policy === null || target === null) return;
    this.#waiting.set(id, { target, direction, detectedMs: now.monotonicMs });
  }

  /**
   * One reading for each attack that waits, the longest without one first. A reading takes a millisecond or more: a
   * caller with other work leaves off, and the rest have their turn the next time.
   */
  *readings(now: Now): Generator<SampledAttack> {
    for (const [id, waiting] of [...this.#waiting]) {
      if (this.#policy === null) return;
      const elapsedMs = now.monotonicMs - waiting.detectedMs;
      // To the end first: a reading that fails must not be the next one too.
      this.#waiting.delete(id);
      this.#waiting.set(id, waiting);
      const { target } = waiting;
      const packets = this.#packets(target, waiting.direction, this.#policy.windowMs + elapsedMs);
      const isComplete = packets.length >= ENOUGH_PACKETS || elapsedMs >= COMPLETION_MS;
      if (isComplete) this.#waiting.delete(id);
      yield { id, target, sample: sampleOf(packets, this.#policy), isComplete };
    }
  }

  /** The attack's packets, newest last, that are at most so old. */
  #packets(target: IpAddress, direction: Direction, ageMaxMs: number): SampledPacket[] {
    const end = direction === "incoming" ? "destination" : "source";
    const count = this.#headers.readSamples(addressToBytes(target), this.#records);
    const packets: SampledPacket[] = [];
    for (let i = 0; i < count; i++) {
      const { ageMs, wireBytes, frame } = headerRecord(this.#records, i);
      if (ageMs > ageMaxMs) continue;
      const header = decodeHeader(frame);
      if (header?.[end] === target) packets.push({ header, wireBytes });
    }
    return packets;
  }
}
