/**
 * Owns the diversions by a hook: begins those that bans want, calls it until each is confirmed, and ends those that no ban wants
 * any more. Each step is on disk before the hook is called, and ending goes on until the hook has ended it, over restarts.
 */
import { ADMINISTRATOR, type Callers, type Holder, type Overrun, type Room, Shares } from "../access/shares.ts";
import type { RouteState } from "../mitigation/announcer.ts";
import type {
  Diversion,
  DiversionFault,
  DiversionPhase,
  DiversionView,
  Diverter,
  WantedDiversion,
} from "../mitigation/diversion.ts";
import type { Prefix } from "../net/prefix.ts";
import { timestamp } from "../schema/timestamp.ts";
import type { Clock } from "../system/clock.ts";
import { messageOf } from "../system/error-message.ts";
import { JoinedWrites } from "../system/joined-writes.ts";
import { Pause } from "../system/pause.ts";
import type { Timers } from "../system/timers.ts";
import { DiversionFaults } from "./diversion-faults.ts";
import type { HookConfig } from "./divert-config.ts";
import type { HookAnswer, HookRequest } from "./hook.ts";
import { type HookTurn, HookTurns } from "./hook-turns.ts";

interface DiversionsOptions {
  /** The hook of the configuration in force; null: none. */
  readonly hook: () => HookConfig | null;
  readonly ask: (hook: HookConfig, request: HookRequest) => Promise<HookAnswer>;
  /** When the last of these bans ends, by their prefixes, if nothing prolongs it; null: none is in force. Wall clock, ms. */
  readonly expiryOf: (bans: readonly string[]) => number | null;
  readonly callers: () => Callers;
  readonly save: (diversions: readonly Diversion[]) => Promise<void>;
  readonly clock: Clock;
  readonly timers: Pick<Timers, "after">;
  readonly newId: () => string;
  readonly log: Record<"info" | "warn" | "error", (fields: object, message: string) => void>;
}

/** Those that bans want, and those that are being ended. */
export const DIVERSIONS_MAX = 2048;
/** Half is for attacks and the administrator. */
const ROOM: Room = { capacity: DIVERSIONS_MAX, reserve: DIVERSIONS_MAX / 2 };
/** After a failed request: doubled each time. */
const RETRY_MIN_MS = 1000;
const RETRY_MAX_MS = 60_000;
/** Between two questions whether a prefix is diverted. */
const CONFIRM_EVERY_MS = 5000;
/** A confirmed diversion is lost after this number of answers, one after the other, that it is not diverted. */
const DENIALS = 2;
/** After a loss, before bans that act otherwise meanwhile want it again. One that they want still is begun again sooner. */
const LOST_FOR_MS = 60_000;
/** While nothing is to be done. */
const IDLE_MS = 60_000;
const LOGGED_EACH = 10;
const ASKING: readonly DiversionPhase[] = ["beginning", "ending"];
const OVERRUNS: Readonly<Record<Overrun, string>> = {
  full: "too many diversions by the scrubbing hook are in progress",
  over_share: "your share of the diversions by the scrubbing hook is taken: unban others that you ordered",
};
const NO_HOOK_LEFT = "scrubbing.hook is not configured any more: nothing can end it";
const NOT_BEGUN = "it has not begun it, and confirm_seconds is 0";
const LOST = "the scrubbing center had the traffic, and the hook does not confirm it any more";

type Begun = Pick<Diversion, "id" | "prefix" | "isDryRun" | "begunAt" | "isLost">;

interface Running {
  diversion: Diversion;
  /** The caller that wants it, or did last. */
  holder: Holder;
  /** The present phase is on disk. */
  isSaved: boolean;
  readonly pause: Pause;
  /** Answers that it is not diverted, in a row, after it was confirmed. */
  denials: number;
  /** When the phase began, in this process, later by the time that requests waited for their turn. Monotonic, ms. */
  sinceMs: number;
  /** When it became, or was found to be, as its phase says. Monotonic, ms. */
  checkedMs: number;
  /** After a failure: when it is begun again. Monotonic, ms. */
  againMs: number;
}

export class Diversions implements Diverter {
  readonly #options: DiversionsOptions;
  /** By prefix. */
  readonly #running = new Map<string, Running>();
  /** By their holders. */
  readonly #shares: Shares;
  /** By prefix. */
  #wanted: ReadonlyMap<string, WantedDiversion> = new Map();
  readonly #faults: DiversionFaults;
  readonly #turns = new HookTurns();
  readonly #writes = new JoinedWrites(() => this.#options.save(this.views()));
  #isStarted = false;
  #isStopped = false;

