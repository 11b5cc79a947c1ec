/**
 * Owns the table of incidents: puts each attack into one, and takes what people add, which is stored before it takes
 * effect (docs/interface.md#incident). Figures are stored within a second or, where incidents with very many attacks change at
 * once, one after the other; a restart may lose the last of them.
 */
import type { Holder } from "../access/shares.ts";
import type { Attack, AttackEvent } from "../detection/attack/attack.ts";
import { INCIDENTS_KEPT } from "../limits.ts";
import { carryOut, type Decision } from "../system/stored-order.ts";
import { changed, Entries, type Entry, figuresOf, recordOf } from "./entries.ts";
import { customerOf, type Incident, type IncidentKey, type IncidentState, severityOf, stateOf } from "./incident.ts";
import { INCIDENT_MEMBERS_KEPT, IncidentAttacks, NO_VICTIMS } from "./incident-attacks.ts";
import type { IncidentAnswer, IncidentRefusal, IncidentsOptions } from "./incident-options.ts";
import type { IncidentHead, IncidentView, ListedIncident, SharedIncident } from "./incident-view.ts";
import { joinedWork } from "./joined-work.ts";
import {
  type Deed,
  NO_WORK,
  type NoteOrder,
  nextDeedMs,
  noted,
  ordered,
  type Work,
  type WorkAnswer,
  type WorkOrder,
} from "./work.ts";

/** Figures are stored, and shown to those who listen, at most this often, ms. */
const LOOK_MS = 1000;
/** Listed attacks of the incidents that one tick stores and shows, of which one incident may have as many. */
const MEMBERS_AT_ONCE = INCIDENT_MEMBERS_KEPT;

/** Attacks of an incident by which other brains find theirs. */
const ATTACKS_SHARED = 8;

export class Incidents {
  readonly #options: IncidentsOptions;
  readonly #entries = new Entries();
  /** The incident of each attack in progress. */
  readonly #ofAttack = new Map<string, Entry>();
  readonly #listeners: ((view: IncidentView) => void)[] = [];
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  /** Those that had changed at the last look and are not stored and shown yet, in this order. */
  readonly #due = new Set<Entry>();
  /** Those that were quiet when looked at last: they close by themselves. */
  readonly #quiet = new Set<Entry>();

  constructor(options: IncidentsOptions) {
    this.#options = options;
  }

  /** Called for each incident that changed, at most once a second. */
  onChange(listener: (view: IncidentView) => void): void {
    this.#listeners.push(listener);
  }

