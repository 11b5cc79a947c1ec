/** Attacks of a cluster: brains say which ones are in progress, so that one subject has one id. */
import { type Static, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { randomUUIDv7 } from "bun";
import { type AttackSubject, JoinedAttacks, type OwnAttack } from "../cluster/joins/attacks.ts";
import type { RenamedIds } from "../cluster/joins/event-keys.ts";
import type { Peers } from "../cluster/peers.ts";
import type { Attack, AttackEvent, AttackedSubject } from "../detection/attack/attack.ts";
import { ACTIVE_ATTACKS_MAX, CARPETS_MAX } from "../limits.ts";
import { addressToBytes } from "../net/address.ts";
import { canonicalPrefix, mappedLength } from "../net/prefix.ts";
import type { Clock } from "../system/clock.ts";
import type { Cancel, Timers } from "../system/timers.ts";
import type { AttackIds } from "./attack-ids.ts";

interface ClusterAttacksOptions {
  readonly peers: Peers;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly onUnread: (kind: string, from: string) => void;
  /** Attacks are shown with other ids than before: all those of one message at once. */
  readonly onRenamed: (ids: RenamedIds) => void;
}

const KIND = "attacks";
const ATTACKS_OF_MESSAGE = 1000;
const ATTACKS_MAX = ACTIVE_ATTACKS_MAX + CARPETS_MAX;
/** Those of one tick are one message. */
const GATHER_MS = 5;
/** Brains that detect an attack at the same time agree within this time: beyond it the link is slow. */
const AGREED_MS = 250;

/** A smaller difference of clocks is not corrected, ms. */
const SKEW_MS = 1000;

const Id = Type.String({ maxLength: 64 });
const Row = Type.Object({
  id: Id,
  joined_id: Id,
  direction: Type.String({ maxLength: 16 }),
  target: Type.String({ maxLength: 256 }),
  /** Bits of a prefix. */
  bits: Type.Optional(Type.String({ maxLength: 128, pattern: "^[01]*$" })),
  /** Wall clock of the sender, ms. */
  started_ms: Type.Number(),
});
type Row = Static<typeof Row>;
const Body = Type.Object({
  /** The first message of all that the brain has: what it said before is over. */
  is_first: Type.Boolean(),
  active: Type.Array(Row, { maxItems: ATTACKS_OF_MESSAGE }),
  ended: Type.Array(Id, { maxItems: ATTACKS_OF_MESSAGE }),
});
type Body = Static<typeof Body>;

export class ClusterAttacks implements AttackIds {
  readonly #options: ClusterAttacksOptions;
  readonly #joins = new JoinedAttacks(ATTACKS_MAX);
  /** Texts of the subjects that were said, by own id. */
  readonly #said = new Map<string, string>();
  readonly #changed = new Set<string>();
  readonly #ended = new Set<string>();
  #isDue = false;
  readonly #agreeing: { readonly report: () => void; readonly dueMs: number }[] = [];
  #cancelAgreed: Cancel | null = null;

  constructor(options: ClusterAttacksOptions) {
    const { peers, onUnread } = options;
    this.#options = options;
    peers.on(KIND, (from, body) => {
      if (!Value.Check(Body, body)) return onUnread(KIND, from);
      this.#take(from, body);
    });
    peers.onUp((name) => this.#sayAll(name));
    peers.onDown((name) => this.#joins.forget(name));
  }

  newId = (of: AttackedSubject): string => this.#joins.idFor(subjectOf(of), randomUUIDv7());

  shown(attack: Attack): Attack {
    const joined = this.#joins.joinedOf(attack.id);
    return joined === null ? attack : { ...attack, id: joined.id, startedAt: joined.startedAt };
  }

  shownId(own: string): string {
    return this.#joins.joinedOf(own)?.id ?? own;
  }

  ownIdOf(shown: string): string {
    return this.#joins.ownIdOf(shown);
  }

  whenAgreed(report: () => void): void {
    this.#agreeing.push({ report, dueMs: this.#options.clock.monotonicMs() + AGREED_MS });
    this.#agreeLater();
  }

  agreeNow(): void {
    this.#cancelAgreed?.();
    this.#cancelAgreed = null;
    for (const { report } of this.#agreeing.splice(0)) report();
  }

  /** Call this for each event of an attack of this brain. */
  attackHappened({ kind, attack }: AttackEvent): void {
    const { id } = attack;
    if (kind === "ended") {
      this.#joins.ended(id);
      if (!this.#said.delete(id)) return;
      this.#ended.add(id);
      this.#changed.delete(id);
      this.#sayLater();
      return;
    }
    const key = attack.carpet?.prefix ?? "";
    if (this.#said.get(id) === key) return;
    this.#said.set(id, key);
    const before = this.shownId(id);
    this.#joins.put({ id, subject: subjectOf(attack), startedAt: attack.startedAt });
    this.#compareIds(new Map([[id, before]]));
    this.#sayOf(id);
  }

  #sayOf(id: string): void {
    this.#changed.add(id);
    this.#sayLater();
  }

  #sayLater(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    this.#options.timers.after(GATHER_MS, () => {
      this.#isDue = false;
      const changed = new Set(this.#changed);
      const active = [...this.#joins.active].filter(({ id }) => changed.has(id));
      const ended = [...this.#ended];
      this.#changed.clear();
      this.#ended.clear();
      for (const body of this.#messages(active, ended, false)) this.#options.peers.broadcast(KIND, body);
    });
  }

  #sayAll(to: string): void {
    for (const body of this.#messages([...this.#joins.active], [], true)) this.#options.peers.send(to, KIND, body);
  }

  *#messages(active: readonly OwnAttack[], ended: readonly string[], isFirst: boolean): Generator<Body> {
    const rows = active.map((own): Row => {
      const { direction, target, bits } = own.subject;
      const joined = this.#joins.joinedOf(own.id) ?? own;
      return {
        ...{ id: own.id, joined_id: joined.id, direction, target },
        ...(bits === null ? {} : { bits }),
        started_ms: joined.startedAt,
      };
    });
    const count = Math.max(1, Math.ceil(Math.max(rows.length, ended.length) / ATTACKS_OF_MESSAGE));
    for (let i = 0; i < count; i++) {
      const [from, to] = [i * ATTACKS_OF_MESSAGE, (i + 1) * ATTACKS_OF_MESSAGE];
      yield { is_first: isFirst && i === 0, active: rows.slice(from, to), ended: ended.slice(from, to) };
    }
  }

  #take(from: string, { is_first: isFirst, active, ended }: Body): void {
    const skewMs = this.#skewOf(from);
    if (isFirst) this.#joins.forget(from);
    this.#joins.endForeign(from, ended);
    const foreign = active.map(({ id, joined_id: joinedId, direction, target, bits, started_ms: startedMs }) => ({
      ...{ id, joinedId, subject: { direction, target, bits: bits ?? null } },
      startedAt: startedMs - skewMs,
    }));
    const before = new Map([...this.#joins.active].map(({ id }) => [id, this.shownId(id)]));
    for (const { id } of this.#joins.putForeign(from, foreign)) this.#sayOf(id);
    this.#compareIds(before);
  }

  /** @param before by own id. */
  #compareIds(before: ReadonlyMap<string, string>): void {
    const changed = [...before].map(([own, shown]) => [shown, this.shownId(own)] as const);
    const ids = new Map(changed.filter(([shown, now]) => shown !== now));
    if (ids.size > 0) this.#options.onRenamed(ids);
  }

  /** Its wall clock minus the own one. Clocks that are as near as NTP keeps them show the same times. */
  #skewOf(brain: string): number {
    const skewMs = this.#options.peers.states().find(({ name }) => name === brain)?.skewMs ?? 0;
    return Math.abs(skewMs) < SKEW_MS ? 0 : Math.round(skewMs);
  }

  #agreeLater(): void {
    const [first] = this.#agreeing;
    if (first === undefined || this.#cancelAgreed !== null) return;
    const { clock, timers } = this.#options;
    this.#cancelAgreed = timers.after(Math.max(0, first.dueMs - clock.monotonicMs()), () => {
      this.#cancelAgreed = null;
      const nowMs = clock.monotonicMs();
      const later = this.#agreeing.findIndex(({ dueMs }) => dueMs > nowMs);
      for (const { report } of this.#agreeing.splice(0, later < 0 ? this.#agreeing.length : later)) report();
      this.#agreeLater();
    });
  }
}

function subjectOf({ direction, target, group, carpet }: AttackedSubject): AttackSubject {
  if (carpet !== null) {
    const prefix = canonicalPrefix(carpet.prefix);
    const bits = [...addressToBytes(prefix.address)].map((byte) => byte.toString(2).padStart(8, "0")).join("");
    return { direction, target: carpet.prefix, bits: bits.slice(0, mappedLength(prefix)) };
  }
  return { direction, target: target ?? `group ${group}`, bits: null };
}
