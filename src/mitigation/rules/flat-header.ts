/**
 * The header of a packet as the search for rules reads it: ports and flags as plain numbers, and the kinds of packets
 * that it is of, each found once. Pure.
 */
import { vectorOf } from "../../detection/attack/classifier.ts";
import { classOf } from "../../detection/attack/ordinary-traffic.ts";
import type { Vector } from "../../detection/attack/vector.ts";
import type { IpAddress } from "../../net/address.ts";
import type { PacketHeader } from "../../traffic/packet-header.ts";
import { isNeverOfUsers } from "./never-of-users.ts";

/** In place of a port, or of flags, that a packet does not have. */
export const NONE = -1;

export class FlatHeader implements PacketHeader {
  readonly protocol: number;
  readonly ports: PacketHeader["ports"];
  readonly tcpFlags: number | null;
  readonly fragment: PacketHeader["fragment"];
  readonly packetBytes: number;
  /** NONE: the packet has no ports. */
  readonly sourcePort: number;
  readonly destinationPort: number;
  /** NONE: the packet has no TCP flags. */
  readonly flags: number;
  readonly vector: Vector | null;
  readonly #addresses: PacketHeader;
  #class: string | null = null;
  #kind: string | null = null;
  #isNever: boolean | null = null;

  /** @param addresses another header, whose addresses it has. */
  constructor(of: PacketHeader, addresses = of) {
    const { protocol, ports, tcpFlags, fragment, packetBytes } = of;
    this.protocol = protocol;
    this.ports = ports;
    this.tcpFlags = tcpFlags;
    this.fragment = fragment;
    this.packetBytes = packetBytes;
    this.sourcePort = ports === null ? NONE : ports.source;
    this.destinationPort = ports === null ? NONE : ports.destination;
    this.flags = tcpFlags ?? NONE;
    this.vector = of instanceof FlatHeader ? of.vector : vectorOf(of);
    this.#addresses = addresses;
  }

  get source(): IpAddress {
    return this.#addresses.source;
  }

  get destination(): IpAddress {
    return this.#addresses.destination;
  }

  /** See classOf(). */
  get class(): string {
    this.#class ??= classOf(this, this.vector);
    return this.#class;
  }

  /** Equal for packets that a rule may start from together. */
  get kind(): string {
    this.#kind ??= kindOf(this);
    return this.#kind;
  }

  /** See isNeverOfUsers(). */
  get isNever(): boolean {
    this.#isNever ??= isNeverOfUsers(this);
    return this.#isNever;
  }
}

export function flatHeader(header: PacketHeader): FlatHeader {
  return header instanceof FlatHeader ? header : new FlatHeader(header);
}

function kindOf({ protocol, fragment, tcpFlags, vector }: FlatHeader): string {
  // Later fragments show nothing but their protocol. Flags that no system combines are apart from segments.
  if (fragment === "later") return `later ${protocol}`;
  if (vector === null) return "other protocols";
  return vector === "tcp_flood" ? `${vector} ${tcpFlags}` : `${vector} ${protocol}`;
}
