/**
 * Traffic of the hosts with much of the sampled traffic from before they were attacked: many headers and the rate of
 * each. The few packets that the counter keeps of every host (traffic-profile.ts) serve for the others.
 */
import { ADDRESS_BYTES, type IpAddress } from "../../net/address.ts";
import { HeaderRecords, type HeaderSamples } from "../../traffic/header-record.ts";
import { decodeHeader } from "../../traffic/packet-header.ts";
import { outcomeOf } from "../../traffic/packet-outcome.ts";
import { type MinuteHeader, MinuteSample } from "./minute-sample.ts";
import { PacketReservoir } from "./packet-reservoir.ts";
import { looksLikeUser, RecentUsers } from "./recent-users.ts";
import { seededDraws } from "./seeded-draws.ts";
import { SampledProfile, type TrafficProfile } from "./traffic-profile.ts";

/** Hosts, and the packets of all of them: 11 MB. */
const BUSY_HOSTS_MAX = 512;
const BUSY_PACKETS_MAX = 65_536;
/** Headers in one pass, the newest of all hosts: about a millisecond to decode. */
const HEADERS_READ = 1024;
/** A host with fewer sampled packets in a pass is no candidate for a place in a full table. */
const CANDIDATE_PACKETS_MIN = 4;
/** More packets of one host do not improve its profile. */
const HOST_PACKETS_MAX = 1024;
/** In this time a profile forgets half, ms: long enough for quiet services, short enough for the time of day. */
const HALF_LIFE_MS = 600_000;
/** Packets become part of a profile this long after an attack that began with them would be found, ms. */
const DELAY_MS = 500;

interface Profiled {
  readonly packets: PacketReservoir;
  /** Packets and seconds, faded; monotonic ms of the last pass that is in them. */
  sum: number;
  seconds: number;
  atMs: number;
}

interface Pass {
  readonly atMs: number;
  readonly seconds: number;
  readonly records: HeaderRecords;
  readonly byHost: ReadonlyMap<IpAddress, readonly Learned[]>;
}

interface Learned {
  /** The index of the record. */
  readonly index: number;
  /** The source; null: none that looks like a user. */
  readonly user: IpAddress | null;
}

export class BusyProfiles {
  readonly #headers: HeaderSamples;
  readonly #seed: number;
  readonly #profiles = new Map<IpAddress, Profiled>();
  /** Users of hosts that were not attacked. */
  readonly users = new RecentUsers();
  /** All protected hosts, attacked ones too. */
  readonly minute: MinuteSample;
  readonly #anywhere = new Uint8Array(ADDRESS_BYTES);
  /** Oldest first. */
  #pending: Pass[] = [];
  #lastMs: number | null = null;

  constructor(headers: HeaderSamples, seed: number) {
    this.#headers = headers;
    this.#seed = seed;
    this.minute = new MinuteSample(seededDraws(seed, "minute"));
  }

