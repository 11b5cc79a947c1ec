/** Automatic bans of a cluster: brains say which ones they have, and each joins its own with those of the same prefix. */
import { type Static, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { firstRules, joinedTimes, type MadeRules, type RungTurn, rungTurn } from "../cluster/joins/bans.ts";
import type { Lease } from "../cluster/lease.ts";
import type { Peers } from "../cluster/peers.ts";
import { ACTIVE_BANS_MAX } from "../limits.ts";
import { type Ban, type BanChange, rungLeft } from "../mitigation/ban.ts";
import type { ForeignBans, ForeignRung } from "../mitigation/foreign-bans.ts";
import type { FlowspecMeasure } from "../mitigation/measure.ts";
import { RULES_MAX, type Rule, rulesText, ruleToWire } from "../mitigation/rules/rule.ts";
import { RuleProblem, readRule } from "../mitigation/rules/rule-reader.ts";
import { type Prefix, parsePrefix } from "../net/prefix.ts";
import type { Clock } from "../system/clock.ts";
import type { Timers } from "../system/timers.ts";

interface ClusterBansOptions {
  readonly peers: Peers;
  readonly lease: Lease;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly onUnread: (kind: string, from: string) => void;
}

const KIND = "bans";
const BANS_OF_MESSAGE = 200;
/** Changes of one tick are one message. */
const GATHER_MS = 20;
/** Rules of another brain are tried for this time; then those that were found here stay. */
export const TRIED_MS = 5000;

const Text = Type.String({ maxLength: 64 });
/** Whatever is over for longer. */
const OVER_MS = -86_400_000;
const Duration = Type.Number({ minimum: OVER_MS, maximum: 1e11 });
const Row = Type.Object({
  prefix: Text,
  /** As this brain alone would have them, without what it took over from others; absent: as the ban has them. */
  own: Type.Optional(Type.Object({ expires_in_ms: Duration, hold_in_ms: Type.Optional(Duration) })),
  /** Durations, since the clocks of two machines differ. */
  expires_in_ms: Duration,
  hold_in_ms: Type.Optional(Duration),
  repeat: Type.Integer({ minimum: 0 }),
  step: Type.Integer({ minimum: 0 }),
  eases: Type.Integer({ minimum: 0 }),
  rules: Type.Optional(Type.Array(Type.Unknown(), { maxItems: RULES_MAX })),
  rules_ago_ms: Type.Optional(Type.Number({ minimum: 0 })),
});
type Row = Static<typeof Row>;
const Body = Type.Object({
  /** The first message of all that the brain has: what it said before is over. */
  is_first: Type.Boolean(),
  active: Type.Array(Row, { maxItems: BANS_OF_MESSAGE }),
  ended: Type.Array(Text, { maxItems: BANS_OF_MESSAGE }),
});
type Body = Static<typeof Body>;

/** Times are monotonic, ms. */
interface Foreign {
  /** Until then there is a ban. */
  readonly activeMs: number;
  /** Expiry of its own ban. */
  readonly expiresMs: number;
  readonly holdMs: number | null;
  readonly repeat: number;
  readonly step: number;
  readonly eases: number;
  readonly rules: { readonly rules: readonly Rule[]; readonly text: string; readonly sinceMs: number } | null;
}

type Times = Pick<Ban, "expiresAt" | "holdUntil">;

/** Times of a ban that are those of another brain, and what this brain alone would have. */
interface TakenOver {
  readonly own: Times;
  readonly joined: Times;
}

interface Own {
  ban: Ban;
  eases: number;
  rulesText: string;
  /** null: it has none to keep to. */
  rulesSinceMs: number | null;
  /** Rules of another brain that are being tried, or were. */
  tried: { readonly text: string; readonly sinceMs: number } | null;
}

export class ClusterBans implements ForeignBans {
  readonly #options: ClusterBansOptions;
  /** By prefix. */
  readonly #own = new Map<string, Own>();
  /** By brain, by prefix. */
  readonly #foreign = new Map<string, Map<string, Foreign>>();
  /** By prefix: of bans that are being made, too. */
  readonly #takenOver = new Map<string, TakenOver>();
  readonly #changed = new Set<string>();
  readonly #ended = new Set<string>();
  #isDue = false;

  constructor(options: ClusterBansOptions) {
    const { peers, onUnread } = options;
    this.#options = options;
    peers.on(KIND, (from, body) => {
      if (!Value.Check(Body, body)) return onUnread(KIND, from);
      this.#take(from, body);
    });
    peers.onUp((name) => {
      for (const body of this.#messages([...this.#own.keys()], [], true)) peers.send(name, KIND, body);
    });
  }

  /** Call this for each change of a ban of this brain. */
  banChanged(change: BanChange): void {
    const { ban, previous } = change;
    const moved = previous !== null && previous.prefix.text !== ban.prefix.text ? previous.prefix.text : null;
    if (moved !== null) this.#end(moved);
    const { text } = ban.prefix;
    if (ban.state === "rejected") {
      if (!this.#own.has(text)) this.#takenOver.delete(text);
      return;
    }
    if (ban.state !== "active" || ban.manual) {
      this.#end(text);
      return;
    }
    const known = this.#own.get(text);
    const own = known ?? { ban, eases: 0, rulesText: "", rulesSinceMs: null, tried: null };
    if (rungLeft(change) !== null) own.eases++;
    own.ban = ban;
    this.#followRules(own);
    this.#own.set(text, own);
    this.#ended.delete(text);
    this.#changed.add(text);
    this.#sayLater();
  }

  timed(ban: Ban, wallMs: number): Ban {
    const nowMs = this.#options.clock.monotonicMs();
    const onWall = (ms: number) => Math.round(wallMs + ms - nowMs);
    const others = this.#on(ban.prefix.text).map(([, { expiresMs, holdMs, repeat }]) => ({
      ...{ expiresAt: onWall(expiresMs), holdUntil: holdMs === null ? null : onWall(holdMs), repeat },
    }));
    const own = this.#ownTimes(ban);
    const joined = joinedTimes(ban, others);
    if (joined.expiresAt === own.expiresAt && joined.holdUntil === own.holdUntil)
      this.#takenOver.delete(ban.prefix.text);
    else this.#takenOver.set(ban.prefix.text, { own, joined });
    return joined;
  }

  /** Brains say these alone: what they take over goes no further, or a slow link would prolong it each time. */
  #ownTimes({ prefix, expiresAt, holdUntil }: Ban): Times {
    const { own, joined } = this.#takenOver.get(prefix.text) ?? {};
    return {
      expiresAt: own !== undefined && expiresAt === joined?.expiresAt ? own.expiresAt : expiresAt,
      holdUntil: own !== undefined && holdUntil === joined?.holdUntil ? own.holdUntil : holdUntil,
    };
  }

  rungOf({ prefix, step }: Pick<Ban, "prefix" | "step">): ForeignRung {
    const own = this.#own.get(prefix.text);
    const others = this.#on(prefix.text).map(([, { eases, step: on }]) => ({ eases, step: on }));
    const turn: RungTurn = rungTurn({ eases: own?.eases ?? 0, step }, others);
    if (own !== undefined) own.eases = turn.eases;
    return turn;
  }

  mayEase(): boolean {
    return this.#options.lease.holds();
  }

  rulesOf(prefix: string): readonly Rule[] | null {
    const own = this.#own.get(prefix);
    const first = this.#firstOn(prefix, own?.rulesSinceMs ?? null);
    if (first === null) return null;
    if (own === undefined) return first.rules;
    const nowMs = this.#options.clock.monotonicMs();
    const text = rulesText(first.rules);
    if (own.rulesText === text) return first.rules;
    if (own.tried?.text !== text) own.tried = { text, sinceMs: nowMs };
    return nowMs - own.tried.sinceMs < TRIED_MS ? first.rules : null;
  }

  #firstOn(prefix: string, sinceMs: number | null): MadeRules<readonly Rule[]> | null {
    const made = this.#on(prefix).flatMap(([brain, { rules }]) =>
      rules === null ? [] : [{ brain, rules: rules.rules, sinceMs: rules.sinceMs }],
    );
    return firstRules({ brain: this.#options.peers.own, sinceMs }, made);
  }

  /** Rules that are those of another brain were made when they were there. */
  #followRules(own: Own): void {
    const rules = keptRules(own.ban);
    const text = rules === null ? "" : rulesText(rules);
    if (text === own.rulesText) return;
    own.rulesText = text;
    if (rules === null) {
      own.rulesSinceMs = null;
      return;
    }
    const same = this.#on(own.ban.prefix.text).flatMap(([, { rules: others }]) =>
      others?.text === text ? [others.sinceMs] : [],
    );
    own.rulesSinceMs = Math.min(this.#options.clock.monotonicMs(), ...same);
  }

  #end(prefix: string): void {
    this.#takenOver.delete(prefix);
    if (!this.#own.delete(prefix)) return;
    this.#changed.delete(prefix);
    this.#ended.add(prefix);
    this.#sayLater();
  }

  /** Bans of the prefix at other brains, that have not expired. */
  #on(prefix: string): (readonly [brain: string, Foreign])[] {
    const nowMs = this.#options.clock.monotonicMs();
    return [...this.#foreign].flatMap(([brain, bans]) => {
      const ban = bans.get(prefix);
      return ban === undefined || ban.activeMs <= nowMs ? [] : [[brain, ban] as const];
    });
  }

  #sayLater(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    this.#options.timers.after(GATHER_MS, () => {
      this.#isDue = false;
      const [changed, ended] = [[...this.#changed], [...this.#ended]];
      this.#changed.clear();
      this.#ended.clear();
      for (const body of this.#messages(changed, ended, false)) this.#options.peers.broadcast(KIND, body);
    });
  }

  *#messages(prefixes: readonly string[], ended: readonly string[], isFirst: boolean): Generator<Body> {
    // Before the bans are looked at: with the time they are of one clock, that may have been set just now.
    const wallMs = this.#options.clock.wallMs();
    const rows = prefixes.flatMap((prefix) => {
      const own = this.#own.get(prefix);
      return own === undefined ? [] : [this.#rowOf(own, wallMs)];
    });
    const count = Math.max(1, Math.ceil(Math.max(rows.length, ended.length) / BANS_OF_MESSAGE));
    for (let i = 0; i < count; i++) {
      const [from, to] = [i * BANS_OF_MESSAGE, (i + 1) * BANS_OF_MESSAGE];
      yield { is_first: isFirst && i === 0, active: rows.slice(from, to), ended: ended.slice(from, to) };
    }
  }

  #rowOf({ ban, eases, rulesSinceMs }: Own, wallMs: number): Row {
    const { clock } = this.#options;
    const { prefix, repeat, step } = ban;
    const rules = keptRules(ban);
    const timesOf = (times: Times) => ({
      expires_in_ms: Math.max(times.expiresAt - wallMs, OVER_MS),
      ...(times.holdUntil === null ? {} : { hold_in_ms: Math.max(times.holdUntil - wallMs, OVER_MS) }),
    });
    return {
      ...{ prefix: prefix.text, ...timesOf(ban), repeat, step, eases },
      own: timesOf(this.#ownTimes(ban)),
      ...(rules !== null &&
        rulesSinceMs !== null && {
          rules: rules.map((rule) => ruleToWire(rule)),
          rules_ago_ms: clock.monotonicMs() - rulesSinceMs,
        }),
    };
  }

  #take(from: string, { is_first: isFirst, active, ended }: Body): void {
    const bans = (isFirst ? undefined : this.#foreign.get(from)) ?? new Map<string, Foreign>();
    this.#foreign.set(from, bans);
    for (const prefix of ended) bans.delete(prefix);
    for (const row of active) {
      const prefix = parsePrefix(row.prefix);
      if (prefix === null) continue;
      bans.delete(prefix.text);
      if (bans.size >= ACTIVE_BANS_MAX) continue;
      bans.set(prefix.text, this.#read(row, prefix, from));
    }
  }

  #read(row: Row, prefix: Prefix, from: string): Foreign {
    const nowMs = this.#options.clock.monotonicMs();
    const { repeat, step, eases } = row;
    const { expires_in_ms: expiresIn, hold_in_ms: holdIn } = row.own ?? row;
    const rules = this.#rulesIn(row, prefix, from);
    return {
      ...{ activeMs: nowMs + row.expires_in_ms, expiresMs: nowMs + expiresIn },
      ...{ holdMs: holdIn === undefined ? null : nowMs + holdIn, repeat, step, eases },
      rules: rules === null ? null : { rules, text: rulesText(rules), sinceMs: nowMs - (row.rules_ago_ms ?? 0) },
    };
  }

  #rulesIn({ rules }: Row, prefix: Prefix, from: string): readonly Rule[] | null {
    if (rules === undefined || rules.length === 0) return null;
    try {
      return rules.map((rule) => readRule(rule, prefix));
    } catch (cause) {
      if (!(cause instanceof RuleProblem)) throw cause;
      this.#options.onUnread(KIND, from);
      return null;
    }
  }
}

/** Rules for packets to the prefix that were found of packets; null: there are none. */
function keptRules({ measure }: Ban): readonly Rule[] | null {
  const found: FlowspecMeasure | null =
    measure.kind === "divert" || measure.kind === "scrub"
      ? measure.rules
      : measure.kind === "flowspec"
        ? measure
        : null;
  const isKept = found !== null && !found.matchesAll && (found.separability?.estimatedBy ?? null) !== null;
  const isIncoming = found?.rules.every(({ destination }) => destination !== null) === true;
  return isKept && isIncoming && found.rules.length > 0 ? found.rules : null;
}
