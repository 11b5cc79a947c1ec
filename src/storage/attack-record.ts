/**
 * Attacks as databases store them, as one record: fields that an earlier build did not write get a value when they are
 * read.
 */
import type { Attack } from "../detection/attack/attack.ts";
import { NO_BASELINE } from "../detection/attack/reason.ts";

const NO_FINDINGS = {
  carpet: null,
  classification: null,
  lastingRise: false,
  samplingError: null,
  volume: null,
  timeline: [],
} as const;

/** For a sample that was taken without a file of origins. */
const NO_ORIGINS = { origins: null } as const;

type Added = keyof typeof NO_FINDINGS;
type Stored = Omit<Attack, Added | "reason"> &
  Partial<Pick<Attack, Added>> & {
    readonly reason: Omit<Attack["reason"], keyof typeof NO_BASELINE> & Partial<Attack["reason"]>;
  };

export function attackOfRecord(record: string): Attack {
  const stored = JSON.parse(record) as Stored;
  const sample = stored.sample === null ? null : { ...NO_ORIGINS, ...stored.sample };
  return { ...NO_FINDINGS, ...stored, sample, reason: { ...NO_BASELINE, ...stored.reason } };
}
