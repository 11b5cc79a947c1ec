/** A rule in the record in which it crosses to the addon (native.d.ts, Filter.setRules). */

import type { Action } from "../mitigation/rules/action.ts";
import type { KernelRule } from "../mitigation/rules/kernel-rule.ts";
import { RULE_ASKS as ASKS, RULE_RECORD as AT, RULE_ACTIONS, RULE_NO_PREFIX } from "../native/constants.ts";
import { addressToBytes } from "../net/address.ts";
import { mappedLength, type Prefix } from "../net/prefix.ts";
import { onlyValue, type Range } from "../net/range.ts";
import { LITTLE_ENDIAN } from "./details-record.ts";

export const RULE_BYTES = AT.bytes;

const U32_MAX = 0xffff_ffff;
/** Prefix length of a limit by destination. */
const WHOLE_ADDRESS = 128;

/** @param details which of the details that cross with the rules is this rule's, plus 1; 0: none. */
export function writeRule(view: DataView, at: number, put: KernelRule, details: number): void {
  const { rule, isDryRun = false, expiresAtMs } = put;
  const { action, protocols, fragment, tcpFlags } = rule;
  // Several are among the details.
  const [length = null] = rule.packetLengths.length === 1 ? rule.packetLengths : [];
  view.setFloat64(at + AT.expiresAtMs, expiresAtMs, LITTLE_ENDIAN);
  view.setFloat64(at + AT.bytesPerSecond, bytesPerSecondOf(action), LITTLE_ENDIAN);
  view.setFloat64(at + AT.packetsPerSecond, "packetsPerSecond" in action ? action.packetsPerSecond : 0, LITTLE_ENDIAN);
  view.setUint8(at + AT.limitLength, action.kind === "limit_source" ? action.prefixLength : WHOLE_ADDRESS);
  view.setUint8(at + AT.action, RULE_ACTIONS.indexOf(isDryRun && action.kind === "discard" ? "count" : action.kind));
  view.setUint8(at + AT.isDryRun, isDryRun ? 1 : 0);
  view.setUint8(at + AT.destinationLength, writePrefix(view, at + AT.destination, rule.destination));
  view.setUint8(at + AT.sourceLength, writePrefix(view, at + AT.source, rule.source));
  view.setUint8(
    at + AT.asks,
    writeProtocols(view, at, protocols) |
      (fragment === null ? 0 : ASKS.fragment) |
      (tcpFlags === null ? 0 : ASKS.flags) |
      (length === null ? 0 : ASKS.length),
  );
  view.setUint8(at + AT.fragment, fragment === true ? 1 : 0);
  view.setUint8(at + AT.flagsSet, tcpFlags?.set ?? 0);
  view.setUint8(at + AT.flagsUnset, tcpFlags?.unset ?? 0);
  view.setUint8(at + AT.sourcePorts, writeRanges(view, at + AT.sourceRanges, rule.sourcePorts));
  view.setUint8(at + AT.destinationPorts, writeRanges(view, at + AT.destinationRanges, rule.destinationPorts));
  view.setUint32(at + AT.details, details, LITTLE_ENDIAN);
  view.setUint32(at + AT.lengthMin, Math.min(length?.from ?? 0, U32_MAX), LITTLE_ENDIAN);
  view.setUint32(at + AT.lengthMax, Math.min(length?.to ?? 0, U32_MAX), LITTLE_ENDIAN);
}

function bytesPerSecondOf(action: Action): number {
  if ("bytesPerSecond" in action) return action.bytesPerSecond;
  return "learnedBytesPerSecond" in action ? action.learnedBytesPerSecond : 0;
}

/** Returns what they ask of a packet. */
function writeProtocols(view: DataView, at: number, protocols: readonly Range[]): number {
  const only = onlyValue(protocols);
  view.setUint8(at + AT.protocol, only ?? 0);
  if (only !== null) return ASKS.protocol;
  for (const { from, to } of protocols) {
    for (let protocol = from; protocol <= to; protocol++) {
      const word = at + AT.protocols + 4 * (protocol >> 5);
      view.setUint32(word, view.getUint32(word, LITTLE_ENDIAN) | (1 << (protocol & 31)), LITTLE_ENDIAN);
    }
  }
  return protocols.length === 0 ? 0 : ASKS.protocols;
}

/** Returns its length. */
export function writePrefix(view: DataView, at: number, prefix: Prefix | null): number {
  if (prefix === null) return RULE_NO_PREFIX;
  new Uint8Array(view.buffer, view.byteOffset + at).set(addressToBytes(prefix.address));
  return mappedLength(prefix);
}

/** Returns the number of ranges. */
function writeRanges(view: DataView, at: number, ranges: readonly Range[]): number {
  for (const [i, { from, to }] of ranges.entries()) {
    view.setUint16(at + i * AT.rangeBytes, from, LITTLE_ENDIAN);
    view.setUint16(at + i * AT.rangeBytes + AT.rangeTo, to, LITTLE_ENDIAN);
  }
  return ranges.length;
}
