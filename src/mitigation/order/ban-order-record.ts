/**
 * A ban that an operator ordered, as another brain gets it: all that follows from the configuration and from attacks each
 * brain decides itself. Communities are texts, so that a record does not depend on how a build keeps them.
 */
import { type Static, Type } from "@sinclair/typebox";
import { TypeCompiler } from "@sinclair/typebox/compiler";
import type { Holder } from "../../access/shares.ts";
import { BAN_REASON_MAX, BAN_SECONDS_MAX, COMMUNITIES_MAX } from "../../limits.ts";
import { communityText, parseCommunity } from "../../net/community.ts";
import { canonicalPrefix, parsePrefix } from "../../net/prefix.ts";
import type { Ban } from "../ban.ts";
import type { Method } from "../escalation.ts";
import { ANY_MATCH, type Match } from "../rules/match.ts";
import type { BanOrder, OrderedTerms } from "./ban-order.ts";

const METHODS = ["scrub", "flowspec", "divert", "blackhole"] as const satisfies readonly Method[];
const NAME_MAX = 256;
const ITEMS_MAX = 64;

const Name = Type.String({ maxLength: NAME_MAX });
const Shape = Type.Object({
  id: Type.String({ minLength: 1, maxLength: NAME_MAX }),
  prefix: Name,
  startedAt: Type.Number(),
  countedFrom: Type.Number(),
  expiresAt: Type.Number(),
  operator: Name,
  tenant: Type.Union([Type.Null(), Name]),
  reason: Type.String({ maxLength: 2 * BAN_REASON_MAX }),
  isVirtual: Type.Boolean(),
  terms: Type.Object({
    method: Type.Optional(Type.Union(METHODS.map((method) => Type.Literal(method)))),
    rules: Type.Optional(Type.Array(Type.Unknown(), { maxItems: ITEMS_MAX })),
    bytesPerSecond: Type.Optional(Type.Number({ minimum: 0 })),
    communities: Type.Optional(Type.Array(Name, { maxItems: COMMUNITIES_MAX })),
    neighbors: Type.Optional(Type.Array(Name, { maxItems: ITEMS_MAX })),
  }),
});
export type BanOrderRecord = Static<typeof Shape>;
const compiled = TypeCompiler.Compile(Shape);

/** @param ban one that an operator ordered. */
export function recordOfOrder(ban: Ban): BanOrderRecord {
  const { communities, neighbors, rules, ...terms } = ban.ordered ?? {};
  return {
    ...{ id: ban.id, prefix: ban.prefix.text },
    ...{ startedAt: ban.startedAt, countedFrom: ban.countedFrom, expiresAt: ban.expiresAt },
    ...{ operator: ban.operator ?? "", tenant: ban.tenant ?? null, reason: ban.orderReason ?? "" },
    isVirtual: ban.isVirtualOrder === true,
    terms: {
      ...terms,
      ...(rules && { rules: [...rules] }),
      ...(communities && { communities: communities.map(communityText) }),
      ...(neighbors && { neighbors: [...neighbors] }),
    },
  };
}

/** Reads the record of another brain; null: it is no order of the prefix. */
export function banOrderRecord(value: unknown, prefix: string): BanOrderRecord | null {
  if (!compiled.Check(value) || value.prefix !== prefix) return null;
  const { terms, startedAt, expiresAt } = value;
  const isWhole =
    parsePrefix(prefix)?.text === prefix &&
    expiresAt - startedAt <= Number.MAX_SAFE_INTEGER &&
    (terms.communities ?? []).every((text) => parseCommunity(text) !== null) &&
    (terms.rules ?? []).every(isMatch);
  return isWhole ? value : null;
}

/** As an order of now, for the time that is left. */
export function orderOfRecord(
  { prefix, terms, expiresAt, operator, tenant, reason, isVirtual }: BanOrderRecord,
  wallMs: number,
): { readonly order: BanOrder; readonly by: Holder } {
  const ttlSeconds = Math.min(BAN_SECONDS_MAX, Math.max(1, (expiresAt - wallMs) / 1000));
  const order = { prefix: canonicalPrefix(prefix), terms: termsOf(terms), ttlSeconds, reason, isDryRun: isVirtual };
  return { order, by: { operator, tenant } };
}

function termsOf({ communities, rules, ...terms }: BanOrderRecord["terms"]): OrderedTerms {
  const parsed = (communities ?? []).flatMap((text) => parseCommunity(text) ?? []);
  return {
    ...(terms as OrderedTerms),
    ...(rules && { rules: rules as readonly Match[] }),
    ...(communities && { communities: parsed }),
  };
}

/** Whether each field has the kind that it has in any match. */
function isMatch(value: unknown): boolean {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const fields = value as Readonly<Record<string, unknown>>;
  return Object.entries(ANY_MATCH).every(([name, kind]) => {
    const field = fields[name];
    return Array.isArray(kind)
      ? Array.isArray(field)
      : field === null || (field !== undefined && !Array.isArray(field));
  });
}
