/** A rule of a ban in words: its match fields and its action. Pure. */
import type { RuleWire } from "../../src/mitigation/rules/rule.ts";
import { bitRate } from "./format/numbers.ts";
import { protocolName, tcpFlagNames } from "./format/words.ts";

/** `UDP from port 53, 1000 to 1500 bytes, to 192.0.2.1/32`. */
export function matchText(rule: RuleWire): string {
  const { src, dst, tcp_flags: flags, tcp_flags_unset: unset, fragment, packet_length: length } = rule;
  const parts = [
    [protocolsText(rule), portsText("from", rule.src_port, rule.src_ports)],
    [portsText("to", rule.dst_port, rule.dst_ports)],
    [flags === undefined || flags === 0 ? "" : `with ${tcpFlagNames(flags)}`],
    [unset === undefined || unset === 0 ? "" : `without ${tcpFlagNames(unset)}`],
    [fragment === undefined ? "" : fragment ? "fragments" : "no fragments"],
    [length === undefined ? "" : `${rangeText(length.min, length.max)} bytes`],
    [src === undefined ? "" : `from ${src}`],
    [dst === undefined ? "to anyone" : `to ${dst}`],
  ];
  return parts
    .map((part) => part.filter((word) => word !== "").join(" "))
    .filter((part) => part !== "")
    .join(", ");
}

/** `discard`, `at most 8.00 Mbit/s`, `redirect to rt:65000:100`, or `mark with DSCP 10`. */
export function actionText({ action, rate_bytes: bytes, rate_packets: packets, ...rule }: RuleWire): string {
  switch (action) {
    case "discard":
      return action;
    case "rate_limit":
      return packets === undefined ? `at most ${bitRate(((bytes ?? 0) * 8) / 1e6)}` : `at most ${packets} packets/s`;
    case "redirect":
      return `redirect to ${rule.redirect_to ?? ""}`;
    case "mark":
      return `mark with DSCP ${rule.dscp ?? 0}`;
    default:
      return action satisfies never;
  }
}

function protocolsText({ proto, protos = [] }: RuleWire): string {
  if (proto !== undefined && proto !== 0) return protocolName(proto);
  if (protos.length === 0) return "any protocol";
  return protos
    .map(({ from, to }) => (from === to ? protocolName(from) : `protocols ${rangeText(from, to)}`))
    .join(", ");
}

function portsText(word: string, port: number | undefined, ranges: RuleWire["src_ports"]): string {
  if (port !== undefined && port !== 0) return `${word} port ${port}`;
  if (ranges === undefined || ranges.length === 0) return "";
  return `${word} ports ${ranges.map(({ from, to }) => rangeText(from, to)).join(", ")}`;
}

function rangeText(from: number, to: number): string {
  return from === to ? String(from) : `${from} to ${to}`;
}
