/** The fields that few rules have, in a record of its own in which it crosses to the addon (addon/abi/details_abi.h). */
import type { SetBitOf } from "../mitigation/rules/kernel-rule.ts";
import type { Match, PayloadPattern } from "../mitigation/rules/match.ts";
import { DETAILS_ASKS as ASKS, DETAILS_RECORD as AT, LENGTH_RANGES_MAX } from "../native/constants.ts";
import type { Range } from "../net/range.ts";

export const DETAILS_BYTES = AT.bytes;

/** The byte order of this machine, in which the addon reads records. */
export const LITTLE_ENDIAN = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1;

/** Throws an Error for a set that the kernel does not have. */
export function writeDetails(view: DataView, at: number, match: Match, bitOf: SetBitOf): void {
  const { ttl, dscp, tcpWindow, tcpOptions, payload, inSets, notInSets } = match;
  const lengths = match.packetLengths.length > 1 ? match.packetLengths : [];
  const asks =
    (ttl === null ? 0 : ASKS.ttl) |
    (dscp.length === 0 ? 0 : ASKS.dscp) |
    (tcpWindow === null ? 0 : ASKS.window) |
    (tcpOptions === null ? 0 : ASKS.options) |
    (lengths.length === 0 ? 0 : ASKS.lengths) |
    (payload.length === 0 ? 0 : ASKS.payload) |
    (inSets.length + notInSets.length === 0 ? 0 : ASKS.sets);
  const bits64 = (offset: number, bits: readonly number[]) =>
    view.setBigUint64(
      at + offset,
      bits.reduce((sum, bit) => sum | (1n << BigInt(bit)), 0n),
      LITTLE_ENDIAN,
    );
  const numbers = (names: readonly string[]) => names.map((name) => setBit(name, bitOf));
  view.setUint8(at + AT.asks, asks);
  view.setUint8(at + AT.ttlFrom, ttl?.from ?? 0);
  view.setUint8(at + AT.ttlTo, ttl?.to ?? 0);
  view.setUint8(at + AT.patterns, payload.length);
  view.setUint16(at + AT.windowFrom, tcpWindow?.from ?? 0, LITTLE_ENDIAN);
  view.setUint16(at + AT.windowTo, tcpWindow?.to ?? 0, LITTLE_ENDIAN);
  bits64(AT.optionsSet, tcpOptions?.set ?? []);
  bits64(AT.optionsUnset, tcpOptions?.unset ?? []);
  bits64(AT.dscp, dscp);
  bits64(AT.inSets, numbers(inSets));
  bits64(AT.notInSets, numbers(notInSets));
  for (let i = 0; i < LENGTH_RANGES_MAX; i++) writeLengths(view, at + AT.lengths + i * AT.lengthBytes, lengths[i]);
  for (const [i, pattern] of payload.entries()) writePattern(view, at + AT.pattern + i * AT.patternBytes, pattern);
}

function setBit(name: string, bitOf: SetBitOf): number {
  const bit = bitOf(name);
  if (bit === null) throw new Error(`the kernel has no set of prefixes named ${name}: see prefix_sets`);
  return bit;
}

/** undefined: matches nothing. */
function writeLengths(view: DataView, at: number, range: Range = { from: 1, to: 0 }): void {
  view.setUint32(at, range.from, LITTLE_ENDIAN);
  view.setUint32(at + AT.lengthTo, range.to, LITTLE_ENDIAN);
}

function writePattern(view: DataView, at: number, { offset, mask, value }: PayloadPattern): void {
  view.setUint8(at + AT.patternOffset, offset);
  view.setUint8(at + AT.patternLength, mask.length);
  const bytes = new Uint8Array(view.buffer, view.byteOffset + at);
  bytes.set(mask, AT.patternMask);
  bytes.set(value, AT.patternValue);
}
