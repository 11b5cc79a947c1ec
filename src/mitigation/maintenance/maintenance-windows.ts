/**
 * The maintenance windows of the configuration and those that operators opened, which of them are open, and what holds
 * there. An order is on disk before it takes effect, and ends at once. Times are wall clock, ms.
 */
import { MAINTENANCE_AHEAD_SECONDS_MAX, MAINTENANCE_ORDERS_MAX, MAINTENANCE_SECONDS_MAX } from "../../limits.ts";
import type { RecordTable } from "../../system/record-table.ts";
import { type Commander, type OrderObserver, type OrderTimes, StandingOrders } from "../../system/standing-orders.ts";
import { isFor, opensNext, openUntil, type Subject, type Window } from "./window.ts";

/** As it is kept. */
export interface WindowOrder {
  readonly name: string;
  readonly window: Window;
  readonly createdAt: number;
  readonly expiresAt: number;
  /** Name of the token; "": an open API. */
  readonly operator: string;
}

export type WindowRefusal = "name_configured" | "too_many_windows";
type WindowEnd = "closed" | "expired";
export type WindowObserver = OrderObserver<WindowOrder, WindowRefusal, WindowEnd>;

interface MaintenanceOptions {
  readonly configured: readonly Window[];
  readonly store: RecordTable<WindowOrder>;
  readonly observer: WindowObserver;
  readonly wallMs: () => number;
  /** Other windows are open now. */
  readonly onChange: () => void;
}

export interface WindowView {
  readonly window: Window;
  /** null: of the configuration. */
  readonly order: WindowOrder | null;
  readonly openUntil: number | null;
  readonly opensNext: ReturnType<typeof opensNext>;
}

type WindowAnswer =
  | { readonly kind: "done"; readonly view: WindowView; readonly isSaved: boolean }
  | { readonly kind: "refused"; readonly refusal: WindowRefusal };

const TIMES: OrderTimes<WindowOrder> = {
  endsAt: ({ expiresAt }) => expiresAt,
  endingAt: (order, expiresAt) => ({ ...order, expiresAt, window: closingAt(order.window, expiresAt) }),
  longestMs: (order) => (MAINTENANCE_SECONDS_MAX + (isScheduled(order) ? MAINTENANCE_AHEAD_SECONDS_MAX : 0)) * 1000,
  staysAtWallTime: isScheduled,
};

/** When it opens, as the operator gave it; null: it is open from its order on, also after the clock was set back. */
export function opensAt({ window: { times }, createdAt }: WindowOrder): number | null {
  return times.kind === "once" && times.fromMs > createdAt ? times.fromMs : null;
}

function isScheduled(order: WindowOrder): boolean {
  return opensAt(order) !== null;
}

function withTimesOf(order: WindowOrder): WindowOrder {
  const { window, expiresAt } = order;
  return { ...order, window: { ...window, times: { kind: "once", fromMs: opensAt(order) ?? 0, untilMs: expiresAt } } };
}

function closingAt(window: Window, untilMs: number): Window {
  return window.times.kind === "once" ? { ...window, times: { ...window.times, untilMs } } : window;
}

export class MaintenanceWindows {
  readonly #options: MaintenanceOptions;
  readonly #orders: StandingOrders<WindowOrder, WindowRefusal, WindowEnd>;
  #configured: readonly Window[];
  #open: readonly Window[] = [];

  /** @param kept orders of an earlier process; some may be over. */
  constructor(options: MaintenanceOptions, kept: Iterable<WindowOrder> = []) {
    this.#options = options;
    this.#configured = options.configured;
    const { store, observer } = options;
    this.#orders = new StandingOrders({ store, keyOf: ({ name }) => name, times: TIMES, observer });
    this.#orders.restore([...kept].map(withTimesOf));
    this.#open = this.#openAmong(this.#configured);
  }

