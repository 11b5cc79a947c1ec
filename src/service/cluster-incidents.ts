/**
 * Incidents of a cluster: each brain forms its own, and brains say by which attacks, so that one incident has one id, and
 * what people add to it at one brain is at all.
 */
import { type Static, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { inChunks } from "../cluster/chunks.ts";
import type { Peers } from "../cluster/peers.ts";
import { STAMP_AHEAD_MAX_MS } from "../cluster/stamp.ts";
import type { SharedIncident } from "../incident/incident-view.ts";
import type { Incidents } from "../incident/incidents.ts";
import { INCIDENT_VERDICTS, nextDeedMs, type Work } from "../incident/work.ts";
import { INCIDENT_NOTE_MAX, INCIDENTS_KEPT } from "../limits.ts";
import { oneOf } from "../schema/schema-forms.ts";
import type { Clock } from "../system/clock.ts";
import type { AttackIds } from "./attack-ids.ts";

interface IncidentSharing {
  readonly peers: Peers;
  readonly clock: Pick<Clock, "wallMs">;
  readonly incidents: Pick<Incidents, "join" | "listed" | "onChange" | "sharedOf">;
  readonly attackIds: Pick<AttackIds, "shownId" | "ownIdOf">;
  readonly onUnread: (kind: string, from: string) => void;
}

const KIND = "incidents";
const ROWS_OF_MESSAGE = 500;
const IDS_MAX = 8;
/** Several brains may each take as many as an incident has while they do not reach each other. */
const NOTES_MAX = 256;

const Id = Type.String({ maxLength: 64 });
const Time = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
const Name = Type.String({ maxLength: 256 });
const Deed = { by: Type.Object({ operator: Name, tenant: Type.Union([Name, Type.Null()]) }), atMs: Time };
const orNull = <T extends Parameters<typeof Type.Object>[0]>(fields: T) =>
  Type.Union([Type.Object(fields), Type.Null()]);
const Row = Type.Object({
  id: Id,
  aliases: Type.Array(Id, { maxItems: IDS_MAX }),
  /** As they are shown. */
  attacks: Type.Array(Id, { maxItems: IDS_MAX }),
  work: Type.Object({
    owner: orNull(Deed),
    acknowledged: orNull(Deed),
    verdict: orNull({ ...Deed, is: oneOf(...INCIDENT_VERDICTS) }),
    releasedMs: Type.Optional(Time),
    clearedMs: Type.Optional(Time),
    notes: Type.Array(
      Type.Object({
        ...Deed,
        id: Type.Integer({ minimum: 1 }),
        // Counted here in units of UTF-16, of which a character has two at most.
        text: Type.String({ maxLength: 2 * INCIDENT_NOTE_MAX }),
        isHandover: Type.Boolean(),
        acknowledged: orNull(Deed),
      }),
      { maxItems: NOTES_MAX },
    ),
  }),
});
type Row = Static<typeof Row>;
/** Each row is read by itself: one of a newer build holds up no other one. */
const Body = Type.Object({ rows: Type.Array(Type.Unknown(), { maxItems: ROWS_OF_MESSAGE }) });

export function shareIncidents(options: IncidentSharing): void {
  const { peers, incidents, onUnread } = options;
  const shared = new SharedIncidents(options);
  incidents.onChange(({ id }) => shared.changed(id));
  peers.onUp((name) => shared.sayAll(name));
  peers.on(KIND, (from, body) => {
    if (!Value.Check(Body, body)) return onUnread(KIND, from);
    const rows = body.rows.filter((row): row is Row => Value.Check(Row, row));
    const known = rows.filter((row) => shared.take(row));
    if (known.length < body.rows.length) onUnread(KIND, from);
  });
}

class SharedIncidents {
  readonly #options: IncidentSharing;
  /** By id: what was said to the other brains last. */
  readonly #said = new Map<string, string>();
  /** By id: of other brains, of attacks that are in no incident here so far. */
  readonly #unmatched = new Map<string, Row>();

  constructor(options: IncidentSharing) {
    this.#options = options;
  }

  changed(id: string): void {
    const row = this.#rowOf(id);
    if (row === null) return;
    const text = JSON.stringify(row);
    if (this.#said.get(row.id) === text) return;
    put(this.#said, row.id, text);
    this.#options.peers.broadcast(KIND, { rows: [row] });
    const attacks = new Set(row.attacks);
    for (const other of [...this.#unmatched.values()])
      if (other.attacks.some((attack) => attacks.has(attack))) this.take(other);
  }

  sayAll(to: string): void {
    const { incidents, peers } = this.#options;
    const rows = [...incidents.listed()].flatMap(({ head }) => this.#rowOf(head.id) ?? []);
    for (const some of inChunks(rows)) peers.send(to, KIND, { rows: some });
  }

  /** Returns false for a row whose times cannot be right: all that is done later would come after them. */
  take(row: Row): boolean {
    const { incidents, attackIds, clock } = this.#options;
    const wallMs = clock.wallMs();
    if (nextDeedMs(row.work, wallMs) > wallMs + STAMP_AHEAD_MAX_MS) return false;
    this.#unmatched.delete(row.id);
    const attacks = row.attacks.map((id) => attackIds.ownIdOf(id));
    if (!incidents.join({ ...row, attacks, work: row.work satisfies Work })) put(this.#unmatched, row.id, row);
    return true;
  }

  #rowOf(id: string): SharedIncident | null {
    const { incidents, attackIds } = this.#options;
    const own = incidents.sharedOf(id);
    return own === null ? null : { ...own, attacks: own.attacks.map((attack) => attackIds.shownId(attack)) };
  }
}

/** Over the bound the oldest goes: it comes again with the next connection. */
function put<T>(table: Map<string, T>, id: string, value: T): void {
  table.delete(id);
  table.set(id, value);
  const [oldest] = table.keys();
  if (table.size > INCIDENTS_KEPT && oldest !== undefined) table.delete(oldest);
}
