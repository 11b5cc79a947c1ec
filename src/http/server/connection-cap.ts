/**
 * Bounds the connections that the listener has accepted, since peers that open connections and send nothing would use
 * up the descriptors of the process. Bun accepts without a bound: the connections are counted afterwards, a few times a
 * second, and those over a bound are reset.
 */
import { CONNECTIONS_MAX, CONNECTIONS_PER_ADDRESS_MAX } from "../../limits.ts";
import type { Clock } from "../../system/clock.ts";
import type { Cancel, Timers } from "../../system/timers.ts";

interface ConnectionCount {
  readonly open: number;
  readonly closedOfAddress: number;
  readonly closedOfTotal: number;
}

/** Resets what is over the bounds; a peer is an IPv4 address or an IPv6 /64. Throws an Error. */
export type LimitConnections = (cap: {
  readonly port: number;
  readonly total: number;
  readonly perAddress: number;
}) => ConnectionCount;

interface ConnectionCapOptions {
  readonly limit: LimitConnections;
  readonly port: number;
  /** null: not counted. */
  readonly metrics: { connections(count: ConnectionCount): void } | null;
  readonly log: { warn(fields: object, message: string): void };
  readonly limiter: { pass(key: string, say: (suppressed: number) => void): void };
  readonly timers: Timers;
  readonly clock: Pick<Clock, "monotonicMs">;
}

/**
 * Counting many connections takes long: it takes at most 1 / PAUSE_FACTOR of the time, unless
 * their number grows fast.
 */
const PAUSE_FACTOR = 20;
const GROWTH = 256;

/** A peer on loopback opens tens of thousands of connections in a second: fewer than half of the descriptors meanwhile. */
const INTERVAL_MS = 100;

/** Returns the function that ends it. */
export function capConnections(options: ConnectionCapOptions): Cancel {
  const { limit, port, metrics, log, limiter, timers, clock } = options;
  let [open, dueMs] = [0, 0];
  const warn = (fields: object, message: string) =>
    limiter.pass(message, (suppressed) => log.warn({ ...fields, suppressed }, message));
  return timers.every(INTERVAL_MS, () => {
    const beganMs = clock.monotonicMs();
    if (beganMs < dueMs) return;
    try {
      const count = limit({ port, total: CONNECTIONS_MAX, perAddress: CONNECTIONS_PER_ADDRESS_MAX });
      metrics?.connections(count);
      const isGrowing = count.open + count.closedOfAddress + count.closedOfTotal > open + GROWTH;
      const endedMs = clock.monotonicMs();
      dueMs = isGrowing ? 0 : endedMs + PAUSE_FACTOR * (endedMs - beganMs);
      open = count.open;
      if (count.closedOfAddress + count.closedOfTotal > 0) {
        warn({ ...count }, "too many connections: those that sent nothing, or nothing for long, were reset");
      }
    } catch (cause) {
      warn({ cause }, "connections cannot be counted");
    }
  });
}
