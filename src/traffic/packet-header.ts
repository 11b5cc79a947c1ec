/**
 * Decodes the headers of one frame. The frame is from an attacker: no length in it is trusted. Decodes packets by the
 * same rules as the packet counter (addon/core/parse/packet_parser.h).
 */
import { ADDRESS_BYTES, addressFamily, addressFromBytes, type IpAddress, MAPPED_BITS } from "../net/address.ts";
import { readEthernet } from "./ethernet-tags.ts";
import { IP_PROTOCOL } from "./ip-protocol.ts";

export interface PacketHeader {
  /** `::` for an IPv6 packet with an IPv4-mapped source, which is not that IPv4 host. */
  readonly source: IpAddress;
  readonly destination: IpAddress;
  /** The last readable protocol number, after all extension headers. */
  readonly protocol: number;
  /** null for a protocol without ports, for later fragments, and if the frame ends before them. */
  readonly ports: { readonly source: number; readonly destination: number } | null;
  /** The low eight bits, FIN is 1; null as for ports. */
  readonly tcpFlags: number | null;
  /** Which fragment of a datagram; null: not fragmented. `first` also for an atomic fragment (RFC 6946). */
  readonly fragment: "first" | "later" | null;
  /** Length of the IP packet by its header, header included; 0 if the header does not specify it. */
  readonly packetBytes: number;
}

const IPV4_BYTES = 20;
const IPV6_BYTES = 40;
const FRAGMENT_BYTES = 8;
const EXTENSIONS_MAX = 8;

const ETHER_TYPE = { ipv4: 0x0800, ipv6: 0x86dd } as const;
/**
 * IPv6 extension headers whose length is in units of eight bytes, without the first unit (RFC 8200, 6275, 7401, 5533).
 */
const PLAIN_EXTENSIONS: readonly number[] = [0, 43, 60, 135, 139, 140];
const FRAGMENT_EXTENSION = 44;
const PROTOCOLS_WITH_PORTS: readonly number[] = [
  IP_PROTOCOL.tcp,
  IP_PROTOCOL.udp,
  IP_PROTOCOL.dccp,
  IP_PROTOCOL.sctp,
  IP_PROTOCOL.udplite,
];
const UNSPECIFIED = addressFromBytes(new Uint8Array(ADDRESS_BYTES));

/** The unread bytes. Call `has` before each read. */
class Cursor {
  readonly #bytes: Uint8Array;
  #at = 0;
  #end: number;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
    this.#end = bytes.length;
  }

  has(count: number): boolean {
    return this.#end - this.#at >= count;
  }

  u8(offset: number): number {
    return this.#bytes[this.#at + offset] as number;
  }

  u16(offset: number): number {
    return (this.u8(offset) << 8) | this.u8(offset + 1);
  }

  slice(offset: number, count: number): Uint8Array {
    return this.#bytes.subarray(this.#at + offset, this.#at + offset + count);
  }

  skip(count: number): void {
    this.#at += count;
  }

  /** Limits the packet to the length in its IP header; never extends it. */
  limit(count: number): void {
    this.#end = Math.min(this.#end, this.#at + count);
  }
}

/** @param frame from the start of the Ethernet header. null: no IP header with a destination. */
export function decodeHeader(frame: Uint8Array): PacketHeader | null {
  const inside = readEthernet(frame);
  if (inside === null) return null;
  const cursor = new Cursor(frame);
  cursor.skip(inside.at);
  if (inside.type === ETHER_TYPE.ipv4) return decodeIpv4(cursor);
  if (inside.type === ETHER_TYPE.ipv6) return decodeIpv6(cursor);
  return null;
}

