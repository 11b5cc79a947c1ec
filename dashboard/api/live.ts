/**
 * Keeps the attacks and bans current: reads the lists once, then follows the event stream, which is resumed after a
 * disconnect. Without a stream, the lists are polled. Listeners are notified at once, and at most ten times a second.
 */

import { computed, effect, signal } from "@preact/signals";
import type { AttacksWire, AttackWire } from "../../src/http/wire/attack.ts";
import type { BansWire, BanWire } from "../../src/http/wire/ban.ts";
import type { IncidentRowWire } from "../../src/http/wire/incident.ts";
import { banNamer } from "../text/known-names.ts";
import { readAttacks } from "./attack-list.ts";
import { authorization, read, tokensRefused } from "./client.ts";
import { answered, contact } from "./contact.ts";
import { EventLines, type SentEvent } from "./event-lines.ts";
import { tookIncident } from "./incident-rows.ts";
import { names } from "./known-names.ts";
import type { Loaded } from "./resource.ts";
import { readShown } from "./shown-json.ts";
import { AttackTable, BanTable } from "./tables.ts";

/** `polling`: the service accepts no further stream. */
type StreamState = "connecting" | "live" | "polling";

export const streamState = signal<StreamState>("connecting");
export const attacks = signal<Loaded<AttacksWire>>({ kind: "loading" });
const banList = signal<Loaded<readonly BanWire[]>>({ kind: "loading" });
const namer = computed(() => banNamer(names.value));
/** With the names of neighbors and next hops. */
export const bans = computed((): Loaded<readonly BanWire[]> => {
  const { value } = banList;
  return value.kind === "ready" ? { ...value, data: value.data.map(namer.value) } : value;
});
/** Counts reloads of the configuration; views that show it read it again. */
export const reloads = signal(0);

const NOTIFY_MS = 100;
/** The service sends something every 15 s. After this silence the connection is regarded as dead. */
const SILENCE_MS = 40_000;
const RETRIES_MS = [500, 1000, 2000, 4000];
/**
 * Period of reading the lists while there is no stream, and of reading the bans always, since their drop counters cause
 * no events.
 */
const POLL_MS = 5000;

class Live {
  readonly #attacks = new AttackTable();
  readonly #bans = new BanTable();
  /** Events that arrived while the lists were being read; null: the lists are complete. */
  #early: SentEvent[] | null = null;
  #lastId: string | null = null;
  #notifyTimer: ReturnType<typeof setTimeout> | null = null;
  #notifiedAtMs = 0;
  #abort = new AbortController();
  #wake: () => void = () => {};

  start(): () => void {
    const { signal: ended } = this.#abort;
    void this.#run(ended);
    const poll = setInterval(() => {
      if (document.visibilityState !== "visible") return;
      if (streamState.peek() === "polling" || attacks.peek().kind !== "ready") void this.#readLists();
      else void this.readBans();
    }, POLL_MS);
    const stopEffect = effect(() => {
      if (contact.value.kind === "in_touch") this.#wake();
    });
    return () => {
      clearInterval(poll);
      stopEffect();
      this.#abort.abort();
      this.#wake();
    };
  }

  /** Shows the result of a command before its event arrives. */
  tookBan(ban: BanWire): void {
    this.#bans.apply(ban, performance.now());
    this.#notify();
  }

  async readBans(): Promise<void> {
    const askedMs = performance.now();
    const answer = await read<BansWire>("/api/v1/bans");
    if (answer.kind !== "answer") return;
    this.#bans.replace(answer.data.bans, askedMs);
    this.#notify();
  }

