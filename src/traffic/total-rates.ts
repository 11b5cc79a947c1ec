/** Sums of rates over an interval, of all hostgroups, each tenant and each hostgroup: what was sent, and the peaks. */
import { type HostRows, ROW_WEIGHTS } from "./host-rows.ts";
import { BYTES_PER_MEGABIT, type Direction, METRICS, type Metric } from "./rates.ts";
import { TOTAL_PROTOCOLS, type TotalProtocol, type TotalRow, type TotalScope, totalSeries } from "./traffic-history.ts";

export interface SummedGroup {
  readonly name: string;
  readonly tenant: string | null;
}

interface Sums {
  readonly series: string;
  readonly direction: Direction;
  /** Places of a group's pps, mbps and flows_per_sec; -1: it has none. */
  readonly metrics: readonly number[];
  /** The rows of its hostgroups. */
  readonly groups: readonly number[];
  /** Rates times seconds, and the highest rates with their variances. */
  readonly counted: number[];
  readonly highest: number[];
  readonly variances: number[];
}

interface SummedRate {
  readonly direction: Direction;
  readonly metric: number;
  readonly ofBytes: boolean;
}

export class TotalRates {
  readonly #windowSeconds: number;
  #sums: readonly Sums[] = [];
  #hostgroups: readonly SummedGroup[] | null = null;

  /** @param windowMs over which rates are computed. */
  constructor(windowMs: number) {
    this.#windowSeconds = windowMs / 1000;
  }

  /** In the order of the rows; the same object means no change. Counts of what stays are kept. */
  setHostgroups(hostgroups: readonly SummedGroup[]): void {
    if (hostgroups === this.#hostgroups) return;
    this.#hostgroups = hostgroups;
    const before = new Map(this.#sums.map((sums) => [nameOf(sums), sums]));
    this.#sums = scopesOf(hostgroups).flatMap(({ scope, groups }) =>
      [null, ...TOTAL_PROTOCOLS].flatMap((protocol) =>
        (["incoming", "outgoing"] as const).map((direction) => {
          const fresh = { series: totalSeries(scope, protocol), direction, metrics: metricsOf(protocol), groups };
          const { counted = [0, 0, 0], highest = [0, 0, 0], variances = [0, 0, 0] } = before.get(nameOf(fresh)) ?? {};
          return { ...fresh, counted, highest, variances };
        }),
      ),
    );
  }

  /** The rates of all hostgroups after a tick, which came `seconds` after the one before. */
  add(groups: HostRows, seconds: number): void {
    for (const { direction, metrics, groups: own, counted, highest, variances } of this.#sums) {
      const column = groups[direction];
      for (const [i, metric] of metrics.entries()) {
        if (metric < 0) continue;
        let rate = 0;
        for (const group of own) rate += column[group * METRICS.length + metric] as number;
        counted[i] = (counted[i] as number) + rate * seconds;
        if (rate <= (highest[i] as number)) continue;
        highest[i] = rate;
        variances[i] = this.#variance(groups, { direction, metric, ofBytes: i === 1 }, own);
      }
    }
  }

  /** The variance of the sum of these groups' rates: their errors are independent. */
  #variance(rows: HostRows, { direction, metric, ofBytes }: SummedRate, groups: readonly number[]): number {
    const at = (direction === "incoming" ? 0 : ROW_WEIGHTS.length / 2) + (ofBytes ? 1 : 0);
    let sum = 0;
    for (const group of groups) {
      const weight = rows.weights[group * ROW_WEIGHTS.length + at] as number;
      if (weight > 0) sum += weight * (rows[direction][group * METRICS.length + metric] as number);
    }
    return sum / (this.#windowSeconds * (ofBytes ? BYTES_PER_MEGABIT : 1));
  }

  /** Rows with traffic, with the means over these seconds. */
  rows(seconds: number): TotalRow[] {
    return this.#sums.flatMap(({ series, direction, counted, highest, variances }) => {
      if (highest.every((rate) => rate === 0)) return [];
      const [pps = 0, mbps = 0, flows = 0] = counted.map((sum) => sum / seconds);
      const [maxPps = 0, maxMbps = 0, maxFlows = 0] = highest;
      const [ofPps = 0, ofMbps = 0, ofFlows = 0] = variances.map(Math.sqrt);
      const values = [pps, mbps, flows, Number.NaN, maxPps, maxMbps, maxFlows, ofPps, ofMbps, ofFlows] as const;
      return [{ series, outgoing: direction === "outgoing", values }];
    });
  }

  clear(): void {
    for (const { counted, highest, variances } of this.#sums) {
      counted.fill(0);
      highest.fill(0);
      variances.fill(0);
    }
  }
}

function scopesOf(hostgroups: readonly SummedGroup[]): { readonly scope: TotalScope; readonly groups: number[] }[] {
  const tenants = new Set(hostgroups.flatMap(({ tenant }) => tenant ?? []));
  return [
    { scope: { kind: "all" }, groups: [...hostgroups.keys()] },
    ...[...tenants].map((name) => ({
      scope: { kind: "tenant", name } as const,
      groups: hostgroups.flatMap(({ tenant }, i) => (tenant === name ? [i] : [])),
    })),
    ...hostgroups.map(({ name }, i) => ({ scope: { kind: "hostgroup", name } as const, groups: [i] })),
  ];
}

function nameOf({ series, direction }: Pick<Sums, "series" | "direction">): string {
  return `${direction} ${series}`;
}

function metricsOf(protocol: TotalProtocol | null): number[] {
  const names: readonly (Metric | null)[] =
    protocol === null ? ["pps", "mbps", "flows_per_sec"] : [`${protocol}_pps`, `${protocol}_mbps`, null];
  return names.map((name) => (name === null ? -1 : METRICS.indexOf(name)));
}