function decodeIpv4(cursor: Cursor): PacketHeader | null {
  if (!cursor.has(IPV4_BYTES) || cursor.u8(0) >> 4 !== 4) return null;
  const headerBytes = (cursor.u8(0) & 0x0f) * 4;
  const totalBytes = cursor.u16(2);
  // Segmentation offload leaves a total of 0.
  if (headerBytes < IPV4_BYTES || (totalBytes !== 0 && totalBytes < headerBytes)) return null;
  const source = ipv4Address(cursor.slice(12, 4));
  const destination = ipv4Address(cursor.slice(16, 4));
  const protocol = cursor.u8(9);
  const offset = cursor.u16(6) & 0x1fff;
  const isFollowed = (cursor.u16(6) & 0x2000) !== 0;
  const fragment = offset !== 0 ? "later" : isFollowed ? "first" : null;
  if (totalBytes !== 0) cursor.limit(totalBytes);
  cursor.skip(headerBytes);
  const transport = decodeTransport(cursor, protocol, fragment);
  return { source, destination, protocol, ...transport, fragment, packetBytes: totalBytes };
}

function ipv4Address(bytes: Uint8Array): IpAddress {
  const mapped = new Uint8Array(ADDRESS_BYTES).fill(0xff, 10, 12);
  mapped.set(bytes, MAPPED_BITS / 8);
  return addressFromBytes(mapped);
}

function decodeIpv6(cursor: Cursor): PacketHeader | null {
  if (!cursor.has(IPV6_BYTES) || cursor.u8(0) >> 4 !== 6) return null;
  const claimed = addressFromBytes(cursor.slice(8, ADDRESS_BYTES));
  const destination = addressFromBytes(cursor.slice(24, ADDRESS_BYTES));
  if (addressFamily(destination) === 4) return null;
  const source = addressFamily(claimed) === 4 ? UNSPECIFIED : claimed;
  const payloadBytes = cursor.u16(4);
  const first = cursor.u8(6);
  cursor.skip(IPV6_BYTES);
  // 0 means a jumbogram or segmentation offload.
  if (payloadBytes !== 0) cursor.limit(payloadBytes);
  const { protocol, fragment } = skipExtensions(cursor, first);
  const transport = decodeTransport(cursor, protocol, fragment);
  const packetBytes = payloadBytes === 0 ? 0 : IPV6_BYTES + payloadBytes;
  return { source, destination, protocol, ...transport, fragment, packetBytes };
}

function skipExtensions(cursor: Cursor, first: number): Pick<PacketHeader, "protocol" | "fragment"> {
  let protocol = first;
  let fragment: PacketHeader["fragment"] = null;
  // A later fragment's header is followed by payload, whatever its next-header field is.
  for (let i = 0; i < EXTENSIONS_MAX && fragment !== "later"; i++) {
    const length = extensionBytes(cursor, protocol);
    if (length === null) break;
    if (protocol === FRAGMENT_EXTENSION) fragment = (cursor.u16(2) & 0xfff8) === 0 ? "first" : "later";
    if (!cursor.has(length)) break;
    protocol = cursor.u8(0);
    cursor.skip(length);
  }
  return { protocol, fragment };
}

/** null: no extension header, or one whose length cannot be read. */
function extensionBytes(cursor: Cursor, protocol: number): number | null {
  if (protocol === FRAGMENT_EXTENSION) return cursor.has(FRAGMENT_BYTES) ? FRAGMENT_BYTES : null;
  if (!cursor.has(2)) return null;
  if (PLAIN_EXTENSIONS.includes(protocol)) return (cursor.u8(1) + 1) * 8;
  return protocol === IP_PROTOCOL.ah ? (cursor.u8(1) + 2) * 4 : null;
}

function decodeTransport(
  cursor: Cursor,
  protocol: number,
  fragment: PacketHeader["fragment"],
): Pick<PacketHeader, "ports" | "tcpFlags"> {
  if (fragment === "later" || !PROTOCOLS_WITH_PORTS.includes(protocol) || !cursor.has(4)) {
    return { ports: null, tcpFlags: null };
  }
  const ports = { source: cursor.u16(0), destination: cursor.u16(2) };
  return { ports, tcpFlags: protocol === IP_PROTOCOL.tcp && cursor.has(14) ? cursor.u8(13) : null };
}
