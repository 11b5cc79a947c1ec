/** What holds after each step of an attack, in one table. */
import { keyOf } from "../../src/bgp/route-path.ts";
import {
  ACTIVE_ATTACKS_MAX,
  BASELINE_GROUPS_MAX,
  CARPETS_MAX,
  ENDED_ATTACKS_KEPT,
  ENDED_BANS_KEPT,
} from "../../src/limits.ts";
import { type Ban, wantedRoutes } from "../../src/mitigation/ban.ts";
import type { IpAddress } from "../../src/net/address.ts";
import { canonicalPrefix, prefixContains } from "../../src/net/prefix.ts";
import { pairName } from "../../src/sourceblock/source-block.ts";
import { address } from "../fixtures/host-rows.ts";
import type { SpeakerPath } from "../simulation/simulated-speaker.ts";
import type { Adversary } from "./adversary.ts";
import { OWN, OWN_FLOOD, THRESHOLD_PPS, TROUBLES, VICTIM } from "./adversary-plan.ts";
import type { AdversaryService } from "./adversary-service.ts";

const MITIGATED_WITHIN_MS = 2000;
/** After a failed speaker or process: its deadline, and the longest retries. */
const RECOVERED_WITHIN_MS = 9000;
/** Retries, and a comparison of all routes. */
const ROUTES_SETTLED_MS = 20_000;
/** Rates that are judged are clearly above the threshold. */
const CLEARLY = 1.2;
const TIMERS_MAX = 64;
const EXPECTED_ERRORS = [
  ...["the simulated disk is full", "EMFILE", "install_failed"],
  ...["a ban was replaced by that of a worse attack", "ban.max_active_bans"],
];
const OWN_ADDRESSES = OWN.map(address);

interface Need {
  readonly sinceMs: number;
  lastMs: number;
  unmitigatedSinceMs: number | null;
}

/** Returns why it is broken by this service, or null. */
type Judgement = (service: AdversaryService, adversary: Adversary) => string | null;

export class AdversaryPromises {
  readonly broken: string[] = [];
  readonly #adversary: Adversary;
  /** By host: its flood is to be mitigated. */
  readonly #needs = new Map<IpAddress, Need>();
  #changes: number[] = [];

  constructor(adversary: Adversary) {
    this.#adversary = adversary;
  }

  get areBroken(): boolean {
    return this.broken.length > 0;
  }

  errorIsLogged(line: string): void {
    if (!EXPECTED_ERRORS.some((expected) => line.includes(expected))) this.#fail("no error is logged", line);
  }

  pathIsTaken({ key, isWithdraw, instance }: SpeakerPath): void {
    const { services, nowMs } = this.#adversary;
    const service = services.find((one) => one.instance === instance);
    const isWanted = service?.wanted.has(key) === true;
    if (!isWithdraw && !isWanted) this.#fail("no route without a ban", `${instance} announces ${key}`);
    if (isWithdraw && isWanted) this.#fail("what is in force stays", `${instance} withdraws ${key}`);
    this.#changes.push(nowMs);
  }