  /** @param stored those of an earlier process, which go on with start() */
  constructor(options: DiversionsOptions, stored: readonly Diversion[]) {
    this.#options = options;
    this.#faults = new DiversionFaults(() => options.clock.monotonicMs());
    this.#shares = new Shares(options.callers);
    for (const { holder = ADMINISTRATOR, ...diversion } of stored) this.#added(diversion, true, holder);
  }

  views(): readonly DiversionView[] {
    return [...this.#running.values()].map(({ diversion, holder }) => {
      const bans = this.#wanted.get(diversion.prefix)?.bans ?? [];
      const held = holder.tenant !== null && { holder };
      return { ...diversion, ...held, bans, wantedUntil: this.#options.expiryOf(bans) };
    });
  }

  want(diversions: readonly WantedDiversion[]): void {
    this.#wanted = new Map(diversions.map((wanted) => [wanted.prefix.text, wanted]));
    for (const [text, running] of this.#running) {
      this.#shares.giveBack(running.holder);
      running.holder = this.#wanted.get(text)?.holder ?? running.holder;
      this.#shares.take(running.holder);
    }
    if (this.#isStarted) this.#beginWanted();
  }

  /** From now on the hook is called. Call this when bans have said what they want. */
  start(): void {
    this.#isStarted = true;
    for (const running of this.#running.values()) this.#go(running);
    this.#beginWanted();
  }

  #beginWanted(): void {
    const { newId, clock } = this.#options;
    for (const [text, { prefix, holder }] of this.#wanted) {
      if (this.#running.has(text) || this.faultOf(prefix, holder) !== null) continue;
      const dryRun = this.#options.hook()?.isDryRun === true ? { isDryRun: true as const } : {};
      const begun: Begun = { id: newId(), prefix: text, ...dryRun, begunAt: clock.wallMs() };
      this.#go(this.#added(this.#entered(begun, "beginning"), false, holder));
    }
    // The others wait on: a route that changes does not shorten the pause after a failed request.
    for (const running of this.#running.values()) if (this.#isTurning(running)) running.pause.end();
  }

  /** Whether it is to begin or to end in place of what it does. One that was begun in dry run, or not, ends as that. */
  #isTurning({ diversion: { prefix, phase, isDryRun } }: Running): boolean {
    const hook = this.#options.hook();
    const isWanted = this.#wanted.has(prefix) && (hook === null || hook.isDryRun === (isDryRun === true));
    return isWanted === (phase === "ending");
  }

  faultOf({ text }: Prefix, holder: Holder): string | null {
    const overrun = this.#running.has(text) ? null : this.#shares.refusal(holder, ROOM);
    return this.#faults.of(text)?.cause ?? (overrun && OVERRUNS[overrun]);
  }

  isLost({ text }: Prefix): boolean {
    return this.#faults.of(text)?.isLost === true;
  }

  faults = (): readonly DiversionFault[] => this.#faults.all();

  stateOf(prefix: Prefix): RouteState {
    const cause = this.faultOf(prefix, ADMINISTRATOR);
    if (cause !== null) return { kind: "failed", cause };
    const { phase = null, isDryRun = false } = this.#running.get(prefix.text)?.diversion ?? {};
    // In dry run the traffic is not diverted: what was announced before stays.
    return { kind: phase === "diverted" && !isDryRun ? "announced" : "pending" };
  }

  /** Diversions stay: the next process goes on with them. */
  stop(): void {
    this.#isStopped = true;
    for (const { pause } of this.#running.values()) pause.end();
  }

  #added(diversion: Diversion, isSaved: boolean, holder: Holder): Running {
    const { clock, timers } = this.#options;
    const agoMs = Math.max(0, clock.wallMs() - diversion.since);
    const now = clock.monotonicMs();
    const times = { sinceMs: now - agoMs, checkedMs: now, againMs: now };
    const running = { diversion, holder, isSaved, pause: new Pause(timers), denials: 0, ...times };
    this.#running.set(diversion.prefix, running);
    this.#shares.take(holder);
    return running;
  }

  #go(running: Running): void {
    this.#run(running).catch((cause: unknown) => this.#options.log.error({ cause }, "a diversion could not go on"));
  }

  async #run(running: Running): Promise<void> {
    while (!this.#isStopped) {
      // So that the next process does not ask for what is done. One that begins, and one that ends, sees to it itself.
      if (!running.isSaved && !ASKING.includes(running.diversion.phase)) await this.#keep(running);
      if (this.#isTurning(running)) this.#enter(running, running.diversion.phase === "ending" ? "beginning" : "ending");
      else if (await this.#act(running)) return;
    }
  }

  /** Returns whether it has ended. */
  async #act(running: Running): Promise<boolean> {
    const { phase } = running.diversion;
    switch (phase) {
      case "beginning":
        await this.#begin(running);
        return false;
      case "confirming":
        await this.#confirm(running);
        return false;
      case "diverted":
        await this.#confirmAgain(running);
        return false;
      case "failed": {
        const leftMs = running.againMs - this.#options.clock.monotonicMs();
        if (leftMs > 0) await running.pause.wait(Math.min(IDLE_MS, leftMs));
        else this.#enter(running, "beginning");
        return false;
      }
      case "ending":
        return this.#end(running);
      default:
        return phase satisfies never;
    }
  }

  async #begin(running: Running): Promise<void> {
    if (!(await this.#saved(running))) return;
    const answer = await this.#asked(running, "begin");
    if (answer === null) return;
    this.#enter(running, this.#options.hook()?.confirmSeconds === 0 ? "diverted" : "confirming");
  }

  async #confirm(running: Running): Promise<void> {
    const { hook, clock } = this.#options;
    const answer = await this.#asked(running, "confirm");
    if (answer === "done") this.#enter(running, "diverted");
    if (answer !== "not_yet") return;
    const seconds = hook()?.confirmSeconds ?? 0;
    const isLate = clock.monotonicMs() - running.sinceMs >= seconds * 1000;
    // A reload has changed that: whether the hook has begun it is what counts from now on.
    if (seconds === 0) this.#enter(running, "beginning");
    else if (isLate) this.#failed(running, `not confirmed within ${seconds} s`);
    else await running.pause.wait(CONFIRM_EVERY_MS);
  }

  /** The provider may end what it had confirmed: its bans act otherwise then, or it is requested again. */
  async #confirmAgain(running: Running): Promise<void> {
    const { hook, newId, clock } = this.#options;
    const present = hook();
    const seconds = present === null || present.confirmSeconds === 0 ? 0 : present.confirmEverySeconds;
    if (running.diversion.attempts === 0) {
      const everyMs = running.denials === 0 ? seconds * 1000 : CONFIRM_EVERY_MS;
      const leftMs = seconds === 0 ? IDLE_MS : running.checkedMs + everyMs - clock.monotonicMs();
      // A reload may change how often, or end this.
      if (leftMs > 0) return running.pause.wait(Math.min(IDLE_MS, leftMs));
      running.diversion = { ...running.diversion, requestId: newId() };
    }
    const answer = await this.#asked(running, "confirm", "check");
    running.checkedMs = clock.monotonicMs();
    if (answer === "done") running.denials = 0;
    if (answer !== "not_yet" || ++running.denials < DENIALS) return;
    const now = clock.monotonicMs();
    running.diversion = { ...running.diversion, isLost: true };
    this.#failed(running, LOST, { untilMs: now + LOST_FOR_MS, againMs: now + CONFIRM_EVERY_MS });
  }