  async #run(ended: AbortSignal): Promise<void> {
    for (let failures = 0; !ended.aborted; failures++) {
      const wasOpen = await this.#listen(ended);
      if (ended.aborted) return;
      if (wasOpen) failures = 0;
      await this.#pause(RETRIES_MS[Math.min(failures, RETRIES_MS.length - 1)] as number);
    }
  }

  /** Runs until the stream ends. Returns whether it was open. */
  async #listen(ended: AbortSignal): Promise<boolean> {
    const line = new AbortController();
    const hangUp = () => line.abort();
    ended.addEventListener("abort", hangUp, { once: true });
    let silence = setTimeout(hangUp, SILENCE_MS);
    try {
      const resume = this.#lastId === null ? {} : { "last-event-id": this.#lastId };
      const headers = { accept: "text/event-stream", ...authorization(), ...resume };
      const answer = await fetch("/api/v1/events", { headers, signal: line.signal, cache: "no-store" });
      answered(answer.headers.get("date"));
      if (!answer.ok || answer.body === null) return this.#refused(answer.status);
      streamState.value = "live";
      if (this.#lastId === null) void this.#readLists();
      const lines = new EventLines();
      const text = answer.body.pipeThrough(new TextDecoderStream());
      for await (const piece of text as unknown as AsyncIterable<string>) {
        clearTimeout(silence);
        silence = setTimeout(hangUp, SILENCE_MS);
        answered();
        for (const event of lines.push(piece)) this.#take(event);
        this.#lastId = lines.lastId ?? this.#lastId;
      }
      streamState.value = "connecting";
      return true;
    } catch {
      // A stream may also break for reasons of its own, so a request checks whether the service answers.
      if (!ended.aborted) void read("/api/v1/session");
      const wasOpen = streamState.peek() === "live";
      streamState.value = "connecting";
      return wasOpen;
    } finally {
      clearTimeout(silence);
      ended.removeEventListener("abort", hangUp);
    }
  }

  #refused(status: number): false {
    if (status === 401) {
      tokensRefused.value++;
      return false;
    }
    if (streamState.peek() !== "polling") void this.#readLists();
    streamState.value = "polling";
    this.#lastId = null;
    return false;
  }

  #take(event: SentEvent): void {
    if (this.#early !== null) this.#early.push(event);
    this.#apply(event);
    this.#notify();
  }

  #apply({ name, data }: SentEvent): void {
    if (name === "attack") this.#attacks.apply(readShown(data) as AttackWire, performance.now());
    else if (name === "ban") this.#bans.apply(readShown(data) as BanWire, performance.now());
    else if (name === "incident") tookIncident(readShown(data) as IncidentRowWire);
    else if (name === "reload" || name === "reset") {
      reloads.value++;
      void this.#readLists();
    }
  }

  async #readLists(): Promise<void> {
    const early: SentEvent[] = [];
    const askedMs = performance.now();
    this.#early = early;
    const [attackLists, banAnswer] = await Promise.all([
      readAttacks((path) => read<AttacksWire>(path)),
      read<BansWire>("/api/v1/bans"),
    ]);
    // A later reading of the lists has started in the meantime.
    if (this.#early !== early) return;
    this.#early = null;
    if (attackLists.kind !== "answer" || banAnswer.kind !== "answer") {
      const failure = attackLists.kind === "answer" ? banAnswer : attackLists;
      if (failure.kind === "answer") return;
      // The position in the stream is not known any more.
      this.#lastId = null;
      if (attacks.peek().kind !== "ready") attacks.value = banList.value = { kind: "failed", failure };
      return;
    }
    this.#attacks.replace(attackLists.data, performance.now());
    this.#bans.replace(banAnswer.data.bans, askedMs);
    for (const event of early) if (event.name === "attack" || event.name === "ban") this.#apply(event);
    this.#notify();
  }

  #notify(): void {
    if (this.#early !== null) return;
    if (this.#notifyTimer !== null) return;
    const waitMs = Math.max(0, this.#notifiedAtMs + NOTIFY_MS - performance.now());
    this.#notifyTimer = setTimeout(() => {
      this.#notifyTimer = null;
      this.#notifiedAtMs = performance.now();
      const atMs = Date.now();
      attacks.value = { kind: "ready", data: this.#attacks.lists(), atMs };
      banList.value = { kind: "ready", data: this.#bans.list(), atMs };
    }, waitMs);
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

let live: Live | null = null;

/** Runs while a user is signed in. Returns the function that stops it. */
export function startLive(): () => void {
  const started = new Live();
  live = started;
  const stop = started.start();
  return () => {
    stop();
    live = null;
    streamState.value = "connecting";
    attacks.value = banList.value = { kind: "loading" };
  };
}

/** The attacks in progress, as far as they are known. */
export function activeAttacks(): readonly AttackWire[] {
  const { value } = attacks;
  return value.kind === "ready" ? value.data.active : [];
}

/** After an order whose result is not known from its answer. */
export function readBans(): void {
  void live?.readBans();
}

export function tookBan(ban: BanWire): void {
  live?.tookBan(ban);
}