  look(): void {
    for (const service of this.#adversary.services) {
      if (service.process === null) continue;
      for (const [promise, judge] of Object.entries(PROMISES)) {
        const fault = judge(service, this.#adversary);
        if (fault !== null) this.#fail(promise, `${service.instance}: ${fault}`);
      }
    }
    this.#judgeMitigation();
    this.#judgeChanges();
  }

  nothingIsLeft(): void {
    const { services, speaker } = this.#adversary;
    for (const { process, filters, bans } of services) {
      const counts = {
        processes: process === null ? 1 : 0,
        bans: bans.length,
        attacks: process?.floodwall.detector.active.size ?? 0,
        routes: speaker.routes.size,
        rules: filters.rules.length,
        storedBans: process?.state.stored().bans.filter(({ state }) => state === "active").length ?? 0,
        storedAttacks: process?.state.stored().attacks.length ?? 0,
      };
      const left = Object.entries(counts).filter(([, count]) => count > 0);
      if (left.length > 0) this.#fail("nothing is left", left.join(" "));
    }
  }

  /** Routes change when an attack begins or ends, not with each pulse; and all of them after a restart. */
  #judgeChanges(): void {
    const { nowMs, plan, happened } = this.#adversary;
    this.#changes = this.#changes.filter((atMs) => atMs > nowMs - 60_000);
    const begun = (plan.decoyEveryMs === null ? 0 : 60_000 / plan.decoyEveryMs) + 16 * (happened.get(OWN_FLOOD) ?? 0);
    const rounds = (1 + 60 / plan.hysteresisSeconds) * (plan.pulsed + 1);
    const restarts = TROUBLES.reduce((sum, trouble) => sum + (happened.get(trouble) ?? 0), 0);
    const inForce = Math.max(...this.#adversary.services.map(({ bans }) => bans.length));
    const ordered = Math.ceil(60_000 / plan.stepMs) * plan.hostileOrders;
    const most = plan.services * (ordered + 3 * begun + 2 * rounds + (1 + restarts) * (inForce + 10));
    if (this.#changes.length > most) this.#fail("route changes are bounded", `${this.#changes.length} of ${most}`);
  }

  #judgeMitigation(): void {
    const { plan, pulsed } = this.#adversary;
    // Beside the largest flood, only if there is room for all.
    const hasRoom = plan.decoyEveryMs === null && !plan.floodsOwn && plan.maxActiveBans >= 50;
    for (const ip of hasRoom ? [VICTIM, ...pulsed] : [VICTIM]) this.#judgeVictim(ip);
  }

  #judgeVictim(ip: IpAddress): void {
    const { nowMs, traffic, plan, services } = this.#adversary;
    const service = services[0] as AdversaryService;
    if (traffic.rateOf(ip) > CLEARLY * THRESHOLD_PPS) {
      const need = this.#needs.get(ip) ?? { sinceMs: nowMs, lastMs: nowMs, unmitigatedSinceMs: null };
      this.#needs.set(ip, { ...need, lastMs: nowMs });
    }
    const need = this.#needs.get(ip);
    if (need === undefined || isFullOfOrders(service, plan.maxActiveBans)) return;
    // An attack is over only when it was calm for this time.
    if (nowMs - need.lastMs >= 1000 * plan.hysteresisSeconds || service.process === null) {
      this.#needs.delete(ip);
      return;
    }
    need.unmitigatedSinceMs = this.#isMitigated(service, ip) ? null : (need.unmitigatedSinceMs ?? nowMs);
    if (need.unmitigatedSinceMs === null) return;
    const sinceMs = Math.max(need.unmitigatedSinceMs, this.#ableSinceMs(service));
    const gapMs = nowMs - sinceMs;
    // A short pulse may be over before a process that was blocked or down could see it.
    const isSeen = need.lastMs >= sinceMs;
    // The end of the last interval of detection is part of it.
    if (!isSeen || gapMs <= MITIGATED_WITHIN_MS + plan.stepMs) return;
    this.#fail("the largest flood is mitigated within 2 s", `${ip} is not after ${gapMs} ms`);
  }

  #isMitigated(service: AdversaryService, ip: IpAddress): boolean {
    const { speaker } = this.#adversary;
    const ban = service.process?.floodwall.bans.active.get(`${ip}/32`);
    return ban !== undefined && wantedRoutes(ban).some((route) => speaker.isOut(keyOf(route)));
  }

  /** Since then the service could see the flood, and could reach its speaker. */
  #ableSinceMs({ idleAtMs }: AdversaryService): number {
    const { speaker, troubleAtMs, brokenAtMs, fullAtMs, nowMs } = this.#adversary;
    // What was connected and open before stays so.
    const isCutOff = speaker.isFull && brokenAtMs > fullAtMs - RECOVERED_WITHIN_MS;
    if (!speaker.isRunning || speaker.isFrozen || isCutOff) return nowMs;
    return RECOVERED_WITHIN_MS + Math.max(troubleAtMs, idleAtMs);
  }

  #fail(promise: string, fault: string): void {
    if (this.broken.length < 10) this.broken.push(`${promise}: ${fault} (at ${this.#adversary.nowMs} ms)`);
  }
}

/** Manual bans stay: the administrator may take the whole cap, beside the half that tenants may take together. */
function isFullOfOrders({ bans, banned }: AdversaryService, cap: number): boolean {
  const manual = bans.filter((ban) => ban.manual).length;
  return manual >= cap && manual - banned.size <= Math.floor(cap / 2);
}

