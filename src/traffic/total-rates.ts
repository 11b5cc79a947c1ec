/** Sums of the hostgroups' rates over an interval, for all of them and for each tenant: what was sent, and the peaks. */
import type { HostRows } from "./host-rows.ts";
import { type Direction, METRICS, type Metric } from "./rates.ts";
import { TOTAL_PROTOCOLS, type TotalProtocol, type TotalRow, totalSeries } from "./traffic-history.ts";

interface Sums {
  readonly series: string;
  readonly direction: Direction;
  /** Of a group: where its pps, mbps and flows_per_sec are; -1: it has none. */
  readonly metrics: readonly number[];
  /** Of its hostgroups. */
  readonly groups: readonly number[];
  /** Rates times seconds, and the highest rates. */
  readonly counted: number[];
  readonly highest: number[];
}

export class TotalRates {
  #sums: readonly Sums[] = [];
  #tenants: readonly (string | null)[] = [];

  /** `tenants`: the tenant of each hostgroup. Counts of tenants that stay are kept. */
  setTenants(tenants: readonly (string | null)[]): void {
    if (this.#sums.length > 0 && String(tenants) === String(this.#tenants)) return;
    this.#tenants = [...tenants];
    const before = new Map(this.#sums.map((sums) => [nameOf(sums), sums]));
    this.#sums = [null, ...new Set(tenants.filter((tenant) => tenant !== null))].flatMap((tenant) => {
      const groups = tenants.flatMap((owner, i) => (tenant === null || owner === tenant ? [i] : []));
      return [null, ...TOTAL_PROTOCOLS].flatMap((protocol) =>
        (["incoming", "outgoing"] as const).map((direction) => {
          const fresh = { series: totalSeries(tenant, protocol), direction, metrics: metricsOf(protocol), groups };
          const { counted = [0, 0, 0], highest = [0, 0, 0] } = before.get(nameOf(fresh)) ?? {};
          return { ...fresh, counted, highest };
        }),
      );
    });
  }

  /** The rates of all hostgroups after a tick, which came `seconds` after the one before. */
  add(groups: HostRows, seconds: number): void {
    for (const { direction, metrics, groups: own, counted, highest } of this.#sums) {
      const column = groups[direction];
      for (const [i, metric] of metrics.entries()) {
        if (metric < 0) continue;
        let rate = 0;
        for (const group of own) rate += column[group * METRICS.length + metric] as number;
        counted[i] = (counted[i] as number) + rate * seconds;
        highest[i] = Math.max(highest[i] as number, rate);
      }
    }
  }

  /** Rows with traffic, with the means over these seconds. */
  rows(seconds: number): TotalRow[] {
    return this.#sums.flatMap(({ series, direction, counted, highest }) => {
      if (highest.every((rate) => rate === 0)) return [];
      const [pps = 0, mbps = 0, flows = 0] = counted.map((sum) => sum / seconds);
      const [maxPps = 0, maxMbps = 0, maxFlows = 0] = highest;
      const values = [pps, mbps, flows, Number.NaN, maxPps, maxMbps, maxFlows] as const;
      return [{ series, outgoing: direction === "outgoing", values }];
    });
  }

  clear(): void {
    for (const { counted, highest } of this.#sums) {
      counted.fill(0);
      highest.fill(0);
    }
  }
}

function nameOf({ series, direction }: Pick<Sums, "series" | "direction">): string {
  return `${direction} ${series}`;
}

function metricsOf(protocol: TotalProtocol | null): number[] {
  const names: readonly (Metric | null)[] =
    protocol === null ? ["pps", "mbps", "flows_per_sec"] : [`${protocol}_pps`, `${protocol}_mbps`, null];
  return names.map((name) => (name === null ? -1 : METRICS.indexOf(name)));
}
