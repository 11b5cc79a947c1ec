/** The other brains of a cluster, as the parts see them that exchange something with them. Knows no sockets. */
import type { ClockOfBrain } from "./order-exchange.ts";

export interface PeerState {
  readonly name: string;
  /** Messages arrive from it. */
  readonly isUp: boolean;
  /** Wall clock, ms: since when `isUp` has its value. */
  readonly sinceMs: number;
  /** Monotonic, ms, of the last message; null: there was none since the start. */
  readonly receivedMs: number | null;
  /** The wall clock of the peer minus that of this brain, ms; null: not measured yet. */
  readonly skewMs: number | null;
  /** Its build; null: there was no message since the start. */
  readonly version: string | null;
  /** Hashes of the sections of its configuration by their names in the file; null as `version`. */
  readonly sections: Readonly<Record<string, string>> | null;
  /** The etcd of the cluster answers it, as it said last. */
  readonly hasEtcd?: boolean;
  /** Why there is no connection, for people; null: there is one, or none was tried yet. */
  readonly problem: string | null;
}

/** The known state of a brain's wall clock; null: none. */
export function clockOf(brain: string, peers: readonly PeerState[]): ClockOfBrain | null {
  const { isUp = false, skewMs = null } = peers.find(({ name }) => name === brain) ?? {};
  return skewMs === null ? null : { skewMs, isCurrent: isUp };
}

/** A message that is sent again whenever its receiver has become reachable is never lost; all others may be. */
export interface Peers {
  /** The name of this brain. */
  readonly own: string;
  /** States of all configured brains but this one, in the order of their names. */
  states(): readonly PeerState[];
  /**
   * To every brain that is up; nothing for others: what must arrive is sent again from onUp(). Messages of one sender arrive
   * in their order. A body is JSON of at most MESSAGE_BYTES_MAX; larger ones are dropped, counted and logged.
   */
  broadcast(kind: string, body: unknown): void;
  send(to: string, kind: string, body: unknown): void;
  /** `body` is not checked: it is what the peer sent. Kinds without a listener are counted and ignored. */
  on(kind: string, listener: (from: string, body: unknown) => void): void;
  /** Messages reach the brain from now on. */
  onUp(listener: (name: string) => void): void;
  /** The connection is closed, or nothing has arrived for PEER_SILENT_MS. */
  onDown(listener: (name: string) => void): void;
}
