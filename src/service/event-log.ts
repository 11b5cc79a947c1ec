/** Logs and counts changes of attacks and bans. */
import type { AttackEvent } from "../detection/attack/attack.ts";
import { type BanChange, banChangeKind } from "../mitigation/ban.ts";
import type { DetectionMetrics } from "../observability/detection-metrics.ts";
import type { Log } from "../observability/log.ts";

export function logAttack(log: Log, { kind, attack }: AttackEvent): void {
  if (kind === "sampled" || kind === "lasts") return;
  const { id, target, group, direction, metric, threshold, rates, classification } = attack;
  const vector = classification === null ? {} : { vector: classification.type, confidence: classification.confidence };
  log.info({ id, target, group, direction, metric, threshold, rates: Array.from(rates), ...vector }, `attack ${kind}`);
}

export function countAttack(metrics: DetectionMetrics, event: AttackEvent): void {
  const { metric, classification } = event.attack;
  if (event.kind === "started") metrics.attackStarted(metric);
  if (event.kind === "classified" && event.isNewKind && classification !== null) {
    metrics.attackClassified(classification.type);
  }
}

export function logBan(log: Log, change: BanChange): void {
  const news = banChangeKind(change);
  if (news === null) return;
  const { ban } = change;
  const { id, target, prefix, state, reason, manual, method, dryRun, step, fallback, repeat, measure } = ban;
  const node = measure.kind === "divert" ? { node: measure.node } : {};
  const rules = measure.kind === "flowspec" ? { rules: measure.rules.length, matches_all: measure.matchesAll } : {};
  log.info(
    {
      id,
      target,
      prefix: prefix.text,
      state,
      reason,
      manual,
      method,
      dry_run: dryRun,
      step,
      fallback,
      repeat,
      ...node,
      ...rules,
    },
    `ban ${news !== "dry_run" ? news : dryRun ? "became virtual" : "became real"}`,
  );
}
