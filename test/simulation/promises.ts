/**
 * What holds after each second of the simulation, judged by what really happened: the traffic, the speaker's table, and
 * the configurations in words of the simulation's own.
 */
import { keyOf, type RouteKey } from "../../src/bgp/route-path.ts";
import type { Attack } from "../../src/detection/attack/attack.ts";
import { banToWire } from "../../src/http/wire/ban.ts";
import type { Route } from "../../src/mitigation/announcer.ts";
import { type Ban, isWatching, wantedRoutes } from "../../src/mitigation/ban.ts";
import { routesOf as measureRoutes } from "../../src/mitigation/measure.ts";
import type { IpAddress } from "../../src/net/address.ts";
import type { Direction } from "../../src/traffic/rates.ts";
import {
  HOLD_SECONDS_MAX,
  HYSTERESIS_SECONDS_MAX,
  isInNetworks,
  isInTotalGroup,
  isWhitelisted,
  SUSTAIN_SECONDS_MAX,
  TTL_SECONDS_MAX,
} from "./simulated-policy.ts";
import type { SpeakerPath } from "./simulated-speaker.ts";
import type { Simulation } from "./simulation.ts";

/** What a process that starts, or a configuration that is new, takes to be in force. */
const SETTLED_MS = 5000;
/** Retries come after 5 s at most, full comparisons every 10 s. */
const SPEAKER_SETTLED_MS = 16_000;
const SECONDS_AFTER_CLOCK = 10;
const LOOKS_TOLERATED = 2;
/** Of a full disk, and of a reload that must be refused. */
const EXPECTED_ERRORS = ["the state database takes no writes", "reload refused"];

export class Promises {
  readonly broken: string[] = [];
  readonly #simulation: Simulation;
  /** The cap may be lowered below what is banned already. */
  #mostBans = 0;
  /** Ids of those in force when the clock was set. */
  #bansAtClock: readonly string[] = [];
  /** Faults that may pass, and for how many looks they have been there: at the last look, and at this one. */
  #standing: ReadonlyMap<string, number> = new Map();
  #standingNow = new Map<string, number>();
  /** Ids of the bans that last wanted them. */
  readonly #bansOfKeys = new Map<RouteKey, string>();

  constructor(simulation: Simulation) {
    this.#simulation = simulation;
  }

  fail(fault: string): void {
    if (this.broken.length < 20) this.broken.push(fault);
  }

  /** What is right again with the next tick of detection is none. */
  #failIfItStays(fault: string): void {
    const looks = (this.#standing.get(fault) ?? 0) + 1;
    this.#standingNow.set(fault, looks);
    if (looks > LOOKS_TOLERATED) this.fail(fault);
  }

  errorIsLogged(line: string): void {
    if (!EXPECTED_ERRORS.some((expected) => line.includes(expected))) this.fail(`logged: ${line}`);
  }

  /** Before it is: no ban may end of it. */
  clockIsSet(): void {
    const { clock } = this.#simulation.process;
    const isLongAhead = ({ expiresAt }: Ban) => expiresAt > clock.wallMs() + 1000 * SECONDS_AFTER_CLOCK;
    this.#bansAtClock = [...this.#bans()].filter(isLongAhead).map(({ id }) => id);
  }

  isOrdered(target: IpAddress, ban: Ban): void {
    const { policy } = this.#simulation;
    const isAllowed = isInNetworks(policy, target) && !isWhitelisted(policy, target);
    if (ban.state === "active" && !isAllowed) this.fail(`${target} is banned by an order, against the policy`);
    if (ban.state === "rejected" && isAllowed && ban.reason?.startsWith("max_") !== true) {
      this.fail(`an order for ${target} is refused: ${ban.reason}`);
    }
    this.#note(ban);
  }

