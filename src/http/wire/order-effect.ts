/** The effect that an order would have, before it is given (docs/interface.md#order-preview). */
import { type Static, Type } from "@sinclair/typebox";
import type { MeanRates } from "../../mitigation/operator/rule-effect.ts";
import { closedObject } from "../../schema/schema-forms.ts";
import { round } from "../../traffic/rates.ts";
import type { FilterRulePreview, SourceBlockPreview } from "../backend.ts";
import type { OrderEffect } from "../order-sources.ts";
import { describeRefusal, type Refusal } from "../refusal.ts";
import { FilterRuleWire, filterRuleToWire } from "./filter-rule.ts";

const MeanRatesWire = closedObject({ pps: Type.Number(), mbps: Type.Number() });
const share = Type.Number({ minimum: 0, maximum: 1 });

export const OrderEffectWire = Type.Union([
  closedObject({ available: Type.Literal(false), reason: Type.String() }),
  closedObject({
    available: Type.Literal(true),
    /** Sampled headers that it rests on, and the time that they are of. */
    headers: Type.Integer(),
    seconds: Type.Number(),
    total: MeanRatesWire,
    /** To hosts that were in no attack. */
    unattacked: MeanRatesWire,
    matched: MeanRatesWire,
    /** In a dry run: what would be. */
    dropped: MeanRatesWire,
    dropped_unattacked: MeanRatesWire,
    /** The part of the matched traffic that was dropped without the order. */
    dropped_before: MeanRatesWire,
    /** Dropped share of all packets and bits. */
    packets_share: share,
    bits_share: share,
    /** Share of the dropped packets that belong to no attack. */
    unattacked_share: share,
    /** Dropped share of the packets that belong to no attack. */
    collateral_share: share,
    hosts: Type.Integer(),
    hostgroups: Type.Array(Type.String()),
    /** Keys of the rule that headers do not show: the effect is at most what is said here. */
    not_judged: Type.Array(Type.String()),
  }),
]);
export type OrderEffectWire = Static<typeof OrderEffectWire>;

/** Absent: the order would be accepted. */
const refusal = Type.Optional(Type.String());

export const FilterRulePreviewWire = closedObject({
  rule: FilterRuleWire,
  refusal,
  /** Rules that would never match behind it. */
  hides: Type.Array(Type.String()),
  effect: OrderEffectWire,
});
export type FilterRulePreviewWire = Static<typeof FilterRulePreviewWire>;

export const SourceBlockPreviewWire = closedObject({
  source: Type.String(),
  victim: Type.String(),
  dry_run: Type.Boolean(),
  refusal,
  effect: OrderEffectWire,
});
export type SourceBlockPreviewWire = Static<typeof SourceBlockPreviewWire>;

export function filterRulePreviewToWire({
  view,
  refusal: kind,
  hides,
  effect,
}: FilterRulePreview): FilterRulePreviewWire {
  return {
    rule: filterRuleToWire(view, null),
    ...refusalText(kind === null ? null : { kind: "filter_rule_refused", refusal: kind }),
    hides: [...hides],
    effect: effectToWire(effect),
  };
}

export function sourceBlockPreviewToWire(
  { source, victim }: Pick<SourceBlockPreviewWire, "source" | "victim">,
  { refusal: kind, dryRun, effect }: SourceBlockPreview,
): SourceBlockPreviewWire {
  return {
    source,
    victim,
    dry_run: dryRun,
    ...refusalText(kind === null ? null : { kind: "source_block_refused", refusal: kind }),
    effect: effectToWire(effect),
  };
}

function refusalText(refused: Refusal | null): { readonly refusal?: string } {
  return refused === null ? {} : { refusal: describeRefusal(refused).error };
}

export function effectToWire(known: OrderEffect): OrderEffectWire {
  if (known.kind === "unknown") return { available: false, reason: known.reason };
  const { headers, seconds, total, unattacked, matched, dropped, hosts, hostgroups, ...rest } = known.effect;
  return {
    available: true,
    headers,
    seconds: round(seconds),
    total: ratesToWire(total),
    unattacked: ratesToWire(unattacked),
    matched: ratesToWire(matched),
    dropped: ratesToWire(dropped),
    dropped_unattacked: ratesToWire(rest.droppedUnattacked),
    dropped_before: ratesToWire(rest.droppedBefore),
    packets_share: shareOf(dropped.pps, total.pps),
    bits_share: shareOf(dropped.mbps, total.mbps),
    unattacked_share: shareOf(rest.droppedUnattacked.pps, dropped.pps),
    collateral_share: shareOf(rest.droppedUnattacked.pps, unattacked.pps),
    hosts,
    hostgroups: [...hostgroups],
    not_judged: [...rest.notJudged],
  };
}

function ratesToWire({ pps, mbps }: MeanRates): Static<typeof MeanRatesWire> {
  return { pps: round(pps), mbps: round(mbps) };
}

/** Rounding of sums must not make more than all of it. */
function shareOf(part: number, whole: number): number {
  return whole === 0 ? 0 : Math.min(1, round(part / whole));
}
