/**
 * Traffic of hosts from before they were attacked: some packets of each, which the packet counter keeps, and those of
 * an earlier process until the counter has enough of its own.
 */
import { HEADER_BITS, PROFILE_RECORD, PROFILE_ROW, PROFILED_HOSTS_MAX } from "../../native/constants.ts";
import { ADDRESS_BYTES, addressFromBytes, addressToBytes, type IpAddress, MAPPED_BITS } from "../../net/address.ts";
import { fragmentOf } from "../../traffic/header-record.ts";
import type { PacketHeader } from "../../traffic/packet-header.ts";
import { PacketColumns, type PacketMessage } from "./packet-columns.ts";
import type { SampledPacket } from "./sample.ts";

export interface TrafficProfile {
  readonly packets: readonly SampledPacket[];
  /** The rate that these packets are a sample of; null: not known. */
  readonly packetsPerSecond: number | null;
}

/** The message with a profile to another thread. */
export type ProfileMessage =
  | { readonly kind: "kept"; readonly host: IpAddress; readonly records: Uint8Array; readonly rate: number | null }
  | { readonly kind: "sampled"; readonly packets: PacketMessage; readonly rate: number | null }
  | { readonly kind: "decoded"; readonly profile: TrafficProfile };

export function profileMessage(profile: TrafficProfile): ProfileMessage {
  if (profile instanceof KeptProfile || profile instanceof SampledProfile) return profile.message();
  return { kind: "decoded", profile };
}

export function profileFrom(message: ProfileMessage): TrafficProfile {
  switch (message.kind) {
    case "kept":
      return new KeptProfile(message.host, message.records, message.rate);
    case "sampled":
      return new SampledProfile(PacketColumns.of(message.packets), message.rate);
    case "decoded":
      return message.profile;
    default:
      return message satisfies never;
  }
}

/** The profile of some of the packets. */
export function partOf(profile: TrafficProfile, isPart: (header: PacketHeader) => boolean): TrafficProfile {
  const packets = profile.packets.filter(({ header }) => isPart(header));
  const weightOf = (some: readonly SampledPacket[]) => some.reduce((sum, { standsFor }) => sum + standsFor, 0);
  const share = weightOf(packets) / (weightOf(profile.packets) || 1);
  const rate = profile.packetsPerSecond;
  return { packets, packetsPerSecond: rate === null ? null : rate * share };
}

interface ProfilesOfSome {
  /** null: nothing is known of the host. */
  of(host: IpAddress): TrafficProfile | null;
}

/** The part of the packet counter that is used: see Engine in src/dataplane/native.d.ts. */
export interface ProfileSource {
  setProfileDelay(ms: number): void;
  readProfile(address: Uint8Array, out: Uint8Array): number;
  readProfiles(cursor: number, out: Uint8Array): { readonly next: number; readonly count: number };
}

/** Packets of one host over all workers. */
const PACKETS_READ = 4 * PROFILE_ROW.recordsMax;
/** Packets become part of a profile this long after an attack that began with them would be found, ms. */
const DELAY_MS = 500;
const IPV4_BYTES = 4;

export class TrafficProfiles {
  readonly #source: ProfileSource;
  readonly #busy: ProfilesOfSome;
  readonly #records = new Uint8Array(PACKETS_READ * PROFILE_RECORD.bytes);
  /** PROFILE_RECORDs by host, of an earlier process. */
  readonly #restored = new Map<IpAddress, Uint8Array>();

  /** @param busy finer profiles of the hosts with most of the traffic. */
  constructor(source: ProfileSource, busy: ProfilesOfSome) {
    this.#source = source;
    this.#busy = busy;
  }

  /** @param foundAfterMs an attack is found at most this long after it began, ms. */
  configure(foundAfterMs: number): void {
    this.#source.setProfileDelay(foundAfterMs + DELAY_MS);
  }

