/** A rule in the record in which it crosses to the addon (native.d.ts, Filter.setRules). */

import type { InlineAction } from "../mitigation/rules/inline-action.ts";
import type { Rule } from "../mitigation/rules/rule.ts";
import type { RuleDetails } from "../mitigation/rules/rule-details.ts";
import { RULE_ASKS as ASKS, RULE_RECORD as AT, RULE_ACTIONS, RULE_NO_PREFIX } from "../native/constants.ts";
import { addressToBytes } from "../net/address.ts";
import { mappedLength, type Prefix } from "../net/prefix.ts";
import { onlyValue, type Range } from "../net/range.ts";

export const RULE_BYTES = AT.bytes;

const LITTLE_ENDIAN = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1;
const U32_MAX = 0xffff_ffff;
/** Of a limit of destinations. */
const WHOLE_ADDRESS = 128;

export interface RuleToWrite {
  readonly rule: Rule;
  /** In place of the rule's own action. */
  readonly inline?: InlineAction;
  /** What it would do is counted only. */
  readonly isDryRun?: boolean;
  readonly details?: RuleDetails;
  readonly expiresAtMs: number;
}

/** @param details which of the details that cross with the rules is this rule's, plus 1; 0: none. */
export function writeRule(view: DataView, at: number, put: RuleToWrite, details: number): void {
  const { rule, inline, isDryRun = false, expiresAtMs } = put;
  const { protocols, fragment, tcpFlags, packetLength } = rule;
  view.setFloat64(at + AT.expiresAtMs, expiresAtMs, LITTLE_ENDIAN);
  view.setFloat64(at + AT.bytesPerSecond, bytesPerSecondOf(rule, inline), LITTLE_ENDIAN);
  view.setFloat64(at + AT.packetsPerSecond, packetsPerSecondOf(inline), LITTLE_ENDIAN);
  view.setUint8(at + AT.limitLength, inline?.kind === "limit_source" ? inline.prefixLength : WHOLE_ADDRESS);
  view.setUint8(at + AT.action, RULE_ACTIONS.indexOf(actionOf(put)));
  view.setUint8(at + AT.isDryRun, isDryRun ? 1 : 0);
  view.setUint8(at + AT.destinationLength, writePrefix(view, at + AT.destination, rule.destination));
  view.setUint8(at + AT.sourceLength, writePrefix(view, at + AT.source, rule.source));
  view.setUint8(
    at + AT.asks,
    writeProtocols(view, at, protocols) |
      (fragment === null ? 0 : ASKS.fragment) |
      (tcpFlags === null ? 0 : ASKS.flags) |
      (packetLength === null ? 0 : ASKS.length),
  );
  view.setUint8(at + AT.fragment, fragment === true ? 1 : 0);
  view.setUint8(at + AT.flagsSet, tcpFlags?.set ?? 0);
  view.setUint8(at + AT.flagsUnset, tcpFlags?.unset ?? 0);
  view.setUint8(at + AT.sourcePorts, writeRanges(view, at + AT.sourceRanges, rule.sourcePorts));
  view.setUint8(at + AT.destinationPorts, writeRanges(view, at + AT.destinationRanges, rule.destinationPorts));
  view.setUint32(at + AT.details, details, LITTLE_ENDIAN);
  view.setUint32(at + AT.lengthMin, Math.min(packetLength?.min ?? 0, U32_MAX), LITTLE_ENDIAN);
  view.setUint32(at + AT.lengthMax, Math.min(packetLength?.max ?? 0, U32_MAX), LITTLE_ENDIAN);
}

function actionOf({ rule, inline, isDryRun }: RuleToWrite): (typeof RULE_ACTIONS)[number] {
  if (inline !== undefined) return inline.kind;
  return isDryRun === true && rule.action.kind === "discard" ? "count" : rule.action.kind;
}

function bytesPerSecondOf({ action }: Rule, inline: InlineAction | undefined): number {
  if (inline === undefined) return action.kind === "discard" ? 0 : action.bytesPerSecond;
  if (inline.kind === "limit_source" || inline.kind === "limit") return inline.bytesPerSecond;
  return "learnedBytesPerSecond" in inline ? inline.learnedBytesPerSecond : 0;
}

function packetsPerSecondOf(inline: InlineAction | undefined): number {
  return inline !== undefined && "packetsPerSecond" in inline ? inline.packetsPerSecond : 0;
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
