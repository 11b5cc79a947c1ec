/** Logs and counts changes of attacks and bans, and that a cap on bans is reached. */
import type { AttackEvent } from "../detection/attack/attack.ts";
import { type Cap, capIn } from "../mitigation/admission.ts";
import { type BanChange, banChangeKind, rungLeft } from "../mitigation/ban.ts";
import type { DetectionMetrics } from "../observability/detection-metrics.ts";
import type { Limiter } from "../observability/limiter.ts";
import type { Log } from "../observability/log.ts";
import type { MitigationMetrics } from "../observability/mitigation-metrics.ts";

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
  const kind = banChangeKind(change);
  if (kind === null) return;
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
    `ban ${kind !== "dry_run" ? kind : dryRun ? "became virtual" : "became real"}`,
  );
}

export function countRung(metrics: MitigationMetrics, change: BanChange): void {
  const { ban, previous } = change;
  if (rungLeft(change) !== null) metrics.rungChanged("back");
  else if (previous !== null && ban.step > previous.step) metrics.rungChanged("up");
}

/** The cap because of which the ban of an attack was replaced or refused; null: it was not. */
export function capReachedBy(change: BanChange): { cap: Cap; outcome: "replaced" | "refused" } | null {
  const cap = capIn(change.ban.reason);
  const kind = banChangeKind(change);
  if (cap === null || (kind !== "withdrawn" && kind !== "rejected")) return null;
  return { cap, outcome: kind === "withdrawn" ? "replaced" : "refused" };
}

export function alertAtCap(
  { log, limiter, metrics }: { readonly log: Log; readonly limiter: Limiter; readonly metrics: MitigationMetrics },
  change: BanChange,
): void {
  const { target, prefix } = change.ban;
  const reached = capReachedBy(change);
  if (reached === null) return;
  const { cap, outcome } = reached;
  metrics.capReached(cap, outcome);
  limiter.pass(cap, (suppressed) =>
    log.warn(
      { target, prefix: prefix.text, outcome, suppressed },
      `ban.${cap}: only the largest attacks are banned; raise it if your routers take more routes`,
    ),
  );
}
