/**
 * One page of hosts (hosts-query.ts), selected in one pass over all hosts; the others are neither sorted nor
 * serialized.
 */
import { addressOrder } from "../../net/address.ts";
import { prefixContains } from "../../net/prefix.ts";
import { METRICS, round } from "../../traffic/rates.ts";
import type { HostView } from "../backend.ts";
import type { Reader } from "../table-pass.ts";
import { type HostWire, hostToWire } from "../wire/traffic/host.ts";
import { type HostsPageQuery, type Place, placeText } from "./hosts-query.ts";
import { isVisible, type VisibleGroups } from "./hosts-snapshots.ts";

interface Kept {
  readonly place: Place;
  readonly wire: HostWire;
}

export class HostsPage implements Reader<HostView> {
  readonly #query: HostsPageQuery;
  readonly #metric: number;
  readonly #groups: VisibleGroups;
  /** Candidates for the page, which may be more than fit until the next #shrink. */
  #kept: Kept[] = [];
  /** The last place on the page, once it is full. */
  #last: Place | null = null;
  #total = 0;
  /** Number of matching hosts after the cursor. */
  #beyondCursor = 0;

  constructor(query: HostsPageQuery, groups: VisibleGroups) {
    this.#query = query;
    this.#groups = groups;
    this.#metric = query.sort.by === "target" ? -1 : METRICS.indexOf(query.sort.by);
  }

  see(host: HostView): void {
    if (!isVisible(host, this.#groups) || !this.#matches(host)) return;
    this.#total++;
    const { after, limit } = this.#query;
    const rate = this.#metric < 0 ? 0 : round(host.rates[this.#metric] ?? 0);
    // Most hosts of a large table are rejected here, before their address is read.
    if (after === null && this.#last !== null && this.#compareRates(rate, this.#last.rate) > 0) {
      this.#beyondCursor++;
      return;
    }
    const place = { rate, order: addressOrder(host.target) };
    if (after !== null && this.#compare(place, after) <= 0) return;
    this.#beyondCursor++;
    if (this.#last !== null && this.#compare(place, this.#last) > 0) return;
    this.#kept.push({ place, wire: hostToWire(host) });
    if (this.#kept.length >= 2 * limit) this.#shrink();
  }

  answer(): Blob {
    this.#shrink();
    const hosts = this.#kept.map(({ wire }) => wire);
    const last = this.#kept.at(-1);
    const page = { hosts, total: this.#total };
    const hasMore = last !== undefined && this.#beyondCursor > hosts.length;
    return new Blob([
      JSON.stringify(
        hasMore ? { ...page, next: placeText(this.#query.sort, last.place.rate, last.wire.target) } : page,
      ),
    ]);
  }

  #matches(host: HostView): boolean {
    const { group, search, state } = this.#query;
    if (state !== null && (host.attack !== null) !== (state === "attacked")) return false;
    if (group !== null && host.group !== group) return false;
    if (search === null) return true;
    return typeof search === "string" ? host.target.includes(search) : prefixContains(search, host.target);
  }

  #shrink(): void {
    this.#kept.sort((a, b) => this.#compare(a.place, b.place));
    this.#kept.length = Math.min(this.#kept.length, this.#query.limit);
    if (this.#kept.length === this.#query.limit) this.#last = this.#kept.at(-1)?.place ?? null;
  }

  #compare(a: Place, b: Place): number {
    const { by, isDescending } = this.#query.sort;
    if (a.rate !== b.rate) return this.#compareRates(a.rate, b.rate);
    const byAddress = a.order < b.order ? -1 : a.order > b.order ? 1 : 0;
    return by === "target" && isDescending ? -byAddress : byAddress;
  }

  #compareRates(a: number, b: number): number {
    return this.#query.sort.isDescending ? b - a : a - b;
  }
}
