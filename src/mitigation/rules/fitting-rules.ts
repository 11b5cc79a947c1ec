/** Which rules go into the kernel where not all find room. Pure. */
import { FILTER_RULES_PER_DESTINATION_MAX } from "../../native/constants.ts";
import type { OwnedRule } from "./kernel-rule.ts";
import type { LeftOutRule, RoomLimit } from "./room-limit.ts";

type Fittable = Pick<OwnedRule, "id" | "rule" | "whole">;

interface Fitting<Of> {
  /** In the given order. */
  readonly rules: readonly Of[];
  readonly leftOut: readonly LeftOutRule<Of>[];
}

/**
 * The first rules that fit into `room` and the kernel's limit per destination, in the given order. Of a scrub filter all
 * or none: without the rules that let services pass, the last one would drop everything, and without those by which
 * questions are learned, no answer would pass.
 * @param inForce ids of rules that come first, with all that belong to them.
 */
export function fittingRules<Of extends Fittable>(
  wanted: readonly Of[],
  room: number,
  inForce: ReadonlySet<string> = NONE,
): Fitting<Of> {
  if (wanted.length <= room && !overfills(countByDestination(wanted))) return { rules: wanted, leftOut: [] };
  const units = [...Map.groupBy(wanted, ({ id, whole }) => whole ?? id).values()];
  const isOld = (unit: readonly Of[]) => unit.some(({ id }) => inForce.has(id));
  const towards = new Map<string, number>();
  const fitting = new Set<Of>();
  const leftOut: LeftOutRule<Of>[] = [];
  for (const unit of [...units.filter(isOld), ...units.filter((each) => !isOld(each))]) {
    const more = countByDestination(unit, towards);
    const limit = exceeded(fitting.size + unit.length > room, more);
    if (limit !== null) {
      for (const rule of unit) leftOut.push({ rule, limit });
      continue;
    }
    for (const [destination, count] of more) towards.set(destination, count);
    for (const rule of unit) fitting.add(rule);
  }
  return { rules: wanted.filter((rule) => fitting.has(rule)), leftOut };
}

function exceeded(isBeyondRoom: boolean, counts: ReadonlyMap<string, number>): RoomLimit | null {
  if (overfills(counts)) return "one_destination";
  return isBeyondRoom ? "max_dynamic_rules" : null;
}

const NONE: ReadonlySet<string> = new Set();

/** Counts of rules by destination; those of `before` are continued. */
function countByDestination(rules: readonly Fittable[], before: ReadonlyMap<string, number> = new Map()) {
  const counts = new Map<string, number>();
  for (const { rule } of rules) {
    const destination = rule.destination?.text ?? "any";
    counts.set(destination, (counts.get(destination) ?? before.get(destination) ?? 0) + 1);
  }
  return counts;
}

function overfills(counts: ReadonlyMap<string, number>): boolean {
  return counts.values().some((count) => count > FILTER_RULES_PER_DESTINATION_MAX);
}