  /** Whenever a path goes to the speaker, without any grace. */
  pathIsTaken({ key, isWithdraw, instance }: SpeakerPath): void {
    if (instance === null) this.fail(`a path that is not ours is sent: ${key}`);
    const wanted = this.#wantedKeys();
    if (!isWithdraw && !wanted.has(key)) this.fail(`${key} is announced, and no ban in force wants it`);
    if (isWithdraw && wanted.has(key) && !this.#isFailed(key)) this.fail(`${key} is withdrawn, and is wanted`);
    if (isWithdraw) this.#makeBeforeBreak(key);
    else this.#noteBansOfKeys();
  }

  look(): void {
    this.#standing = this.#standingNow;
    this.#standingNow = new Map();
    for (const ban of this.#bans()) this.#judgeBan(ban);
    this.#noteBansOfKeys();
    this.#judgeCap();
    this.#judgeClock();
    this.#judgeAttacks();
    this.#judgeTraffic();
    this.#judgeRoutes();
  }

  /** What the API shows agrees with the tables. */
  reads(): void {
    const { service, floodwall } = this.#simulation.process;
    const { activeAttacks, activeBans } = service.status(null);
    const { active, recent } = service.attacks();
    if (activeAttacks !== active.length) this.fail(`status has ${activeAttacks} attacks of ${active.length}`);
    if (activeBans !== floodwall.bans.active.size) this.fail(`status has ${activeBans} bans`);
    if (recent.some(({ attack }) => attack.endedAt === null)) this.fail("a recent attack has no end");
    const foreign = [...service.hosts()].filter(({ target }) => !isInNetworks(this.#simulation.policy, target));
    if (this.#isSettled() && foreign.length > 0) this.fail(`${foreign[0]?.target} is shown, and foreign`);
  }

  /** At a moment at which nothing waits to be written. */
  lookAtStore(): void {
    const { state, floodwall } = this.#simulation.process;
    if (state.isBroken || Object.values(floodwall.state.unsaved).some((changes) => changes > 0) || !this.#isSettled())
      return;
    const same = (what: string, stored: readonly { id: string }[], known: Iterable<{ id: string }>) => {
      const [here, there] = [stored, [...known]].map((rows) =>
        rows
          .map(({ id }) => id)
          .toSorted()
          .join(),
      );
      if (here !== there) this.fail(`the store has other ${what}`);
    };
    const stored = state.stored().bans.filter((ban) => ban.state === "active");
    same("bans in force", stored, floodwall.bans.active.values());
    same("attacks", state.stored().attacks, floodwall.detector.active.values());
  }

  #judgeBan(ban: Ban): void {
    const { policy, process, nowMs, clockSetAtMs } = this.#simulation;
    const { target, prefix, expiresAt, holdUntil, heldBy, manual, dryRun } = ban;
    const wallMs = process.clock.wallMs();
    const longestMs = 1000 * Math.max(TTL_SECONDS_MAX, HOLD_SECONDS_MAX);
    const promise = (isKept: boolean, fault: string) => {
      if (!isKept) this.fail(`${prefix.text} ${fault}`);
    };
    // A clock that was set is noticed by the next one who reads it.
    const isClockKnown = nowMs - clockSetAtMs >= 1000;
    promise(expiresAt > wallMs - 1000 || !isClockKnown, "is banned after its expiry");
    const leftMs = expiresAt - wallMs;
    promise(leftMs <= longestMs + 1000 || !isClockKnown, `expires only in ${leftMs / 1000} s`);
    promise(!isWhitelisted(policy, target), "is whitelisted and banned");
    promise(isInNetworks(policy, target), "is foreign and banned");
    // A ban that was ordered in dry run never becomes real without a new order.
    promise(dryRun === policy.isDryRun || (dryRun && manual), "is not as dry_run says");
    const attacks = new Map([...process.floodwall.detector.active.values()].map((attack) => [attack.id, attack]));
    for (const id of heldBy) {
      const attack = attacks.get(id);
      promise(attack !== undefined, "is held by an attack that is over");
      if (attack !== undefined) promise(attack.target === target || attack.carpet !== null, "is banned for another");
    }
    const isHeld = holdUntil !== null && wallMs < holdUntil + 1000;
    promise(manual || heldBy.length > 0 || isHeld || !isClockKnown, "is banned for nothing");
    this.#note(ban);
  }

  #judgeCap(): void {
    const { maxActiveBans } = this.#simulation.policy;
    const acting = this.#actingBans();
    this.#mostBans = Math.max(maxActiveBans, Math.min(this.#mostBans, acting));
    if (acting > this.#mostBans) this.fail(`${acting} bans, of ${this.#mostBans}`);
  }

  /** Those that only watch take no place. */
  #actingBans(): number {
    return this.#simulation.process.floodwall.bans.active
      .values()
      .filter((ban) => !isWatching(ban))
      .toArray().length;
  }

  #judgeClock(): void {
    const { nowMs, clockSetAtMs, process } = this.#simulation;
    if (nowMs - clockSetAtMs > 1000 * (SECONDS_AFTER_CLOCK - 1)) this.#bansAtClock = [];
    if (this.#bansAtClock.length === 0) return;
    for (const { id, prefix, reason } of process.floodwall.bans.all()) {
      if (reason === "ttl expired" && this.#bansAtClock.includes(id)) this.fail(`${prefix.text} ended by the clock`);
    }
  }

  #judgeAttacks(): void {
    const { process } = this.#simulation;
    for (const attack of process.floodwall.detector.active.values()) {
      this.#noteAttack(attack);
      const { target } = attack;
      if (target === null || !this.#isSettled()) continue;
      const ban = process.floodwall.bans.banOf(attack);
      // A calm attack gets no new ban.
      if (ban === null && attack.calmSinceMs !== null) continue;
      if (ban === null) this.fail(`the attack on ${target} has no ban, not even a refused one`);
      else this.#note(ban);
      if (ban?.state === "rejected" && attack.calmSinceMs === null) this.#judgeRefusal(ban);
    }
  }

  #judgeRefusal({ target, reason }: Ban): void {
    const { policy } = this.#simulation;
    const why: Readonly<Record<string, boolean>> = {
      whitelisted: isWhitelisted(policy, target),
      "outside configured networks": !isInNetworks(policy, target),
      "max_active_bans reached": this.#actingBans() >= policy.maxActiveBans,
    };
    if (why[reason ?? ""] === false) this.#failIfItStays(`${target} is refused, and it is not true that: ${reason}`);
  }

  /** Who is over the thresholds is attacked, who is calm is not. */
  #judgeTraffic(): void {
    const { traffic, policy, process, nowMs, stalledAtMs } = this.#simulation;
    // A flood that began as the process stalled is seen after that, and has to last from then on.
    const seenSinceMs = Math.max(this.#undisturbedSinceMs(), stalledAtMs);
    const since = (ms: number | null, seconds: number) =>
      ms !== null && nowMs - Math.max(ms, seenSinceMs) > 1000 * seconds + SETTLED_MS;
    for (const host of traffic.hosts) {
      if (isInTotalGroup(host.ip)) continue;
      for (const direction of ["incoming", "outgoing"] as const satisfies readonly Direction[]) {
        const { floodedSinceMs, calmSinceMs } = traffic.standing(host, direction);
        const attack = process.floodwall.detector.active.ofHost(host.ip, direction);
        if (since(floodedSinceMs, SUSTAIN_SECONDS_MAX) && isInNetworks(policy, host.ip) && attack === null) {
          this.fail(`${host.ip} is flooded (${direction}) and not in attack`);
        }
        if (since(calmSinceMs, HYSTERESIS_SECONDS_MAX) && attack !== null) {
          this.fail(`${host.ip} is calm (${direction}) and in attack`);
        }
      }
    }
  }

  /** Neighbors and speaker have what is wanted, once nothing of it was disturbed for a while. */
  #judgeRoutes(): void {
    const { speaker, speakerChangedAtMs, startedAtMs, nowMs } = this.#simulation;
    const stuck = speaker.lostWithdrawal();
    if (stuck !== null) this.fail(stuck);
    const isWell = speaker.isRunning && !speaker.isFrozen && !speaker.isRefusing;
    if (!isWell || nowMs - Math.max(speakerChangedAtMs, startedAtMs) < SPEAKER_SETTLED_MS) return;
    const wanted = this.#wantedKeys();
    for (const key of speaker.routes) if (!wanted.has(key)) this.fail(`the speaker has ${key}, and no ban wants it`);
    for (const key of wanted) {
      if (!speaker.routes.has(key) && !this.#isFailed(key)) this.fail(`the speaker lacks ${key}`);
    }
    const lost = speaker.lostAnnouncement();
    if (lost !== null) this.fail(lost);
    if (!speaker.hasSession || speaker.keepsRulesBack) return;
    this.#judgeAnnounced();
    this.#judgeShown();
  }

  #judgeAnnounced(): void {
    const { bans } = this.#simulation.process.floodwall;
    for (const ban of this.#bans()) {
      const state = bans.routeState(ban);
      if (state?.kind === "no_session" || state?.kind === "speaker_down") {
        this.fail(`${ban.prefix.text}: ${state.kind}, and there is a session`);
      }
    }
  }

  /** The API lists what neighbors have, and nothing that they have not. Retiring routes are soon withdrawn. */
  #judgeShown(): void {
    const { speaker, process } = this.#simulation;
    for (const ban of this.#bans()) {
      const routeState = process.floodwall.bans.routeState(ban);
      const { announced = false, retiring = [] } = banToWire({ ban, routeState });
      if (retiring.length > 0 && announced) this.#failIfItStays(`${ban.prefix.text}: ${retiring.join()} stays`);
      const own = ban.dryRun ? [] : measureRoutes(ban.measure, ban.prefix).map(keyOf);
      if (announced && !own.every((key) => speaker.isOut(key))) {
        this.#failIfItStays(`${ban.prefix.text} is announced as it says, and neighbors lack ${own.join()}`);
      }
      if (!announced && own.some((key) => speaker.isOut(key)) && !own.some((key) => this.#isFailed(key))) {
        this.#failIfItStays(`${ban.prefix.text} is not announced as it says, and neighbors have ${own.join()}`);
      }
    }
  }

  /** The last route of a ban in force that neighbors have goes only when they have another one of it. */
  #makeBeforeBreak(key: RouteKey): void {
    const { speaker } = this.#simulation;
    const id = this.#bansOfKeys.get(key);
    this.#bansOfKeys.delete(key);
    // Of a ban that ended, it goes whether or not another one of the prefix has begun.
    const ban = [...this.#bans()].find((one) => one.id === id);
    if (ban === undefined || ban.dryRun || ban.measure.kind === "none" || !speaker.isOut(key)) return;
    const keys = routesOf(ban).map(keyOf);
    if (keys.some((one) => one !== key && speaker.isOut(one))) return;
    this.fail(`${key} is withdrawn, and nothing else of its ban is there`);
  }

  #noteBansOfKeys(): void {
    for (const ban of this.#bans()) for (const route of routesOf(ban)) this.#bansOfKeys.set(keyOf(route), ban.id);
  }

  #bans(): Iterable<Ban> {
    return this.#simulation.process.floodwall.bans.active.values();
  }

  #wantedKeys(): Set<RouteKey> {
    return new Set([...this.#bans()].flatMap((ban) => routesOf(ban).map(keyOf)));
  }

  /** It cannot be had, as the announcer says. */
  #isFailed(key: RouteKey): boolean {
    const { announcer } = this.#simulation.process.floodwall;
    for (const ban of this.#bans()) {
      const route = routesOf(ban).find((one) => keyOf(one) === key);
      if (route !== undefined) return announcer?.routeState(route).kind === "failed";
    }
    return false;
  }

  #isSettled(): boolean {
    return this.#simulation.nowMs - this.#undisturbedSinceMs() > SETTLED_MS;
  }

  #undisturbedSinceMs(): number {
    const { startedAtMs, configuredAtMs } = this.#simulation;
    return Math.max(startedAtMs, configuredAtMs);
  }

  #note(ban: Ban): void {
    const isActive = ban.state === "active";
    this.#saw(isActive ? ban.measure.kind : `${ban.state}: ${ban.reason}`);
    if (isActive && ban.fallback !== null) this.#saw("fallback");
    if (ban.repeat > 0) this.#saw("repeat");
    if (ban.retiring.length > 0) this.#saw("retiring");
  }

  #noteAttack({ scope, carpet, direction, reason, classification }: Attack): void {
    const kind = carpet !== null ? "carpet attack" : `${scope} attack`;
    const limit = `${reason.thresholdSource} limit`;
    this.#saw(kind, `${direction} attack`, limit, classification?.type ?? "no kind");
  }

  #saw(...happenings: readonly string[]): void {
    const { happened } = this.#simulation;
    for (const what of happenings) happened.set(what, (happened.get(what) ?? 0) + 1);
  }
}

/** That a virtual ban has none is not left to what is judged here. */
function routesOf(ban: Ban): readonly Route[] {
  return ban.dryRun ? [] : wantedRoutes(ban);
}
