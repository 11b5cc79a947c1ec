/** Carries out the order of a ban: decides what it would be, and stores it before it takes effect. */
import type { Holder } from "../../access/shares.ts";
import type { RecordTable } from "../../system/record-table.ts";
import { carryOut } from "../../system/stored-order.ts";
import type { Admission } from "../admission.ts";
import { type Ban, next } from "../ban.ts";
import type { BanAnswer } from "../ban-answer.ts";
import { refusalOf, rejected } from "../new-ban.ts";
import { type MitigationPolicy, termsOfBan } from "../policy.ts";
import { type BanOrder, hasTerms } from "./ban-order.ts";

export interface OrderGiven {
  readonly order: BanOrder;
  /** The holder whose share it takes. */
  readonly by: Holder;
  readonly admission: Admission;
  /** The active ban of the prefix. */
  readonly existing: Ban | null;
  readonly policy: MitigationPolicy;
}

interface BanMaker {
  readonly newBan: () => Ban;
  readonly replanned: (ban: Ban) => Ban;
}

/** The ban that the order makes, which may be a refusal. Nothing is changed. */
export function orderedBan(given: OrderGiven, { newBan, replanned }: BanMaker, wallMs: number): Ban {
  const { order, by, admission, policy } = given;
  const { prefix, terms } = order;
  const existing = admission.kind === "refused" ? null : given.existing;
  const present = existing?.ordered;
  const made = hasTerms(terms) || present === undefined ? terms : present;
  const {
    ban: { ttlSeconds },
    hasEscalation,
    ladder,
  } = termsOfBan(policy, { prefix, ...(hasTerms(made) && { ordered: made }) });
  const isVirtual = isVirtualBy(order, existing, policy);
  const escalation = hasEscalation ? ladder : null;
  const event = { kind: "refreshed", ttlSeconds, by, order, isVirtual, escalation } as const;
  const ordered = next(existing ?? newBan(), event, wallMs);
  const ban = existing === null ? ordered : replanned(ordered);
  const refusal = admission.kind === "refused" ? admission.reason : refusalOf(ban);
  return refusal === null ? ban : rejected(ban, refusal);
}

/** Whether the ban is virtual after the order. @param existing the active ban of the prefix */
export function isVirtualBy(
  { prefix, isDryRun }: BanOrder,
  existing: Ban | null,
  policy: Pick<MitigationPolicy, "isDryRun">,
): boolean {
  return isDryRun || (existing?.dryRun !== false && policy.isDryRun(prefix, "incoming"));
}

interface StoredBan {
  readonly table: RecordTable<Ban>;
  readonly decide: () => Ban;
  readonly present: () => Ban | null;
  /** All else that the decision depends on. */
  readonly basis: () => readonly unknown[];
  readonly takeEffect: (ban: Ban) => void | Promise<void>;
}

/** Rejects when the store fails: then there is no ban. */
export async function storeOrdered({ table, decide, present, basis, takeEffect }: StoredBan): Promise<BanAnswer> {
  const outcome = await carryOut<Ban, Ban>({
    table,
    decide: () => {
      const ban = decide();
      if (ban.state === "rejected") return { kind: "refused", refusal: ban };
      return { kind: "begins", key: ban.id, record: ban, basis: [present(), ...basis()] };
    },
    present: (id) => [present()].find((ban) => ban?.id === id) ?? null,
    takeEffect,
  });
  return outcome.kind === "refused" ? { ban: outcome.refusal, isSaved: true } : { ...outcome, ban: outcome.record };
}