  /** @param active the attacks in progress of the earlier process. */
  restore(incidents: readonly Incident[], active: readonly Attack[]): void {
    const own = Map.groupBy(active, ({ incident }) => incident ?? "");
    for (const incident of incidents.toSorted((a, b) => (a.id < b.id ? -1 : 1))) {
      const { id, aliases = [], tenant, group, direction, kind, startedAt, work } = incident;
      const lasting = [id, ...aliases].flatMap((each) => own.get(each) ?? []);
      const attacks = IncidentAttacks.restored(incident, lasting);
      const customer = customerOf({ tenant, group });
      const entry = { id, aliases, key: { tenant, group, direction, kind }, customer, startedAt, attacks, work };
      const restored: Entry = { ...entry, isUnsaved: false, isUnseen: false };
      this.#entries.add(restored);
      if (this.#stateOf(restored) === "quiet") this.#quiet.add(restored);
      for (const attack of lasting) this.#ofAttack.set(attack.id, restored);
    }
    this.reconfigured();
    for (const attack of active) if (!this.#ofAttack.has(attack.id)) this.#join(attack);
  }

  /** Gives each incident to the tenant that owns its victims by the configuration in force; to none if there are several. */
  reconfigured(): void {
    for (const entry of this.#entries.all()) {
      const tenant = entry.attacks.owner(this.#options.ownerOf, entry.key.group);
      if (tenant !== entry.key.tenant) this.#entries.give(entry, tenant);
    }
  }

  /** Puts the attack where it belongs, and returns the event with the incident in its attack. */
  recorded(event: AttackEvent): AttackEvent {
    const { kind, attack } = event;
    if (kind === "lasts") return event;
    if (kind === "started" && !this.#ofAttack.has(attack.id)) this.#join(attack);
    if (kind === "classified") this.#classified(attack);
    const stamped = { ...event, attack: this.stamped(attack) };
    if (kind === "ended") this.#end(attack);
    return stamped;
  }

  /** The attack with its incident. */
  stamped(attack: Attack): Attack {
    const id = this.#ofAttack.get(attack.id)?.id;
    return id === undefined || id === attack.incident ? attack : { ...attack, incident: id };
  }

  /** Newest first; may be read while incidents come and go. A reader makes the views that it wants. */
  *listed(): Iterable<ListedIncident> {
    for (const entry of [...this.#entries.all()].reverse()) {
      yield { head: this.#headOf(entry), view: () => this.#viewOf(entry) };
    }
  }

  /** The work that people added; null: there is no such incident. Unlike get() it makes no sums. */
  workOf(id: string): Work | null {
    return this.#entries.get(id)?.work ?? null;
  }

  get(id: string): IncidentView | null {
    const entry = this.#entries.get(id);
    return entry === null ? null : this.#viewOf(entry);
  }

  /** The part of an incident that other brains get; null: it is not known, or has no attack that stays with it. */
  sharedOf(id: string): SharedIncident | null {
    const entry = this.#entries.get(id);
    if (entry === null) return null;
    const attacks = entry.attacks.settled(this.#options.wallMs()).take(ATTACKS_SHARED).toArray();
    return attacks.length === 0 ? null : { id: entry.id, aliases: entry.aliases, attacks, work: entry.work };
  }

  /**
   * Takes what another brain has of an incident: it is the one here that has one of its ids, or else most of its attacks.
   * Returns whether there is one.
   */
  join({ id, aliases, attacks, work }: SharedIncident): boolean {
    const known = [id, ...aliases].map((each) => this.#entries.get(each)).find((entry) => entry !== null);
    const entry = known ?? this.#withMost(attacks);
    if (entry === null) return false;
    const joined = joinedWork(entry.work, work);
    if (joined !== entry.work) changed(entry);
    entry.work = joined;
    const before = this.#entries.alias(entry, id);
    if (before === null) return true;
    // Those who know it by the id before see it no more.
    this.#options.store.queue(before, null);
    this.#options.store.queue(entry.id, recordOf(entry));
    const gone = { ...this.#viewOf(entry), id: before, attacks: 0, active: 0, victims: NO_VICTIMS };
    for (const listener of this.#listeners) listener(gone);
    return true;
  }

  counts(): Record<IncidentState, number> {
    const counts = { active: 0, quiet: 0, closed: 0 };
    for (const entry of this.#entries.all()) counts[this.#stateOf(entry)]++;
    return counts;
  }

  /** Rejects with the store's error; then nothing has changed. */
  order(id: string, order: WorkOrder, by: Holder): Promise<IncidentAnswer> {
    return this.#work(id, by, (work, deed) => ordered(work, order, deed));
  }

  note(id: string, note: NoteOrder, by: Holder): Promise<IncidentAnswer> {
    return this.#work(id, by, (work, deed) => noted(work, note, deed, this.#options.callers()));
  }

  /** Reads rates about once a second, and stores and shows what changed, a part in each call. */
  tick(): void {
    const nowMs = this.#options.wallMs();
    if (Math.abs(nowMs - this.#lookedAtMs) >= LOOK_MS) this.#look(nowMs);
    let members = 0;
    for (const entry of this.#due) {
      if (members >= MEMBERS_AT_ONCE) break;
      members += entry.attacks.listed;
      this.#due.delete(entry);
      this.#store(entry);
      if (entry.isUnseen) this.#show(entry);
    }
  }

  #look(nowMs: number): void {
    this.#lookedAtMs = nowMs;
    const lasting = [...this.#options.attacks()].filter(({ id }) => this.#ofAttack.has(id));
    for (const [entry, attacks] of Map.groupBy(lasting, ({ id }) => this.#ofAttack.get(id) as Entry)) {
      entry.attacks.see(attacks);
      entry.isUnseen = true;
    }
    for (const entry of this.#quiet) {
      if (this.#stateOf(entry) === "quiet") continue;
      this.#quiet.delete(entry);
      entry.isUnseen = true;
    }
    for (const entry of this.#entries.all()) if (entry.isUnsaved || entry.isUnseen) this.#due.add(entry);
  }

  /** Queues what is not stored yet. */
  save(): void {
    for (const entry of this.#entries.all()) this.#store(entry);
  }

  #store(entry: Entry): void {
    if (!entry.isUnsaved) return;
    entry.isUnsaved = false;
    this.#options.store.queue(entry.id, recordOf(entry));
  }

  #show(entry: Entry): void {
    entry.isUnseen = false;
    if (this.#listeners.length === 0) return;
    const view = this.#viewOf(entry);
    for (const listener of this.#listeners) listener(view);
  }

  /**
   * An attack whose kind is not known yet joins the incident of its customer that was attacked last; when its kind is
   * known, it moves if that is another one.
   */
  #join(attack: Attack): void {
    const kind = attack.classification?.type ?? null;
    const key = this.#keyOf(attack, kind);
    const entry = this.#openOf(key, attack.startedAt, kind === null) ?? this.#begin(key, attack.startedAt);
    if (entry === null) this.#options.observer.unplaced(attack);
    else this.#put(entry, attack, kind !== null);
  }

  #classified(attack: Attack): void {
    const entry = this.#ofAttack.get(attack.id);
    const kind = attack.classification?.type ?? null;
    if (entry === undefined || kind === null || entry.attacks.member(attack.id)?.isPlaced !== false) return;
    if (entry.key.kind === kind) {
      entry.attacks.place(attack.id);
      return;
    }
    const key = this.#keyOf(attack, kind);
    const open = this.#openOf(key, attack.startedAt, false);
    if (open === null && (entry.key.kind === null || entry.attacks.attacks === 1)) {
      entry.key = { ...entry.key, kind };
      entry.attacks.place(attack.id);
      changed(entry);
      return;
    }
    const other = open ?? this.#begin(key, attack.startedAt);
    if (other === null) return;
    this.#takeOut(entry, attack);
    this.#put(other, attack, true);
  }

  #put(entry: Entry, attack: Attack, isPlaced: boolean): void {
    entry.attacks.add(attack, isPlaced);
    this.#ofAttack.set(attack.id, entry);
    this.#quiet.delete(entry);
    changed(entry);
  }

  /** An incident without attacks stays only for what people wrote. */
  #takeOut(entry: Entry, { id }: Attack): void {
    entry.attacks.remove(id);
    this.#ofAttack.delete(id);
    changed(entry);
    if (entry.attacks.attacks === 0 && entry.work === NO_WORK) {
      this.#show(entry);
      this.#forget(entry);
    } else if (entry.attacks.active === 0) this.#quiet.add(entry);
  }

  #end(attack: Attack): void {
    const entry = this.#ofAttack.get(attack.id);
    if (entry === undefined) return;
    entry.attacks.end(attack);
    this.#ofAttack.delete(attack.id);
    if (entry.attacks.active === 0) this.#quiet.add(entry);
    changed(entry);
  }

  #withMost(attacks: readonly string[]): Entry | null {
    const entries = attacks.flatMap((id) => this.#entries.withAttack(id, this.#options.wallMs()) ?? []);
    const counts = [...Map.groupBy(entries, (entry) => entry)].map(([entry, each]) => [entry, each.length] as const);
    const [most] = counts.sort(([a, many], [b, more]) => more - many || (a.id < b.id ? -1 : 1));
    return most?.[0] ?? null;
  }

  #keyOf(attack: Attack, kind: string | null): IncidentKey {
    const { group, direction } = attack;
    return { tenant: this.#options.ownerOf(attack), group, direction, kind };
  }

  /** The newest that an attack may join at this moment. @param isAnyKind whatever its kind is. */
  #openOf(key: IncidentKey, atMs: number, isAnyKind: boolean): Entry | null {
    const customer = customerOf(key);
    const isOpen = (entry: Entry) =>
      entry.key.direction === key.direction &&
      (isAnyKind || entry.key.kind === key.kind) &&
      stateOf(figuresOf(entry), atMs) !== "closed";
    return this.#entries.of(customer).findLast(isOpen) ?? null;
  }

  /** null: there is no room, since all are open. */
  #begin(key: IncidentKey, startedAt: number): Entry | null {
    if (this.#entries.size >= INCIDENTS_KEPT && !this.#makeRoom()) return null;
    const id = this.#options.newId();
    const attacks = new IncidentAttacks(startedAt);
    const customer = customerOf(key);
    const begun = { id, aliases: [], key, customer, startedAt, attacks, work: NO_WORK };
    const entry: Entry = { ...begun, isUnsaved: true, isUnseen: true };
    this.#entries.add(entry);
    this.#options.observer.opened(this.#viewOf(entry));
    return entry;
  }

  /** Removes one of the customer that has most, so that attacks on one do not take those of the others. */
  #makeRoom(): boolean {
    for (const own of this.#entries.bySize()) {
      const oldest = own.find((entry) => this.#stateOf(entry) === "closed");
      if (oldest === undefined) continue;
      this.#options.observer.dropped(this.#viewOf(oldest));
      this.#forget(oldest);
      return true;
    }
    return false;
  }

  #forget(entry: Entry): void {
    this.#entries.remove(entry);
    this.#quiet.delete(entry);
    this.#due.delete(entry);
    this.#options.store.queue(entry.id, null);
  }

  async #work(id: string, by: Holder, change: (work: Work, deed: Deed) => WorkAnswer): Promise<IncidentAnswer> {
    const { operator, tenant } = by;
    const wallMs = this.#options.wallMs();
    const deedOn = (work: Work): Deed => ({ by: { operator, tenant }, atMs: nextDeedMs(work, wallMs) });
    const outcome = await carryOut<Incident, IncidentRefusal>({
      table: this.#options.store,
      decide: () => this.#decide(id, (work) => change(work, deedOn(work))),
      present: (key) => {
        const entry = this.#entries.get(key);
        return entry?.id === key ? recordOf(entry) : null;
      },
      takeEffect: ({ id: key, work }) => {
        const entry = this.#entries.get(key);
        if (entry === null) return;
        entry.work = work;
        changed(entry);
      },
    });
    const view = this.get(id);
    if (outcome.kind === "refused") {
      if (outcome.refusal !== "unknown") this.#options.observer.refused(outcome.refusal);
      return outcome;
    }
    if (view === null) return { kind: "refused", refusal: "unknown" };
    this.#options.observer.worked(view);
    return { kind: "done", view, isSaved: outcome.isSaved };
  }

  #decide(id: string, change: (work: Work) => WorkAnswer): Decision<Incident, IncidentRefusal> {
    const entry = this.#entries.get(id);
    if (entry === null) return { kind: "refused", refusal: "unknown" };
    const answer = change(entry.work);
    if (answer.kind === "refused") return answer;
    const record = { ...recordOf(entry), work: answer.work };
    return { kind: "begins", key: entry.id, record, basis: [entry.work, entry.id] };
  }

  #stateOf(entry: Entry): IncidentState {
    return stateOf(figuresOf(entry), this.#options.wallMs());
  }

  #headOf(entry: Entry): IncidentHead {
    const { id, key, startedAt, attacks, work } = entry;
    return {
      ...{ id, ...key, startedAt, work },
      state: this.#stateOf(entry),
      endedAt: attacks.active > 0 ? null : attacks.lastEndedAt,
      victims: () => attacks.victimTexts(),
    };
  }

  #viewOf(entry: Entry): IncidentView {
    const { attacks } = entry;
    return {
      ...this.#headOf(entry),
      attacks: attacks.attacks,
      active: attacks.active,
      victims: attacks.victims,
      isWhole: attacks.isWhole,
      sums: attacks.sums,
      peaks: attacks.peaks,
      severity: severityOf(attacks.peaks, this.#options.linkMbps()),
      worst: attacks.worst,
      members: () => attacks.members(),
    };
  }
}
