/** The operator's rules in words, and the order of one. Pure. */
import type { Static } from "@sinclair/typebox";
import type { FilterRuleWire as Wire } from "../../src/http/wire/filter-rule.ts";
import { t } from "../language.ts";
import { bitRate, packetRate, scaled } from "./format/numbers.ts";

export type FilterRuleWire = Static<typeof Wire>;
export interface FilterRulesWire {
  readonly rules: readonly FilterRuleWire[];
}

export const FILTER_RULES_PATH = "/api/v1/filter-rules";

export function filterRulePath(name: string): string {
  return `${FILTER_RULES_PATH}/${encodeURIComponent(name)}`;
}

/** `drop`, `pass`, `limit to 20 packets/s of each source`. */
export function actionText({ action, packets_per_second: packets, mbps, per }: FilterRuleWire): string {
  if (action !== "limit") return action === "drop" ? t`drop` : t`pass`;
  const rates = [packets === undefined ? "" : packetRate(packets), mbps === undefined ? "" : bitRate(mbps)];
  const each = per === "source" ? t` of each source` : "";
  return t`limit to ${rates.filter((rate) => rate !== "").join(t` and `)}${each}`;
}

export const RULE_WHENS = [
  ["always", t`At all times`],
  ["attacked", t`While attacked`],
] as const;

export function ruleWhenText({ when }: Pick<FilterRuleWire, "when">): string {
  return when === "always" ? t`at all times` : t`while attacked`;
}

/** `115 k`, of a rule that only counts `would have dropped 115 k`; null: it is not in the kernel. */
export function droppedText({ dry_run: isDry, dropped_packets: dropped }: FilterRuleWire): string | null {
  if (dropped === undefined) return null;
  return isDry ? t`would have dropped ${scaled(dropped)}` : scaled(dropped);
}

/** For finding a rule. */
export function ruleText(rule: FilterRuleWire): string {
  const { name, match, origin, reason, dry_run: isDry } = rule;
  const from = origin === "order" ? t`order` : t`configuration`;
  return [name, match, actionText(rule), ruleWhenText(rule), from, reason, isDry ? t`dry run` : ""].join(" ");
}

export const PROTOCOL_CHOICES = ["", "tcp", "udp", "icmp", "icmpv6", "gre", "sctp", "esp", "ipip"] as const;
export const HANDSHAKE_CHOICES = ["", "tls", "quic"] as const;

/** As it is typed: lists with commas, numbers as text, empty if not set. */
export interface RuleForm {
  readonly name: string;
  readonly action: FilterRuleWire["action"];
  readonly packets: string;
  readonly mbps: string;
  readonly per: "all" | "source";
  readonly when: FilterRuleWire["when"];
  readonly effect: "acts" | "counts";
  readonly destinations: string;
  readonly source: string;
  readonly sets: string;
  readonly protocol: (typeof PROTOCOL_CHOICES)[number];
  readonly ports: string;
  readonly sourcePorts: string;
  readonly handshake: (typeof HANDSHAKE_CHOICES)[number];
  readonly payload: string;
  /** A JSON object with other keys of `filter_rules`. */
  readonly more: string;
  readonly seconds: string;
  readonly reason: string;
}

export const EMPTY_RULE: RuleForm = {
  name: "",
  action: "drop",
  packets: "",
  mbps: "",
  per: "source",
  when: "always",
  effect: "acts",
  destinations: "",
  source: "",
  sets: "",
  protocol: "",
  ports: "",
  sourcePorts: "",
  handshake: "",
  payload: "",
  more: "",
  seconds: "3600",
  reason: "",
};

/** The fault of the other keys; null: none. The service judges all else. */
export function moreFault({ more }: Pick<RuleForm, "more">): string | null {
  return more.trim() === "" || readMore(more) !== null
    ? null
    : t`This is no JSON object, such as {"ttl": "1-5", "packet_lengths": ["468"]}.`;
}

/** The fields of an order. Other keys take the place of those of the same name. */
export function ruleOrder(form: RuleForm): object {
  const { name, action, when, effect, source, protocol, handshake, payload, seconds, reason } = form;
  const limit = {
    ...given("packets_per_second", numberOf(form.packets)),
    ...given("mbps", numberOf(form.mbps)),
    per: form.per,
  };
  return {
    name: name.trim(),
    action,
    ...(action === "limit" ? limit : {}),
    ...given("when", when === "always" ? "" : when),
    ...(effect === "counts" ? { dry_run: true } : {}),
    ...given("destinations", listOf(form.destinations)),
    ...given("source", source.trim()),
    ...given("source_sets", listOf(form.sets)),
    ...given("protocol", protocol),
    ...given("ports", listOf(form.ports)),
    ...given("source_ports", listOf(form.sourcePorts)),
    ...given("handshake", handshake),
    ...(payload.trim() === "" ? {} : { payload: [patternOf(payload.trim())] }),
    ...readMore(form.more),
    ttl_seconds: Number(seconds),
    reason,
  };
}

/** `ffffffff 54`, or with an offset `4: 54`. */
function patternOf(text: string): object {
  const [, offset, bytes = text] = /^(\d+):(.*)$/.exec(text) ?? [];
  return offset === undefined ? { bytes } : { offset: Number(offset), bytes: bytes.trim() };
}

function given(key: string, value: string | number | readonly string[] | null): object {
  return value === null || value === "" || (Array.isArray(value) && value.length === 0) ? {} : { [key]: value };
}

/** Text that is no number stays, so that the service says so. */
function numberOf(text: string): number | string | null {
  if (text.trim() === "") return null;
  const number = Number(text);
  return Number.isFinite(number) ? number : text;
}

function listOf(text: string): string[] {
  return text.split(/[\s,]+/).filter((part) => part !== "");
}

function readMore(text: string): object | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}