  /** Those that operators opened first. */
  views(): WindowView[] {
    const wallMs = this.#options.wallMs();
    const ordered = [...this.#orders.all.values()].map((order) => viewOf(order.window, order, wallMs));
    return [...ordered, ...this.#configured.map((window) => viewOf(window, null, wallMs))];
  }

  /** Opens a window, or changes the one of its name. Rejects with the store's error: then nothing changed. */
  async open(ordered: WindowOrder): Promise<WindowAnswer> {
    const order = withTimesOf(ordered);
    const outcome = await this.#orders.place<WindowRefusal>({
      decide: () => {
        const refusal = this.#refusal(order);
        if (refusal !== null) return { kind: "refused", refusal };
        return { kind: "begins", key: order.name, record: order, basis: [] };
      },
      takeEffect: () => this.#update(),
    });
    if (outcome.kind === "refused") return outcome;
    const view = viewOf(order.window, order, this.#options.wallMs());
    return { kind: "done", view, isSaved: outcome.isSaved };
  }

  /** null: no window of this name was ordered. Otherwise whether its end is on disk. */
  async close(
    name: string,
    by?: Commander,
  ): Promise<{ readonly order: WindowOrder; readonly isSaved: boolean } | null> {
    const order = this.#orders.get(name);
    if (order === null) return null;
    const saved = this.#orders.endSaved("closed", [order], by);
    this.#update();
    return { order, isSaved: await saved };
  }

  /** Those that callers opened, by name. */
  get orders(): ReadonlyMap<string, WindowOrder> {
    return this.#orders.all;
  }

  /** The window of another brain, in place of the one of its name. Returns null, or why it cannot be open here. */
  adopt(order: WindowOrder): WindowRefusal | null {
    const refusal = this.#refusal(order);
    if (refusal !== null) return refusal;
    this.#orders.adopt(withTimesOf(order));
    this.#update();
    return null;
  }

  /** Another brain has closed it. */
  endAdopted(order: WindowOrder): void {
    this.#orders.end("closed", [order]);
    this.#update();
  }

  tick(wallMs: number): void {
    this.#orders.shorten(wallMs);
    this.#orders.expire("expired", wallMs);
    this.#update();
  }

  /** The wall clock was set by `byMs`: the time that is left does not change, but of those that open at a given time. */
  clockStepped(byMs: number): void {
    this.#orders.shift(byMs);
  }

  reconfigure(configured: readonly Window[]): void {
    this.#configured = configured;
    this.#update();
  }

  /** The windows that would hold now if these were configured. Nothing is changed. */
  under(configured: readonly Window[]): Pick<MaintenanceWindows, "isWatchOnly"> {
    const open = this.#openAmong(configured);
    return { isWatchOnly: (subject) => isWatchOnlyIn(open, subject) };
  }

  /** Number of those that are open. */
  get openCount(): number {
    return this.#open.length;
  }

  isWatchOnly(subject: Subject): boolean {
    return isWatchOnlyIn(this.#open, subject);
  }

  isQuiet(subject: Subject): boolean {
    return this.#open.some((window) => window.quiet && isFor(window, subject));
  }

  /** The largest of those that are open there. */
  thresholdFactor(subject: Subject): number {
    return this.#open.reduce((most, one) => (isFor(one, subject) ? Math.max(most, one.thresholdFactor) : most), 1);
  }

  #refusal({ name }: WindowOrder): WindowRefusal | null {
    if (this.#configured.some((window) => window.name === name)) return "name_configured";
    const isRoom = this.#orders.get(name) !== null || this.#orders.all.size < MAINTENANCE_ORDERS_MAX;
    return isRoom ? null : "too_many_windows";
  }

  /** With those that were ordered. */
  #openAmong(configured: readonly Window[]): readonly Window[] {
    const wallMs = this.#options.wallMs();
    const all = [...[...this.#orders.all.values()].map(({ window }) => window), ...configured];
    return all.filter((window) => openUntil(window, wallMs) !== null);
  }

  #update(): void {
    const open = this.#openAmong(this.#configured);
    const isSame = open.length === this.#open.length && open.every((window, i) => window === this.#open[i]);
    this.#open = open;
    if (!isSame) this.#options.onChange();
  }
}

function viewOf(window: Window, order: WindowOrder | null, wallMs: number): WindowView {
  return { window, order, openUntil: openUntil(window, wallMs), opensNext: opensNext(window, wallMs) };
}

function isWatchOnlyIn(open: readonly Window[], subject: Subject): boolean {
  return open.some((window) => window.watchOnly && isFor(window, subject));
}