  /** Call it at the start of an attack: packets of the attack are not in it. null: nothing is known of the host. */
  of(host: IpAddress): TrafficProfile | null {
    const busy = this.#busy.of(host);
    if (busy !== null && busy.packets.length >= PROFILE_ROW.recordsMax) return busy;
    const count = this.#source.readProfile(addressToBytes(host), this.#records);
    const counted = this.#records.slice(0, count * PROFILE_RECORD.bytes);
    const records = completed(counted, this.#restored.get(host));
    return records.length === 0 ? busy : new KeptProfile(host, records, busy?.packetsPerSecond ?? null);
  }

  /** The packets of a host in an earlier process; refused beyond the bound. */
  restore(address: Uint8Array, records: Uint8Array): boolean {
    const host = addressFromBytes(address);
    const known = this.#restored.get(host);
    if (known === undefined && this.#restored.size >= PROFILED_HOSTS_MAX) return false;
    // A host that several workers counted.
    this.#restored.set(host, known === undefined ? records : completed(records, known));
    return true;
  }

  /** Those of an earlier process to which the counter has nothing to add so far, and no others. */
  *restored(): Generator<{ readonly host: IpAddress; readonly records: Uint8Array }> {
    for (const [host, records] of this.#restored) yield { host, records };
  }

  /** The profiles of the counter, a chunk at a time. Restored profiles are removed once a host has a new one. */
  *counted(): Generator<{ readonly rows: Uint8Array; readonly count: number }> {
    const rows = new Uint8Array(CHUNK_ROWS * PROFILE_ROW.bytes);
    const counts = new DataView(rows.buffer);
    for (let cursor = 0; cursor >= 0; ) {
      const { next, count } = this.#source.readProfiles(cursor, rows);
      for (let i = 0; i < count; i++) {
        const at = i * PROFILE_ROW.bytes;
        const isFull = counts.getUint32(at + PROFILE_ROW.count, true) === PROFILE_ROW.recordsMax;
        if (isFull) this.#restored.delete(addressFromBytes(rows, at + PROFILE_ROW.address));
      }
      yield { rows, count };
      cursor = next;
    }
  }
}

/** Rows in one crossing: 0.4 MB. */
const CHUNK_ROWS = 256;

/** The records with as many of the others as a full profile lacks. */
function completed(records: Uint8Array, others: Uint8Array | undefined): Uint8Array {
  const missing = PROFILE_ROW.recordsMax * PROFILE_RECORD.bytes - records.length;
  if (others === undefined || missing <= 0) return records;
  const both = new Uint8Array(records.length + Math.min(missing, others.length));
  both.set(records);
  both.set(others.subarray(0, both.length - records.length), records.length);
  return both;
}

/** Decoded when it is looked at, as is the next one: a thousand attacks may begin in one tick. */
export class SampledProfile implements TrafficProfile {
  readonly #columns: PacketColumns;
  readonly packetsPerSecond: number | null;

  /** @param columns that nothing changes later. */
  constructor(columns: PacketColumns, packetsPerSecond: number | null) {
    this.#columns = columns;
    this.packetsPerSecond = packetsPerSecond;
  }

  get packets(): readonly SampledPacket[] {
    return this.#columns.packets();
  }

  message(): ProfileMessage {
    return { kind: "sampled", packets: this.#columns.message(), rate: this.packetsPerSecond };
  }
}

class KeptProfile implements TrafficProfile {
  readonly #host: IpAddress;
  readonly #records: Uint8Array;
  readonly packetsPerSecond: number | null;
  #packets: readonly SampledPacket[] | null = null;

  constructor(host: IpAddress, records: Uint8Array, packetsPerSecond: number | null) {
    this.#host = host;
    this.#records = records;
    this.packetsPerSecond = packetsPerSecond;
  }

  get packets(): readonly SampledPacket[] {
    this.#packets ??= this.#decoded();
    return this.#packets;
  }

  message(): ProfileMessage {
    return { kind: "kept", host: this.#host, records: this.#records, rate: this.packetsPerSecond };
  }

  #decoded(): SampledPacket[] {
    const { buffer, byteOffset, length } = this.#records;
    const view = new DataView(buffer, byteOffset, length);
    return Array.from({ length: length / PROFILE_RECORD.bytes }, (_, i) =>
      this.#packet(view, i * PROFILE_RECORD.bytes),
    );
  }

  #packet(view: DataView, at: number): SampledPacket {
    const bits = view.getUint8(at + PROFILE_RECORD.headerBits);
    const packetBytes = view.getUint16(at + PROFILE_RECORD.packetBytes, true);
    const ports = {
      source: view.getUint16(at + PROFILE_RECORD.sourcePort, true),
      destination: view.getUint16(at + PROFILE_RECORD.destinationPort, true),
    };
    return {
      header: new KeptHeader(view, at, {
        destination: this.#host,
        protocol: view.getUint8(at + PROFILE_RECORD.protocol),
        ports: (bits & HEADER_BITS.ports) === 0 ? null : ports,
        tcpFlags: (bits & HEADER_BITS.tcpFlags) === 0 ? null : view.getUint8(at + PROFILE_RECORD.tcpFlags),
        fragment: fragmentOf(bits),
        packetBytes,
      }),
      wireBytes: packetBytes + view.getUint8(at + PROFILE_RECORD.frameBytes),
      standsFor: view.getFloat32(at + PROFILE_RECORD.standsFor, true),
    };
  }
}

/** The text of its source is made when it is read, which is seldom. A copy by spreading would lack it. */
class KeptHeader implements PacketHeader {
  readonly destination: IpAddress;
  readonly protocol: number;
  readonly ports: PacketHeader["ports"];
  readonly tcpFlags: number | null;
  readonly fragment: PacketHeader["fragment"];
  readonly packetBytes: number;
  readonly #view: DataView;
  readonly #at: number;

  constructor(view: DataView, at: number, fields: Omit<PacketHeader, "source">) {
    this.destination = fields.destination;
    this.protocol = fields.protocol;
    this.ports = fields.ports;
    this.tcpFlags = fields.tcpFlags;
    this.fragment = fields.fragment;
    this.packetBytes = fields.packetBytes;
    this.#view = view;
    this.#at = at;
  }

  get source(): IpAddress {
    const bits = this.#view.getUint8(this.#at + PROFILE_RECORD.headerBits);
    return sourceIn(this.#view, this.#at, (bits & HEADER_BITS.ipv6) !== 0);
  }
}

const SOURCE = new Uint8Array(ADDRESS_BYTES);

/** An IPv6 source is its /64, whose hosts are of one network. */
function sourceIn(view: DataView, at: number, isIpv6: boolean): IpAddress {
  SOURCE.fill(0);
  if (!isIpv6) SOURCE.fill(0xff, 10, 12);
  const [from, length] = isIpv6 ? [0, ADDRESS_BYTES / 2] : [MAPPED_BITS / 8, IPV4_BYTES];
  for (let i = 0; i < length; i++) SOURCE[from + i] = view.getUint8(at + PROFILE_RECORD.source + i);
  return addressFromBytes(SOURCE);
}
