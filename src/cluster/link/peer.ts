/**
 * One other brain: its connection, whether it is up, and what its heartbeats say. A connection counts once a heartbeat has
 * arrived on it, and as long as messages go on to arrive.
 */
import type { TLSSocket } from "node:tls";
import type { Now } from "../../system/now.ts";
import type { PeerState } from "../peers.ts";
import type { Message } from "./frames.ts";
import {
  HEARTBEAT_KIND,
  type Heartbeat,
  heartbeatOf,
  type Introduction,
  PEER_SILENT_MS,
  SkewMeter,
} from "./heartbeat.ts";
import { PeerConnection, type SendOutcome } from "./peer-connection.ts";

interface PeerObserver {
  readonly up: () => void;
  readonly down: () => void;
  readonly message: (message: Message) => void;
  /** The connection is gone, whether the peer was up or not. */
  readonly lost: (cause: string) => void;
}

interface PeerOptions {
  readonly name: string;
  readonly now: () => Now;
  /** The introduction of this brain. */
  readonly introduction: () => Introduction;
  readonly observer: PeerObserver;
}

export class Peer {
  readonly name: string;
  readonly #options: PeerOptions;
  #connection: PeerConnection | null = null;
  #meter = new SkewMeter();
  #heartbeat: Heartbeat | null = null;
  #isUp = false;
  #sinceMs: number;
  #receivedMs: number | null = null;
  /** Monotonic, ms, of the last message or of the begin of the connection. */
  #aliveMs = 0;
  #problem: string | null = null;

  constructor(options: PeerOptions) {
    this.#options = options;
    this.name = options.name;
    this.#sinceMs = options.now().wallMs;
  }

  get state(): PeerState {
    return {
      ...{ name: this.name, isUp: this.#isUp, sinceMs: this.#sinceMs, receivedMs: this.#receivedMs },
      ...{ skewMs: this.#meter.skewMs(this.#options.now()), problem: this.#problem },
      version: this.#heartbeat?.version ?? null,
      sections: this.#heartbeat?.sections ?? null,
      hasEtcd: this.#heartbeat?.has_etcd === true,
    };
  }

  /** A new connection replaces the one before: the peer has begun again, and the old one may never end. */
  connected(socket: TLSSocket): void {
    this.#connection?.close("it has connected again");
    this.#aliveMs = this.#options.now().monotonicMs;
    this.#meter = new SkewMeter();
    const connection: PeerConnection = new PeerConnection(socket, {
      received: (message) => {
        if (this.#connection === connection) this.#received(message);
      },
      closed: (cause) => {
        if (this.#connection === connection) this.#closed(cause);
      },
    });
    this.#connection = connection;
    this.#sendHeartbeat();
  }

  /** An attempt to connect failed. */
  failed(cause: string): void {
    this.#problem = cause;
  }

  send(message: Message): SendOutcome {
    return this.#isUp ? (this.#connection?.send(message) ?? "closed") : "closed";
  }

  /** Call this every HEARTBEAT_MS. */
  tick(): void {
    if (this.#connection === null) return;
    this.#connection.allowMore();
    if (!this.#closeIfSilent(this.#options.now())) this.#sendHeartbeat();
  }

  #closeIfSilent({ monotonicMs }: Now): boolean {
    if (monotonicMs - this.#aliveMs <= PEER_SILENT_MS) return false;
    this.#connection?.close(`nothing has arrived for ${PEER_SILENT_MS / 1000} s`);
    return true;
  }

  close(cause: string): void {
    this.#connection?.close(cause);
  }

  #sendHeartbeat(): void {
    const { wallMs, monotonicMs } = this.#options.now();
    const echo = this.#meter.echo(monotonicMs);
    const body: Heartbeat = { wall_ms: wallMs, monotonic_ms: monotonicMs, echo, ...this.#options.introduction() };
    this.#connection?.send({ kind: HEARTBEAT_KIND, body });
  }

  #received(message: Message): void {
    const now = this.#options.now();
    // This brain was frozen: what lay in the socket meanwhile says nothing of the peer, which has closed the connection.
    if (this.#closeIfSilent(now)) return;
    const heartbeat = message.kind === HEARTBEAT_KIND ? heartbeatOf(message.body) : null;
    if (message.kind === HEARTBEAT_KIND && heartbeat === null) {
      this.#connection?.close("it sent a heartbeat that cannot be read");
      return;
    }
    this.#aliveMs = now.monotonicMs;
    this.#receivedMs = now.monotonicMs;
    if (heartbeat === null) {
      if (this.#isUp) this.#options.observer.message(message);
      return;
    }
    this.#heartbeat = heartbeat;
    this.#meter.take(heartbeat, now);
    if (this.#isUp) return;
    this.#isUp = true;
    this.#sinceMs = now.wallMs;
    this.#problem = null;
    // So that the peer has measured the clocks before anything else arrives.
    this.#sendHeartbeat();
    this.#options.observer.up();
  }

  #closed(cause: string): void {
    this.#connection = null;
    this.#problem = cause;
    const wasUp = this.#isUp;
    this.#isUp = false;
    if (wasUp) {
      this.#sinceMs = this.#options.now().wallMs;
      this.#options.observer.down();
    }
    this.#options.observer.lost(cause);
  }
}
