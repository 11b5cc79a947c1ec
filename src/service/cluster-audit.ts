/**
 * The audit trail of a cluster: rows of calls and of automatic bans reach all brains, with the same id at each. With one
 * database for all brains the holder of the lease writes the automatic ones.
 */
import { type Static, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { randomUUIDv7 } from "bun";
import {
  AUDIT_ACTIONS,
  AUDIT_RESULTS,
  AUDIT_SOURCES,
  AUDIT_TARGET_TYPES,
  type AuditEvent,
} from "../audit/audit-event.ts";
import { inChunks } from "../cluster/chunks.ts";
import { EventKeys, hashedId, type RenamedIds } from "../cluster/joins/event-keys.ts";
import { PendingRows } from "../cluster/joins/pending-rows.ts";
import { oneOf } from "../schema/schema-forms.ts";
import type { HistoryStore } from "../storage/history-store.ts";
import type { StateStore } from "../storage/state-store.ts";
import type { ServiceTrail } from "./audit-trail.ts";
import { ClusterOnce, type ClusterOnceOptions } from "./cluster-once.ts";

interface ClusterAuditOptions extends Omit<ClusterOnceOptions, "kind" | "entriesMax"> {
  /** Once the brains have agreed on the ids of attacks. */
  readonly whenAgreed: (report: () => void) => void;
  /** Start of this brain, wall clock, ms. */
  readonly startedAt: number;
  readonly state: Pick<StateStore, "table" | "stored">;
}

const [KIND, TAKEN] = ["audit", "audit_taken"];
const ROWS_OF_MESSAGE = 200;
/** Rows that another brain has not confirmed; over it the oldest is left to this brain alone. */
const PENDING_MAX = 10_000;
const KEPT_MAX = 10_000;
/** A smaller difference of clocks is not corrected, ms. */
const SKEW_MS = 1000;

/** A failed reload names all that is wrong in the file. */
const TEXT_MAX = 8192;

const Text = Type.String({ maxLength: TEXT_MAX });
const Row = Type.Object({
  id: Type.String({ maxLength: 64 }),
  event: Type.Object({
    wallMs: Type.Number(),
    action: oneOf(...AUDIT_ACTIONS),
    result: oneOf(...AUDIT_RESULTS),
    operator: Text,
    role: Text,
    tenant: Text,
    target: Text,
    targetType: oneOf(...AUDIT_TARGET_TYPES),
    reason: Text,
    source: oneOf(...AUDIT_SOURCES),
    banState: Text,
    dryRun: Type.Boolean(),
  }),
});
type Row = Static<typeof Row>;
/** Each row is read by itself: one of a newer build holds up no other one. */
const Body = Type.Object({ rows: Type.Array(Type.Unknown(), { maxItems: ROWS_OF_MESSAGE }) });
const Taken = Type.Object({ ids: Type.Array(Type.String({ maxLength: 64 }), { maxItems: ROWS_OF_MESSAGE }) });

type Store = Pick<HistoryStore, "storeAudit" | "isForAllBrains">;

export class ClusterAudit {
  readonly #options: ClusterAuditOptions;
  readonly #once: ClusterOnce<AuditEvent>;
  readonly #keys = new EventKeys();
  readonly #pending: PendingRows<Row>;

  constructor(options: ClusterAuditOptions) {
    const { peers, state } = options;
    this.#options = options;
    this.#once = new ClusterOnce({ ...options, kind: "audit_automatic", entriesMax: KEPT_MAX });
    const brains = peers.states().map(({ name }) => name);
    const stored = state.stored.audit_unconfirmed.toSorted((a, b) => a.event.wallMs - b.event.wallMs);
    this.#pending = new PendingRows({ brains, most: PENDING_MAX, store: state.table("audit_unconfirmed") }, stored);
    peers.onUp((name) => this.#say(name, this.#pending.of(name)));
  }

  /** The trail of this brain, which is shared. @param history of this brain. */
  trailOf(history: Store): ServiceTrail {
    const { peers, onUnread, whenAgreed, startedAt } = this.#options;
    peers.on(KIND, (from, body) => {
      if (!Value.Check(Body, body)) return onUnread(KIND, from);
      const rows = body.rows.filter((row): row is Row => Value.Check(Row, row));
      if (rows.length < body.rows.length) onUnread(KIND, from);
      this.#take(from, rows, history);
    });
    peers.on(TAKEN, (from, body) => {
      if (Value.Check(Taken, body)) this.#pending.taken(from, body.ids);
      else onUnread(TAKEN, from);
    });
    this.#once.start((entry) => {
      if (!this.#once.maySend(entry)) return;
      void history.storeAudit(entry.event, hashedId(entry.key)).then(() => this.#once.sent([entry]));
    });
    return {
      recordAudit: async (event) => {
        const id = randomUUIDv7();
        if (!history.isForAllBrains) this.#share({ id, event });
        await history.storeAudit(event, id);
      },
      recordAutomatic: ({ event, subject, isRestored }) =>
        whenAgreed(() => {
          // The numbers of a process that was started meanwhile begin again: its rows are not those of the one before.
          const process = isRestored ? ` after ${startedAt}` : "";
          const what = `${event.action} ${event.result} ${event.reason.slice(0, 64)}${process}`;
          const key = this.#keys.numbered(what, subject());
          if (history.isForAllBrains) this.#once.add({ key, target: "audit", event });
          else {
            const id = hashedId(key);
            this.#share({ id, event });
            void history.storeAudit(event, id);
          }
        }),
    };
  }

  /** Attacks are shown with other ids from now on. */
  renamed(ids: RenamedIds): void {
    this.#keys.renamed(ids);
    this.#once.renamed(ids);
  }

  stop(): void {
    this.#once.stop();
  }

  #share({ id, event }: Row): void {
    const row = { id, event: { ...event, reason: shortened(event.reason, this.#options.peers.own) } };
    this.#pending.add(row);
    for (const { name } of this.#options.peers.states()) this.#say(name, [row]);
  }

  #say(to: string, rows: readonly Row[]): void {
    for (let from = 0; from < rows.length; from += ROWS_OF_MESSAGE)
      for (const some of inChunks(rows.slice(from, from + ROWS_OF_MESSAGE)))
        this.#options.peers.send(to, KIND, { rows: some });
  }

  /** A row that is there already stays as it is. What is not stored yet comes again with the next connection. */
  #take(from: string, rows: readonly Row[], history: Store): void {
    const { peers } = this.#options;
    const skew = peers.states().find(({ name }) => name === from)?.skewMs ?? 0;
    const skewMs = Math.abs(skew) < SKEW_MS ? 0 : Math.round(skew);
    const taken = rows.map(async ({ id, event }) => {
      const isStored = await history.storeAudit({ ...event, wallMs: event.wallMs - skewMs }, id);
      return isStored ? [id] : [];
    });
    void Promise.all(taken).then((ids) => peers.send(from, TAKEN, { ids: ids.flat() }));
  }
}

/** @param own the brain that has all of it. */
function shortened(text: string, own: string): string {
  if (text.length <= TEXT_MAX) return text;
  const rest = `… (all of it is at ${own})`;
  return text.slice(0, TEXT_MAX - rest.length) + rest;
}
