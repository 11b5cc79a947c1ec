/**
 * Decides when the begin and the end of a condition are notified: a begin once it has lasted, an end once it has been
 * absent, so that what comes and goes is one problem. Bounded by its readings, and by what an earlier process notified.
 */
import { CONDITIONS, type Condition, type ConditionKind } from "./condition.ts";

/** The state of one part now. */
export interface ConditionReading {
  readonly kind: ConditionKind;
  readonly name: string;
  /** null: nothing is wrong. */
  readonly found: string | null;
  /** Whether it was not looked at yet since the start: what was known of it stays. */
  readonly isUnknown?: boolean;
}

interface ConditionChange extends Condition {
  readonly kind: ConditionKind;
  readonly isOver: boolean;
}

interface Known {
  readonly reading: ConditionReading;
  /** Since when it is wrong without a break, or, once it is notified, since when it is not; null: it is not. */
  sinceMs: number | null;
  isNotified: boolean;
  /** Whether it is notified again if it holds still. */
  isRepeated: boolean;
}

export class ConditionWatch {
  readonly #known = new Map<string, Known>();

  /** An earlier process notified its begin. @param isKnown to a target that there is now. */
  restore(kind: ConditionKind, { name, found }: Condition, isKnown = true): void {
    const reading = { kind, name, found };
    this.#known.set(`${kind} ${name}`, { reading, sinceMs: null, isNotified: true, isRepeated: !isKnown });
  }

  /** @param readings of all parts; one that is missing was removed, and what was wrong with it is over. */
  take(readings: Iterable<ConditionReading>, monotonicMs: number): readonly ConditionChange[] {
    const changes: ConditionChange[] = [];
    const present = new Set<string>();
    for (const reading of readings) {
      const key = `${reading.kind} ${reading.name}`;
      present.add(key);
      const change = this.#next(key, reading, monotonicMs);
      if (change !== null) changes.push(change);
    }
    for (const [key, { reading, isNotified }] of this.#known) {
      if (present.has(key)) continue;
      this.#known.delete(key);
      if (isNotified) changes.push({ kind: reading.kind, name: reading.name, found: "", isOver: true });
    }
    return changes;
  }

  #next(key: string, reading: ConditionReading, monotonicMs: number): ConditionChange | null {
    const { kind, name, found, isUnknown = false } = reading;
    if (isUnknown) return null;
    const { beginsAfterMs = 0, endsAfterMs = 0 } = CONDITIONS[kind];
    const known = this.#known.get(key) ?? { reading, sinceMs: null, isNotified: false, isRepeated: false };
    const isTurning = known.isNotified === (found === null);
    if (!isTurning) {
      if (!known.isNotified) this.#known.delete(key);
      known.sinceMs = null;
      if (!known.isRepeated) return null;
      known.isRepeated = false;
      return { kind, name, found: found ?? "", isOver: false };
    }
    this.#known.set(key, known);
    known.sinceMs ??= monotonicMs;
    if (monotonicMs - known.sinceMs < (known.isNotified ? endsAfterMs : beginsAfterMs)) return null;
    known.sinceMs = null;
    known.isNotified = !known.isNotified;
    if (!known.isNotified) this.#known.delete(key);
    return { kind, name, found: found ?? "", isOver: found === null };
  }
}
