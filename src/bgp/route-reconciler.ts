/**
 * Brings the speaker's own routes to the wanted set: announces what is missing, withdraws what is surplus, looks up
 * what goes out. Passes run one at a time; a change during a pass makes another one follow.
 */
import type { Route, RouteState } from "../mitigation/announcer.ts";
import type { Clock } from "../system/clock.ts";
import type { Session } from "./neighbor.ts";
import { ROUTE_FAMILIES, type RouteFamily } from "./route-family.ts";
import { RouteLedger, type SpeakerState } from "./route-ledger.ts";
import {
  familyOfKey,
  isOurs,
  keyOfPath,
  type OwnPath,
  type RouteKey,
  toOwnPath,
  toPaths,
  toWithdrawal,
} from "./route-path.ts";
import { type QuarantineNews, RouteQuarantine } from "./route-quarantine.ts";
import type { SpeakerClient } from "./speaker-client.ts";
import { asError, SpeakerFault } from "./speaker-fault.ts";

export interface RouteReconcilerOptions {
  readonly clock: Clock;
  /** A route is out for the first time, this long after it was wanted. */
  readonly onAnnounced: (latencyMs: number) => void;
  /** A pass that want() set off failed: the client is to be given up. */
  readonly onFault: (fault: Error) => void;
  /** A neighbor breaks its session over what it was sent. */
  readonly onQuarantine: (news: QuarantineNews) => void;
  /** Route states may have changed. Never from within want(). */
  readonly onChange: () => void;
}

/**
 * Up to here unicast prefixes are looked up one by one; a neighbor's whole out-table is cheaper beyond. GoBGP cannot
 * look up single FlowSpec routes.
 */
const SINGLE_LOOKUPS_MAX = 16;

export class RouteReconciler {
  readonly #options: RouteReconcilerOptions;
  readonly #quarantine = new RouteQuarantine();
  readonly #ledger = new RouteLedger((key) => this.#quarantine.keepsBack(key));
  #speaker: SpeakerState = { kind: "starting" };
  /** null: no speaker to talk to. */
  #client: SpeakerClient | null = null;
  #pass: Promise<void> | null = null;
  #passAgain = false;
  /** Read within a pass, so that no change of ours falls between the reading and its use. */
  #isListDue = false;

  constructor(options: RouteReconcilerOptions) {
    this.#options = options;
  }

