/** Whether the rules of a ban separate its attack from the victim's users (docs/detection.md#separable). Pure. */

/** By what the share of users that rules match is estimated, from the most to the least certain. */
export const ESTIMATES = [
  /** The rules match only packets that no user of any host sends, such as answers of known amplifiers. */
  "protocol",
  /** Headers that the host received before the attack. */
  "profile",
  /** The services that the configuration says the host is there for. */
  "configuration",
  /** The other packets in the sample of the attack, and common services. */
  "sample",
] as const;
type Estimate = (typeof ESTIMATES)[number];

export interface Separability {
  /** `yes` and `no` only where it is known what users send. */
  readonly verdict: "yes" | "no" | "unknown";
  /** The share of the users' packets that the rules match, 0 to 1; null: nothing shows it. */
  readonly usersAtRisk: number | null;
  readonly estimatedBy: Estimate | null;
}

export const NOTHING_KNOWN: Separability = { verdict: "unknown", usersAtRisk: null, estimatedBy: null };

/** Rules that match more of the users than this are not called separable: above it, users notice. */
export const SEPARABLE_USERS_MAX = 0.01;

/** The worst of several attacks on one prefix. */
export function leastSeparable(all: readonly Separability[]): Separability {
  const order = ["no", "unknown", "yes"] as const;
  const [first = NOTHING_KNOWN, ...others] = all;
  return others.reduce((worst, each) => {
    const byVerdict = order.indexOf(each.verdict) - order.indexOf(worst.verdict);
    return byVerdict < 0 || (byVerdict === 0 && (each.usersAtRisk ?? 1) > (worst.usersAtRisk ?? 1)) ? each : worst;
  }, first);
}

export function isSameSeparability(a: Separability | undefined, b: Separability | undefined): boolean {
  return a?.verdict === b?.verdict && a?.estimatedBy === b?.estimatedBy;
}
