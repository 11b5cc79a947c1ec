/** A rule of a ban in words: its match fields and its action. Pure. */
import type { RuleWire } from "../../src/mitigation/rules/rule.ts";
import { t } from "../language.ts";
import { bitRate } from "./format/numbers.ts";
import { protocolName, tcpFlagNames } from "./format/words.ts";

/** `UDP from port 53, 1000 to 1500 bytes, to 192.0.2.1`. */
export function matchText(rule: RuleWire): string {
  const { src, dst, tcp_flags: flags, tcp_flags_unset: unset, fragment, packet_length: length } = rule;
  const parts = [
    [protocolsText(rule), sourcePorts(rule)],
    [destinationPorts(rule)],
    [flags === undefined || flags === 0 ? "" : t`with ${tcpFlagNames(flags)}`],
    [unset === undefined || unset === 0 ? "" : t`without ${tcpFlagNames(unset)}`],
    [fragment === undefined ? "" : fragment ? t`fragments` : t`no fragments`],
    [length === undefined ? "" : t`${rangeText(length.min, length.max)} bytes`],
    [src === undefined ? "" : t`from ${src}`],
    [dst === undefined ? t`to anyone` : t`to ${dst.replace(/\/(32|128)$/, "")}`],
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
      return t`discard`;
    case "rate_limit":
      return packets === undefined ? t`at most ${bitRate(((bytes ?? 0) * 8) / 1e6)}` : t`at most ${packets} packets/s`;
    case "redirect":
      return t`redirect to ${rule.redirect_to ?? ""}`;
    case "mark":
      return t`mark with DSCP ${rule.dscp ?? 0}`;
    default:
      return action satisfies never;
  }
}

function protocolsText({ proto, protos = [] }: RuleWire): string {
  if (proto !== undefined && proto !== 0) return protocolName(proto);
  if (protos.length === 0) return t`any protocol`;
  return protos
    .map(({ from, to }) => (from === to ? protocolName(from) : t`protocols ${rangeText(from, to)}`))
    .join(", ");
}

function sourcePorts({ src_port: port, src_ports: ranges = [] }: RuleWire): string {
  if (port !== undefined && port !== 0) return t`from port ${port}`;
  return ranges.length === 0 ? "" : t`from ports ${rangesText(ranges)}`;
}

function destinationPorts({ dst_port: port, dst_ports: ranges = [] }: RuleWire): string {
  if (port !== undefined && port !== 0) return t`to port ${port}`;
  return ranges.length === 0 ? "" : t`to ports ${rangesText(ranges)}`;
}

function rangesText(ranges: NonNullable<RuleWire["src_ports"]>): string {
  return ranges.map(({ from, to }) => rangeText(from, to)).join(", ");
}

function rangeText(from: number, to: number): string {
  return from === to ? String(from) : t`${from} to ${to}`;
}
