/**
 * The heartbeat that brains send each other twice a second, with their wall clocks, their builds and the hashes of
 * their configurations. Clocks are compared as by NTP (RFC 5905, 8): the answer of the exchange that took least counts.
 */
import { type Static, Type } from "@sinclair/typebox";
import { TypeCompiler } from "@sinclair/typebox/compiler";
import type { Now } from "../../system/now.ts";

export const HEARTBEAT_KIND = "heartbeat";
export const HEARTBEAT_MS = 500;
/** A peer of which nothing has arrived for this long is down, ms. */
export const PEER_SILENT_MS = 3000;

const Text = Type.String({ maxLength: 64 });
const Heartbeat = Type.Object({
  /** Clocks of the sender as it sent this. */
  wall_ms: Type.Number(),
  monotonic_ms: Type.Number(),
  /** The `monotonic_ms` of the last heartbeat that it got, and how long ago that was; null: it got none. */
  echo: Type.Union([Type.Null(), Type.Object({ monotonic_ms: Type.Number(), held_ms: Type.Number() })]),
  version: Text,
  sections: Type.Record(Text, Text, { maxProperties: 64 }),
  /** The etcd of the cluster answers it. */
  has_etcd: Type.Optional(Type.Boolean()),
});
export type Heartbeat = Static<typeof Heartbeat>;
/** The part of a heartbeat by which a brain introduces itself. */
export type Introduction = Pick<Heartbeat, "version" | "sections" | "has_etcd">;

const compiled = TypeCompiler.Compile(Heartbeat);

/** null: it is no heartbeat. */
export function heartbeatOf(body: unknown): Heartbeat | null {
  return compiled.Check(body) ? body : null;
}

/** Exchanges of which the quickest is believed. */
const EXCHANGES_KEPT = 8;
/** Beyond what the times of two exchanges allow: clocks run apart by less meanwhile, ms. */
const DRIFT_MS = 50;

interface Exchange {
  readonly roundTripMs: number;
  /** Wall clock of the peer minus the own monotonic clock: when the own wall clock is set, it stays right. */
  readonly aheadMs: number;
}

/** Each is wrong by half of its time at most. */
function agree(a: Exchange, b: Exchange): boolean {
  return Math.abs(a.aheadMs - b.aheadMs) <= (a.roundTripMs + b.roundTripMs) / 2 + DRIFT_MS;
}

/** Measures how far the clock of one peer is from the own one. */
export class SkewMeter {
  #exchanges: Exchange[] = [];
  #last: { readonly monotonicMs: number; readonly atMs: number } | null = null;

  /** Wall clock of the peer minus the own one, ms; null: not measured yet. */
  skewMs({ wallMs, monotonicMs }: Now): number | null {
    const [quickest] = this.#exchanges.toSorted((a, b) => a.roundTripMs - b.roundTripMs);
    return quickest === undefined ? null : quickest.aheadMs + monotonicMs - wallMs;
  }

  take({ wall_ms: wallMs, monotonic_ms: monotonicMs, echo }: Heartbeat, now: Now): void {
    this.#last = { monotonicMs, atMs: now.monotonicMs };
    if (echo === null) return;
    const roundTripMs = Math.max(0, now.monotonicMs - echo.monotonic_ms - echo.held_ms);
    const exchange = { roundTripMs, aheadMs: wallMs + roundTripMs / 2 - now.monotonicMs };
    // The clock of the peer was set since those that contradict it.
    this.#exchanges = this.#exchanges.filter((each) => agree(each, exchange));
    this.#exchanges.push(exchange);
    if (this.#exchanges.length > EXCHANGES_KEPT) this.#exchanges.shift();
  }

  echo(nowMs: number): Heartbeat["echo"] {
    if (this.#last === null) return null;
    return { monotonic_ms: this.#last.monotonicMs, held_ms: nowMs - this.#last.atMs };
  }
}
