/**
 * The Ethernet header with all that may be between it and what it carries: tags of switches, mirrors and taps, and LLC.
 * By the same rules as the packet counter (addon/core/parse/ethernet_tags.cpp), where they are explained.
 */

const ETHERNET_BYTES = 14;
const TYPE_BYTES = 2;
const TAGS_MAX = 8;
const LENGTH_MAX = 1500;
const IPV4 = 0x0800;

const CISCO_METADATA = 0x8909;
const ARISTA = 0xd28b;
/** VLAN tags (802.1Q, 802.1ad and its predecessor), VN-tag and E-tag: bytes after the type, without the next type. */
const PLAIN_TAGS: ReadonlyMap<number, number> = new Map([
  [0x8100, 2],
  [0x88a8, 2],
  [0x9100, 2],
  [0x8926, 4],
  [0x893f, 6],
]);
const SNAP: readonly number[] = [0xaa, 0xaa, 0x03, 0, 0, 0];
/** IPv4 directly in LLC. */
const LLC_IPV4: readonly number[] = [0x06, 0x06, 0x03];
/** By the low byte of the version: bytes of Arista's time. */
const TIME_BYTES: ReadonlyMap<number, number> = new Map([
  [0x10, 8],
  [0x20, 6],
]);

/** The type behind the header and its tags, and where it begins; null: the frame ends before, or has too many tags. */
export function readEthernet(frame: Uint8Array): { readonly type: number; readonly at: number } | null {
  if (frame.length < ETHERNET_BYTES) return null;
  let at = ETHERNET_BYTES;
  for (let tags = 0; ; tags++) {
    const type = u16(frame, at - TYPE_BYTES);
    const length = tagBytes(frame.subarray(at), type);
    if (length === null) {
      const isIpv4 = type <= LENGTH_MAX && beginsWith(frame.subarray(at), LLC_IPV4);
      return isIpv4 ? { type: IPV4, at: at + LLC_IPV4.length } : { type, at };
    }
    at += length + TYPE_BYTES;
    if (tags === TAGS_MAX || at > frame.length) return null;
  }
}

/** Bytes of a tag before the next type; null: no tag that can be read. */
function tagBytes(rest: Uint8Array, type: number): number | null {
  if (type <= LENGTH_MAX) return beginsWith(rest, SNAP) ? SNAP.length : null;
  if (type === CISCO_METADATA) {
    const words = rest[1] ?? 1;
    return (rest[0] ?? 1) === 1 && words > 0 ? 2 + words * 4 : null;
  }
  if (type !== ARISTA) return PLAIN_TAGS.get(type) ?? null;
  if (rest.length >= 4 && u16(rest, 0) !== 1) return null;
  const time = TIME_BYTES.get(rest[3] ?? 0x10);
  return time === undefined ? null : 4 + time;
}

function beginsWith(bytes: Uint8Array, start: readonly number[]): boolean {
  return bytes.length >= start.length && start.every((byte, i) => bytes[i] === byte);
}

function u16(bytes: Uint8Array, at: number): number {
  return ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0);
}