const PROMISES: Readonly<Record<string, Judgement>> = {
  "no route without a ban": (service, adversary) => {
    const { speaker, troubleAtMs, nowMs } = adversary;
    const stuck = speaker.lostWithdrawal();
    if (stuck !== null) return stuck;
    const { isRunning, isFrozen, isFull } = speaker;
    const disturbedAtMs = Math.max(troubleAtMs, service.idleAtMs);
    if (!isRunning || isFrozen || isFull || nowMs - disturbedAtMs < ROUTES_SETTLED_MS) return null;
    const { wanted } = service;
    const [surplus] = [...speaker.routesOf(service.instance)].filter((key) => !wanted.has(key));
    const [missing] = [...wanted].filter((key) => !speaker.routes.has(key));
    if (surplus !== undefined) return `no ban wants ${surplus}`;
    return missing === undefined ? speaker.lostAnnouncement() : `${missing} is wanted and not there`;
  },
  "no ban without a reason": ({ process, bans }) => {
    const ids = new Set([...(process?.floodwall.detector.active.values() ?? [])].map(({ id }) => id));
    const isHeld = ({ holdUntil }: Ban) => holdUntil !== null && (process?.clock.wallMs() ?? 0) < holdUntil + 1000;
    const idle = bans.find((ban) => !ban.manual && !isHeld(ban) && !ban.heldBy.some((id) => ids.has(id)));
    return idle === undefined ? null : `${idle.prefix.text} is banned for nothing`;
  },
  "nothing acknowledged is lost": ({ process, banned, unbanned, blocked }) => {
    const isBanned = (ip: IpAddress) => process?.floodwall.bans.active.has(`${ip}/32`) === true;
    const lost = [...banned].find((ip) => !isBanned(ip)) ?? [...unbanned].find(isBanned);
    if (lost !== undefined) return `the last command for ${lost} has no effect`;
    const live = process?.floodwall.sourceBlocks.live(process.clock.wallMs()) ?? [];
    const pairs = new Set([...live].map(({ block }) => pairName(block)));
    const lostPair = [...blocked].find((pair) => !pairs.has(pair));
    return lostPair === undefined ? null : `${lostPair} is not blocked any more`;
  },
  "own addresses are never covered": ({ bans }, { speaker }) => {
    const keys = [...speaker.routes].filter((key) => !key.includes(" ")).map(canonicalPrefix);
    const covering = [...keys, ...bans.map(({ prefix }) => prefix)].find((prefix) =>
      OWN_ADDRESSES.some((own) => prefixContains(prefix, own)),
    );
    return covering === undefined ? null : `${covering.text} covers one`;
  },
  "tables are bounded": ({ process }, { plan }) => {
    if (process === null) return null;
    const { floodwall, clock } = process;
    const { bans, detector, attackLog } = floodwall;
    const attacks = ACTIVE_ATTACKS_MAX + CARPETS_MAX;
    const sizes: readonly (readonly [what: string, size: number, most: number])[] = [
      ["attacks", detector.active.size, attacks],
      ["bans in force", bans.active.size, plan.maxActiveBans],
      ["bans", bans.all().length, plan.maxActiveBans + attacks + ENDED_BANS_KEPT],
      ["ended attacks", attackLog.ended.length, ENDED_ATTACKS_KEPT],
      ["baselines", detector.baselines.rates?.stats().count ?? 0, 1024 + BASELINE_GROUPS_MAX],
      ["timers", clock.pending, TIMERS_MAX],
    ];
    const over = sizes.find(([, size, most]) => size > most);
    return over === undefined ? null : over.join(" ");
  },
  "what is in force stays": ({ filters, blocked, installed }) => {
    if (filters.calls.includes("close detach")) return "the filter is detached";
    const { pairs } = filters.kernel;
    for (const pair of blocked) if (pairs.has(pair)) installed.add(pair);
    const lost = [...installed].find((pair) => !pairs.has(pair));
    return lost === undefined ? null : `${lost} is not in the kernel any more`;
  },
  "slow increases are limited": (service, { hugger, services }) =>
    service === services[0] ? hugger.brokenBound() : null,
};
