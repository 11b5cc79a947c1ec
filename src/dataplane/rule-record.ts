/** Encodes a rule in the 112-byte record of the addon (native.d.ts, Filter.setRules). */

import { PORT_RANGES_MAX, type PortRange, type Rule } from "../mitigation/rules/rule.ts";
import { addressToBytes } from "../net/address.ts";
import { mappedLength, type Prefix } from "../net/prefix.ts";

export const RULE_BYTES = 112;

const LITTLE_ENDIAN = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1;
const NO_PREFIX = 255;
const FIELD_BITS = { protocol: 1, fragment: 2, flags: 4, length: 8 } as const;
const PORTS_AT = 68;
const RANGE_BYTES = 4;
const U32_MAX = 0xffff_ffff;

export function writeRule(view: DataView, at: number, rule: Rule, expiresAtMs: number): void {
  const { protocol, fragment, tcpFlags, packetLength, action } = rule;
  view.setFloat64(at, expiresAtMs, LITTLE_ENDIAN);
  view.setFloat64(at + 8, action.kind === "discard" ? 0 : action.bytesPerSecond, LITTLE_ENDIAN);
  view.setUint8(at + 48, writePrefix(view, at + 16, rule.destination));
  view.setUint8(at + 49, writePrefix(view, at + 32, rule.source));
  view.setUint8(
    at + 50,
    (protocol === null ? 0 : FIELD_BITS.protocol) |
      (fragment === null ? 0 : FIELD_BITS.fragment) |
      (tcpFlags === null ? 0 : FIELD_BITS.flags) |
      (packetLength === null ? 0 : FIELD_BITS.length),
  );
  view.setUint8(at + 51, protocol ?? 0);
  view.setUint8(at + 52, fragment === true ? 1 : 0);
  view.setUint8(at + 53, tcpFlags?.set ?? 0);
  view.setUint8(at + 54, tcpFlags?.unset ?? 0);
  view.setUint8(at + 55, writeRanges(view, at + PORTS_AT, rule.sourcePorts));
  view.setUint8(at + 56, writeRanges(view, at + PORTS_AT + PORT_RANGES_MAX * RANGE_BYTES, rule.destinationPorts));
  view.setUint32(at + 60, Math.min(packetLength?.min ?? 0, U32_MAX), LITTLE_ENDIAN);
  view.setUint32(at + 64, Math.min(packetLength?.max ?? 0, U32_MAX), LITTLE_ENDIAN);
}

/** Returns its length. */
function writePrefix(view: DataView, at: number, prefix: Prefix | null): number {
  if (prefix === null) return NO_PREFIX;
  new Uint8Array(view.buffer, view.byteOffset + at).set(addressToBytes(prefix.address));
  return mappedLength(prefix);
}

/** Returns the number of ranges. */
function writeRanges(view: DataView, at: number, ranges: readonly PortRange[]): number {
  for (const [i, { from, to }] of ranges.entries()) {
    view.setUint16(at + i * RANGE_BYTES, from, LITTLE_ENDIAN);
    view.setUint16(at + i * RANGE_BYTES + 2, to, LITTLE_ENDIAN);
  }
  return ranges.length;
}