  /** Call about once a second. @param isAttacked hosts from which nothing is learned. */
  learn(nowMs: number, hosts: Hosts): void {
    const { isAttacked, isInAttack = isAttacked, foundAfterMs } = hosts;
    const last = this.#lastMs;
    this.#lastMs = nowMs;
    if (last === null || nowMs <= last) return;
    // The headers of an attack that was found meanwhile are not learned.
    const isKept = (host: IpAddress) => !isAttacked(host);
    this.#pending = this.#pending.map((pass) => ({
      ...pass,
      byHost: new Map([...pass.byHost].filter(([host]) => isKept(host))),
    }));
    this.minute.attacked(isInAttack, nowMs - foundAfterMs - DELAY_MS);
    this.#pending.push(this.#read(nowMs, nowMs - last, { ...hosts, isInAttack }));
    while (nowMs - (this.#pending[0]?.atMs ?? nowMs) >= foundAfterMs + DELAY_MS)
      this.#add(this.#pending.shift() as Pass);
  }

  /** null: nothing is known of the host. */
  of(host: IpAddress): TrafficProfile | null {
    const profile = this.#profiles.get(host);
    if (profile === undefined) return null;
    const { packets, sum, seconds } = profile;
    return new SampledProfile(packets.columns().copy(), seconds === 0 ? null : sum / seconds);
  }

  get size(): number {
    return this.#profiles.size;
  }

  #read(atMs: number, elapsedMs: number, { isProtected, isAttacked, isInAttack }: Required<Hosts>): Pass {
    const records = new HeaderRecords(HEADERS_READ);
    const count = this.#headers.readSamples(this.#anywhere, records.bytes, 0);
    const byHost = new Map<IpAddress, Learned[]>();
    const minute: MinuteHeader[] = [];
    let spanMs = 0;
    for (let i = 0; i < count; i++) {
      const ageMs = records.ageMs(i);
      if (ageMs >= elapsedMs) continue;
      spanMs = Math.max(spanMs, ageMs);
      const header = decodeHeader(records.frame(i));
      if (header === null || !isProtected(header.destination)) continue;
      const verdict = records.verdict(i);
      const [wireBytes, packets] = [records.wireBytes(i), records.standsFor(i)];
      minute.push({ header, wireBytes, packets, isAttacked: isInAttack(header.destination), verdict });
      if (isAttacked(header.destination)) continue;
      // A source that the data plane drops already is no user.
      const isThrough = verdict === null || outcomeOf(verdict) === "passed";
      const learned = { index: i, user: isThrough && looksLikeUser(header) ? header.source : null };
      const known = byHost.get(header.destination);
      if (known === undefined) byHost.set(header.destination, [learned]);
      else known.push(learned);
    }
    // The newest headers of a busy counter may be those of a few ticks. Ages are whole ticks.
    const seconds = (count < HEADERS_READ ? elapsedMs : Math.min(elapsedMs, spanMs + 100)) / 1000;
    const factor = elapsedMs / 1000 / seconds;
    const inFull = minute.map((one) => ({ ...one, packets: one.packets * factor }));
    this.minute.add(atMs, elapsedMs / 1000, inFull);
    return { atMs, seconds, records, byHost };
  }

  #add({ atMs, seconds, records, byHost }: Pass): void {
    const factor = 0.5 ** ((seconds * 1000) / HALF_LIFE_MS);
    for (const [host, learned] of byHost) {
      for (const { user } of learned) if (user !== null) this.users.add(user, atMs);
      const indices = learned.map(({ index }) => index);
      const profile = this.#profiles.get(host) ?? this.#begin(host, indices.length, atMs - 1000 * seconds);
      if (profile === null) continue;
      const own = profile.packets;
      own.fade(factor);
      own.resize(this.#packetsEach());
      for (const index of indices) own.offer(records, index);
      // A pass that reads a part of the time alone has a part of the whole.
      const elapsed = (atMs - profile.atMs) / 1000;
      const counted = indices.reduce((sum, index) => sum + records.standsFor(index), 0) / seconds;
      const faded = 0.5 ** ((1000 * elapsed) / HALF_LIFE_MS);
      profile.sum = profile.sum * faded + counted * Math.min(elapsed, 1);
      profile.seconds = profile.seconds * faded + elapsed;
      profile.atMs = atMs;
      // The most recently seen host is last.
      this.#profiles.delete(host);
      this.#profiles.set(host, profile);
    }
  }

  /** A host that is new in a full table replaces the one that was not seen for longest. */
  #begin(host: IpAddress, packets: number, atMs: number): Profiled | null {
    if (this.#profiles.size >= BUSY_HOSTS_MAX) {
      if (packets < CANDIDATE_PACKETS_MIN) return null;
      const [oldest] = this.#profiles.keys();
      if (oldest !== undefined) this.#profiles.delete(oldest);
    }
    const profile = {
      packets: new PacketReservoir(this.#packetsEach(), seededDraws(this.#seed, "profile", host)),
      sum: 0,
      seconds: 0,
      atMs,
    };
    this.#profiles.set(host, profile);
    return profile;
  }

  #packetsEach(): number {
    return Math.min(HOST_PACKETS_MAX, Math.floor(BUSY_PACKETS_MAX / Math.max(1, this.#profiles.size)));
  }
}

interface Hosts {
  /** Inside of the configured networks. */
  readonly isProtected: (host: IpAddress) => boolean;
  readonly isAttacked: (host: IpAddress) => boolean;
  /** The same for hosts that are attacked as a part of a prefix or a hostgroup, too. Absent: isAttacked. */
  readonly isInAttack?: (host: IpAddress) => boolean;
  /** An attack is found at most this long after it began, ms. */
  readonly foundAfterMs: number;
}
