/** The effect that an order would have had on the last minute's traffic, in sentences for its dialog. Pure. */
import type {
  FilterRulePreviewWire,
  OrderEffectWire,
  SourceBlockPreviewWire,
} from "../../src/http/wire/order-effect.ts";
import { t } from "../language.ts";
import { type RuleForm, ruleOrder } from "./filter-rules.ts";
import { bitRate, packetRate, percent } from "./format/numbers.ts";
import { counted } from "./format/words.ts";
import { said } from "./service-words.ts";

type KnownEffect = Extract<OrderEffectWire, { readonly available: true }>;

/** Above this share of the traffic that is in no attack, the name of the rule must be typed again. */
const COLLATERAL_SHARE_MAX = 0.1;
const HOSTGROUPS_SHOWN = 5;

export function rulePreviewSentences({ rule, refusal, hides, effect }: FilterRulePreviewWire): string[] {
  return [
    ...refusalSentence(refusal),
    ...(effect.available ? ruleSentences(rule, effect) : [unknownSentence(effect.reason)]),
    ...(hides.length === 0 ? [] : [t`Behind it never match: ${hides.join(", ")}.`]),
  ];
}

export function blockPreviewSentences({ refusal, effect, dry_run: isDry }: SourceBlockPreviewWire): string[] {
  if (!effect.available) return [...refusalSentence(refusal), unknownSentence(effect.reason)];
  return [...refusalSentence(refusal), droppedSentence(effect, isDry), basisSentence(effect)];
}

/** Whether the rule would drop so much that its name must be typed again. @param preview null: not known. */
export function needsName(form: RuleForm, preview: FilterRulePreviewWire | null): boolean {
  if (form.effect === "counts") return false;
  if (matchesAll(form)) return true;
  return preview?.effect.available === true && preview.effect.collateral_share > COLLATERAL_SHARE_MAX;
}

export function nameAgainText(name: string): string {
  return t`It is for all traffic, or drops more than ${percent(COLLATERAL_SHARE_MAX)} of what is in no attack. Type ${name === "" ? t`its name` : `“${name}”`} again to go on.`;
}

/** A limit has no rate yet: the service would say that it is missing. */
export function canPreview({ action, packets, mbps }: RuleForm): boolean {
  return action !== "limit" || packets.trim() !== "" || mbps.trim() !== "";
}

/** Keys of an order that match nothing. */
const TERMS: ReadonlySet<string> = new Set([
  ...["name", "action", "when", "dry_run", "ttl_seconds", "reason"],
  ...["packets_per_second", "mbps", "per", "source_ipv4_length", "source_ipv6_length"],
]);

function matchesAll(form: RuleForm): boolean {
  return Object.keys(ruleOrder(form)).every((key) => TERMS.has(key));
}

function refusalSentence(refusal: string | undefined): string[] {
  return refusal === undefined ? [] : [t`Floodwall would refuse it: ${said(refusal)}.`];
}

function unknownSentence(reason: string): string {
  return t`Its effect is not known: ${said(reason)}.`;
}

function ruleSentences({ action, dry_run: isDry }: FilterRulePreviewWire["rule"], effect: KnownEffect): string[] {
  const { hostgroups, not_judged: notJudged } = effect;
  const groups = [...hostgroups.slice(0, HOSTGROUPS_SHOWN), ...(hostgroups.length > HOSTGROUPS_SHOWN ? ["…"] : [])];
  return [
    action === "pass" ? passedSentence(effect, isDry) : droppedSentence(effect, isDry),
    ...(groups.length === 0 ? [] : [`${groups.length === 1 ? t`Hostgroup` : t`Hostgroups`}: ${groups.join(", ")}.`]),
    ...(notJudged.length === 0 ? [] : [t`At most: sampled headers do not show ${notJudged.join(", ")}.`]),
    basisSentence(effect),
  ];
}

/** `It would drop 100 % of 19.2 kpps to 120 hosts, 97 % of it in no attack.` */
function droppedSentence(effect: KnownEffect, isDry: boolean): string {
  const { packets_share: share, total, dropped, hosts, unattacked_share: unattacked } = effect;
  if (dropped.pps === 0) return t`It would have dropped nothing in the last minute.`;
  const all = t`${percent(share)} of ${packetRate(total.pps)} (${bitRate(dropped.mbps)}) to ${counted(hosts, "host")}`;
  const part = t`${percent(unattacked)} of it in no attack`;
  return isDry ? t`It would count ${all} as dropped, ${part}, and drop nothing.` : t`It would drop ${all}, ${part}.`;
}

function passedSentence({ matched, dropped_before: before, hosts }: KnownEffect, isDry: boolean): string {
  if (matched.pps === 0) return t`It would have matched nothing in the last minute.`;
  const kept = before.pps === 0 ? "" : t`, of which ${packetRate(before.pps)} was dropped`;
  const [rate, to] = [packetRate(matched.pps), counted(hosts, "host")];
  return isDry ? t`It would count ${rate} to ${to}${kept}.` : t`It would let pass ${rate} to ${to}${kept}.`;
}

/** The numbers are estimates of these. */
export function basisSentence({ headers, seconds }: KnownEffect): string {
  return t`By ${counted(headers, "sampled header")} of the last ${counted(Math.round(seconds), "second")}.`;
}
