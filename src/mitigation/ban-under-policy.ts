/** A ban in force under a new policy: dry run, ladder and plan follow from it. Pure. */
import { isDeepStrictEqual } from "node:util";
import { type Ban, next } from "./ban.ts";
import type { Circumstances } from "./circumstances.ts";
import { planOrCurrent } from "./plan.ts";
import { type MitigationPolicy, termsOfBan } from "./policy.ts";
import { withoutRefused } from "./retiring.ts";
import { isVirtual } from "./virtual-bans.ts";

interface Situation {
  readonly circumstances: Circumstances;
  /** Neighbors have its routes. */
  readonly isOut: boolean;
  readonly wallMs: number;
  readonly onFault: (cause: unknown) => void;
}

export function underPolicy(
  ban: Ban,
  { before, after }: { readonly before: MitigationPolicy; readonly after: MitigationPolicy },
  { circumstances, isOut, wallMs, onFault }: Situation,
): Ban {
  const dryRun = isVirtual(ban, circumstances.attacks, after);
  const terms = termsOfBan(after, ban);
  // New terms: try a refused method again.
  const fallback = isDeepStrictEqual(termsOfBan(before, ban), terms) ? ban.fallback : null;
  const escalation = terms.hasEscalation ? terms.ladder : null;
  const plan = planOrCurrent({ ...ban, dryRun, fallback }, terms, circumstances, { wallMs, onFault });
  const changed = next(ban, { kind: "policy", dryRun, escalation, plan, isOut }, wallMs);
  return withoutRefused(changed, circumstances.enclosing);
}