  async #end(running: Running): Promise<boolean> {
    // Where this is not on disk yet, the next process ends it all the same.
    await this.#saved(running);
    const answer = await this.#asked(running, "end");
    if (answer === "not_yet") await running.pause.wait(CONFIRM_EVERY_MS);
    if (answer !== "done") return false;
    const { prefix, id } = running.diversion;
    this.#running.delete(prefix);
    this.#shares.giveBack(running.holder);
    this.#options.log.info({ prefix, id }, "the hook has ended the diversion");
    await this.#writes.now().catch(() => {});
    // Wanted again meanwhile.
    if (!this.#isStopped) this.#beginWanted();
    return true;
  }

  /** null: it failed, which is counted, and the pause after it is over. */
  async #asked(running: Running, action: HookRequest["action"], turn: HookTurn = action): Promise<HookAnswer | null> {
    const { hook: present, ask, clock } = this.#options;
    const hook = present();
    const { id, requestId: request_id, prefix, isDryRun: dry_run = false } = running.diversion;
    const askedMs = clock.monotonicMs();
    try {
      if (hook === null) throw new Error(NO_HOOK_LEFT);
      const answer = await this.#turns.take(turn, running.holder.tenant, () => {
        running.sinceMs += clock.monotonicMs() - askedMs;
        const expires_at = action === "end" ? null : this.#wantedUntil(prefix);
        return ask(hook, { action, id, request_id, prefix, dry_run, ...(expires_at !== null && { expires_at }) });
      });
      if (action === "begin" && answer === "not_yet" && present()?.confirmSeconds === 0) throw new Error(NOT_BEGUN);
      // Failures count in a row.
      if (running.diversion.attempts > 0) {
        const error = running.diversion.isLost === true ? LOST : null;
        running.diversion = { ...running.diversion, attempts: 0, error };
      }
      return answer;
    } catch (cause) {
      await this.#attemptFailed(running, messageOf(cause), hook?.attempts ?? 1);
      return null;
    }
  }

  async #attemptFailed(running: Running, error: string, most: number): Promise<void> {
    const { phase, prefix, id } = running.diversion;
    const attempts = running.diversion.attempts + 1;
    running.diversion = { ...running.diversion, attempts, error };
    const isLogged = attempts === 1 || attempts % LOGGED_EACH === 0;
    if (isLogged) this.#options.log.warn({ prefix, id, phase, attempts, error }, "the scrubbing hook failed");
    // That the hook does not answer does not say that the provider ended what it had confirmed.
    const isToFail = phase === "beginning" || phase === "confirming";
    if (isToFail && attempts >= most) this.#failed(running, error);
    else await running.pause.wait(Math.min(RETRY_MAX_MS, RETRY_MIN_MS * 2 ** Math.min(attempts - 1, 16)));
  }

  /** @param times for its bans, and for a ban that wants it still; both are those of the configuration where it was not lost. */
  #failed(running: Running, error: string, times?: { readonly untilMs: number; readonly againMs: number }): void {
    const { hook, clock, log } = this.#options;
    const { prefix, id } = running.diversion;
    const cause = `the scrubbing hook does not divert ${prefix}: ${error}`;
    const retryMs = clock.monotonicMs() + (hook()?.retryAfterSeconds ?? 0) * 1000;
    const { untilMs, againMs } = times ?? { untilMs: retryMs, againMs: retryMs };
    running.againMs = againMs;
    this.#faults.set({ prefix, cause, untilMs, isLost: times !== undefined });
    log.error({ prefix, id, error }, "a diversion by the scrubbing hook failed");
    this.#enter(running, "failed");
    running.diversion = { ...running.diversion, error };
  }

  /** For the hook; null: no ban wants it any more. */
  #wantedUntil(prefix: string): string | null {
    const expiresAt = this.#options.expiryOf(this.#wanted.get(prefix)?.bans ?? []);
    return expiresAt === null ? null : timestamp(expiresAt);
  }

  #enter(running: Running, phase: DiversionPhase): void {
    running.diversion = this.#entered(running.diversion, phase);
    running.isSaved = false;
    running.sinceMs = this.#options.clock.monotonicMs();
    running.checkedMs = running.sinceMs;
    running.denials = 0;
    const { prefix, id } = running.diversion;
    if (phase === "diverted") this.#faults.delete(prefix);
    this.#options.log.info({ prefix, id, phase }, "diversion by the scrubbing hook");
  }

  #entered(of: Begun, phase: DiversionPhase): Diversion {
    const { id, prefix, isDryRun, begunAt, isLost } = of;
    const { newId, clock } = this.#options;
    const begun = { id, requestId: newId(), prefix, ...(isDryRun && { isDryRun }), ...(begunAt && { begunAt }) };
    // Until it is diverted again or is to end.
    const lost =
      isLost === true && phase !== "diverted" && phase !== "ending" ? { isLost, error: LOST } : { error: null };
    return { ...begun, phase, since: clock.wallMs(), attempts: 0, ...lost };
  }

  /**
   * Whether the hook may be called: its phase is on disk, or could not be written in as many attempts as the hook has: a
   * diversion that nothing may end is better than none. If not, the pause after the failure is over.
   */
  async #saved(running: Running): Promise<boolean> {
    if (running.isSaved) return true;
    try {
      await this.#write(running);
      return true;
    } catch (cause) {
      const error = `it could not be saved: ${messageOf(cause)}`;
      const { prefix, id, attempts } = running.diversion;
      if (attempts + 1 < (this.#options.hook()?.attempts ?? 1)) {
        await this.#attemptFailed(running, error, Number.POSITIVE_INFINITY);
        return false;
      }
      this.#options.log.error(
        { prefix, id, error },
        "the scrubbing hook is called for a diversion that is not on disk",
      );
      running.isSaved = true;
      running.diversion = { ...running.diversion, attempts: 0 };
      return true;
    }
  }

  async #keep(running: Running): Promise<void> {
    await this.#write(running).catch((cause: unknown) =>
      this.#options.log.warn({ cause, prefix: running.diversion.prefix }, "a diversion could not be saved"),
    );
    running.isSaved = true;
  }

  async #write(running: Running): Promise<void> {
    const { diversion } = running;
    await this.#writes.now();
    if (running.diversion === diversion) running.isSaved = true;
  }
}