  want(routes: readonly Route[]): void {
    this.#ledger.want(routes, this.#options.clock.monotonicMs());
    queueMicrotask(() => {
      this.#options.onChange();
      this.settle().catch((error: unknown) => {
        // A client that was given up fails of itself.
        if (this.#client !== null) this.#options.onFault(asError(error));
      });
    });
  }

  state(route: Route): RouteState {
    return this.#ledger.state(this.#ledger.keyOf(route), this.#speaker);
  }

  advertised(neighbor: string): number {
    return this.#ledger.advertised(neighbor);
  }

  /** Rules that are kept back since this neighbor resets its session over them. */
  keptBack(neighbor: string): number {
    return this.#quarantine.heldBy(neighbor);
  }

  /** A speaker is there, in any state: reads what it has of ours and settles. Throws when it fails. */
  async attach(client: SpeakerClient): Promise<void> {
    // What a pass of an earlier client did and did not do shows in what the speaker has; its failure is known.
    await this.#pass?.catch(() => {});
    this.#client = client;
    await this.check();
  }

  /** The client is given up. What it did is unknown until the next attach(); route states stay as they are. */
  detach(): void {
    this.#client = null;
  }

  /** After attach() and with the sessions known: route states tell what the speaker does. */
  up(): void {
    this.#speaker = { kind: "up" };
    this.#options.onChange();
  }

  down(cause: string): void {
    this.#ledger.sessionsAre([]);
    this.#quarantine.speakerLost();
    const isNews = this.#speaker.kind !== "down" || this.#speaker.cause !== cause;
    this.#speaker = { kind: "down", cause };
    if (isNews) this.#options.onChange();
  }

  /** Settles after reading anew what the speaker has, which nobody but us should have changed. */
  check(): Promise<void> {
    this.#isListDue = true;
    return this.settle();
  }

  sessionsAre(sessions: readonly Session[]): void {
    const isChanged = this.#ledger.sessionsAre(sessions);
    const news = this.#quarantine.sessionsAre(sessions, this.#options.clock.monotonicMs());
    for (const item of news) this.#options.onQuarantine(item);
    if (isChanged) this.#options.onChange();
  }

  /** Resolves when the wanted set is in the speaker, or at once without one. */
  settle(): Promise<void> {
    this.#passAgain = true;
    if (this.#client === null) return this.#pass ?? Promise.resolve();
    this.#pass ??= this.#passUntilSettled();
    return this.#pass;
  }

  async #passUntilSettled(): Promise<void> {
    try {
      while (this.#passAgain && this.#client !== null) {
        this.#passAgain = false;
        await this.#passOnce(this.#client);
      }
    } finally {
      // In the same breath as the last look at #passAgain: a settle() in between would be lost.
      this.#pass = null;
    }
  }

  /** Announcing goes first: it is what stops an attack. */
  async #passOnce(client: SpeakerClient): Promise<void> {
    if (this.#isListDue) {
      this.#isListDue = false;
      this.#ledger.speakerHas(await listOwnPaths(client));
    }
    const missing = this.#ledger.missing();
    if (missing.length > 0) {
      const rules = missing.filter(({ kind }) => kind === "flowspec").map((route) => this.#ledger.keyOf(route));
      this.#quarantine.sent(rules, this.#options.clock.monotonicMs());
      await client.sendPaths(toPaths(missing));
      this.#ledger.added(missing);
    }
    await this.#lookUpOut(client);
    const surplus = this.#ledger.surplus();
    if (surplus.length > 0) {
      await client.sendPaths(surplus.map(toWithdrawal));
      this.#ledger.withdrawn(surplus);
      this.#options.onChange();
    }
  }

  async #lookUpOut(client: SpeakerClient): Promise<void> {
    const keys = this.#ledger.unchecked();
    if (keys.length === 0) return;
    const sessions = this.#ledger.established();
    await Promise.all(
      sessions.map(async (session) => {
        const found = await listOut({ client, session, keys }).catch(emptyIfRefused);
        this.#ledger.outTable({ neighbor: session.address, looked: keys, found });
      }),
    );
    // Sessions that changed meanwhile have their own look to come.
    if (this.#ledger.established() !== sessions) return;
    const now = this.#options.clock.monotonicMs();
    for (const wantedAtMs of this.#ledger.checked(keys)) this.#options.onAnnounced(now - wantedAtMs);
    this.#options.onChange();
  }
}

async function listOwnPaths(client: SpeakerClient): Promise<readonly OwnPath[]> {
  const tables = await Promise.all(ROUTE_FAMILIES.map((family) => client.listGlobal(family)));
  return tables.flat().flatMap((path) => toOwnPath(path) ?? []);
}

/** A neighbor that was just removed; that its session is gone is told by the next look at the sessions. */
function emptyIfRefused(fault: unknown): ReadonlySet<string> {
  if (fault instanceof SpeakerFault && fault.kind === "failed") return new Set();
  throw fault;
}

/** Our routes in a neighbor's out-table, at least those asked for. */
async function listOut(options: {
  client: SpeakerClient;
  session: Session;
  keys: readonly RouteKey[];
}): Promise<ReadonlySet<RouteKey>> {
  const { client, session, keys } = options;
  const keysByFamily = Map.groupBy(keys, familyOfKey);
  // The speaker lists a family also where the neighbor does not take it.
  const lookups = session.families.map(async (family) => {
    const ofFamily = keysByFamily.get(family) ?? [];
    if (ofFamily.length === 0) return [];
    const prefixes = canLookUpSingly(family, ofFamily) ? ofFamily : [];
    return client.listAdjOut({ neighbor: session.address, family, prefixes });
  });
  const paths = (await Promise.all(lookups)).flat();
  return new Set(paths.filter(isOurs).flatMap((path) => keyOfPath(path) ?? []));
}

function canLookUpSingly(family: RouteFamily, keys: readonly RouteKey[]): boolean {
  return family.endsWith("unicast") && keys.length <= SINGLE_LOOKUPS_MAX;
}
