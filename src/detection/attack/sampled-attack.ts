/**
 * One attack with its sampled packets and the profile of its host: decoded when they are read, or sent to another
 * thread, which decodes them there.
 */
import type { Attack } from "./attack.ts";
import { attackTraffic } from "./attack-traffic.ts";
import { PacketColumns, type PacketMessage } from "./packet-columns.ts";
import type { SampledPacket } from "./sample.ts";
import { type ProfileMessage, partOf, profileFrom, profileMessage, type TrafficProfile } from "./traffic-profile.ts";

/** The input of rules besides packets. */
export type CountedAttack = Pick<
  Attack,
  "direction" | "metric" | "threshold" | "thresholds" | "rates" | "classification"
>;

export interface AttackMessage {
  readonly attack: CountedAttack;
  readonly packets: PacketMessage;
  readonly profile: ProfileMessage | null;
}

export class SampledAttack {
  readonly attack: CountedAttack;
  readonly #columns: PacketColumns;
  readonly #profile: TrafficProfile | null;
  #packets: readonly SampledPacket[] | null = null;
  #part: TrafficProfile | null = null;

  constructor(attack: CountedAttack, columns: PacketColumns, profile: TrafficProfile | null) {
    this.attack = attack;
    this.#columns = columns;
    this.#profile = profile;
  }

  static of({ attack, packets, profile }: AttackMessage): SampledAttack {
    return new SampledAttack(attack, PacketColumns.of(packets), profile === null ? null : profileFrom(profile));
  }

  /** Those that the attack's metrics count, of the attack and of users. */
  get packets(): readonly SampledPacket[] {
    if (this.#packets === null) {
      const { isPartOf } = attackTraffic(this.attack);
      this.#packets = this.#columns.packets().filter(({ header }) => isPartOf(header));
    }
    return this.#packets;
  }

  /** The host's traffic before the attack, of packets that the attack's metrics count; null: not known. */
  get profile(): TrafficProfile | null {
    if (this.#profile === null) return null;
    this.#part ??= partOf(this.#profile, attackTraffic(this.attack).isPartOf);
    return this.#part;
  }

  /** Whether both are of the same reading. */
  isOfSample(other: SampledAttack): boolean {
    return this.#columns === other.#columns;
  }

  /** A copy. */
  message(): AttackMessage {
    const { direction, metric, threshold, classification, rates, thresholds } = this.attack;
    const counted = { direction, metric, threshold, classification };
    return {
      // Rates may be a view of the rates of all hosts.
      attack: { ...counted, rates: Array.from(rates), thresholds: Array.from(thresholds) },
      packets: this.#columns.message(),
      profile: this.#profile === null ? null : profileMessage(this.#profile),
    };
  }
}
