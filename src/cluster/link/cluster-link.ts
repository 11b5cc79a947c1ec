/**
 * The connections between the brains of a cluster: one to each, which carries both directions. The brain with the lower
 * name dials. Whatever fails here is tried again, and stops nothing else.
 */
import type { TLSSocket } from "node:tls";
import { Backoff } from "../../system/backoff.ts";
import { messageOf } from "../../system/error-message.ts";
import type { Now } from "../../system/now.ts";
import type { Cancel, Timers } from "../../system/timers.ts";
import type { ClusterConfig, OtherBrain } from "../cluster-config.ts";
import type { PeerState, Peers } from "../peers.ts";
import { type LinkFiles, readLinkFiles } from "./certificate.ts";
import { ConnectionBounds } from "./connection-bounds.ts";
import type { Message } from "./frames.ts";
import { HEARTBEAT_MS, type Introduction } from "./heartbeat.ts";
import { Peer } from "./peer.ts";
import type { SendOutcome } from "./peer-connection.ts";
import { dial, type Listener, listen } from "./tls-ends.ts";

const RETRY = { retryMinMs: 250, retryMaxMs: 5000 } as const;
/** An attempt to connect is given up after this, ms. */
const DIAL_MS = 6000;
/** How often the files are read again: a new certificate serves the connections that begin after. */
const FILES_MS = 60_000;

export interface LinkObserver {
  readonly up: (name: string) => void;
  /** A connection that was up ended, or an attempt failed. */
  readonly failed: (name: string, cause: string) => void;
  /** A caller that is none of the other brains. */
  readonly refused: (cause: string, address: string | null) => void;
  /** The files cannot be used, or the address not be listened on: tried again. */
  readonly fault: (cause: string) => void;
  /** A message was dropped: of a kind that no part of this build knows, or larger than the bound. */
  readonly dropped: (why: "unknown" | "too_large", kind: string, name: string) => void;
  /** A listener threw. */
  readonly listenerFailed: (cause: unknown) => void;
}

interface ClusterLinkOptions {
  readonly config: ClusterConfig;
  readonly now: () => Now;
  readonly timers: Timers;
  /** A factor on each wait between attempts. */
  readonly spread: () => number;
  readonly introduction: () => Introduction;
  readonly observer: LinkObserver;
}

interface Dialed {
  readonly brain: OtherBrain;
  readonly peer: Peer;
  readonly backoff: Backoff;
  /** Cancels the wait or the attempt in progress. */
  cancel: Cancel;
}

type Listeners<T extends unknown[]> = ((...args: T) => void)[];

export class ClusterLink implements Peers {
  readonly own: string;
  readonly #options: ClusterLinkOptions;
  readonly #peers = new Map<string, Peer>();
  readonly #dialed: Dialed[] = [];
  readonly #kinds = new Map<string, Listeners<[from: string, body: unknown]>>();
  readonly #ups: Listeners<[name: string]> = [];
  readonly #downs: Listeners<[name: string]> = [];
  readonly #bounds: ConnectionBounds;
  #files: LinkFiles | null = null;
  #listener: Listener | null = null;
  /** Why this brain cannot be reached, or cannot reach others; null: nothing is wrong here. */
  #fault: string | null = null;
  #cancels: Cancel[] = [];
  #isStopped = false;

  constructor(options: ClusterLinkOptions) {
    const { config, now, introduction, spread } = options;
    this.#options = options;
    this.own = config.name;
    this.#bounds = new ConnectionBounds(config.brains.map(({ address }) => address.host));
    for (const brain of config.brains.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      const peer: Peer = new Peer({
        ...{ name: brain.name, now, introduction },
        observer: {
          up: () => this.#up(brain.name),
          down: () => this.#emit(this.#downs, brain.name),
          message: (message) => this.#received(brain.name, message),
          lost: (cause) => this.#lost(brain.name, cause),
        },
      });
      this.#peers.set(brain.name, peer);
      if (this.own < brain.name)
        this.#dialed.push({ brain, peer, backoff: new Backoff(RETRY, spread), cancel: () => {} });
    }
  }

  /** The port that is listened on; null: none at this time. */
  get port(): number | null {
    return this.#listener?.port ?? null;
  }

  get fault(): string | null {
    return this.#fault;
  }

  /** Wall clock, ms, of the end of the own certificate; null: it cannot be read. */
  get certificateUntilMs(): number | null {
    return this.#files?.validUntilMs ?? null;
  }

  /** Listeners are added before. Resolves when it listens, or the first attempt failed. */
  async start(): Promise<void> {
    const { timers } = this.#options;
    this.#cancels.push(timers.every(HEARTBEAT_MS, () => this.#tick()));
    this.#cancels.push(timers.every(FILES_MS, () => void this.#open()));
    await this.#open();
    for (const dialed of this.#dialed) this.#dial(dialed);
  }

  stop(): void {
    this.#isStopped = true;
    for (const cancel of this.#cancels) cancel();
    for (const { cancel } of this.#dialed) cancel();
    this.#listener?.close();
    this.#listener = null;
    for (const peer of this.#peers.values()) peer.close("this brain stops");
  }

  states(): readonly PeerState[] {
    return [...this.#peers.values()].map(({ state }) => state);
  }

  broadcast(kind: string, body: unknown): void {
    for (const name of this.#peers.keys()) this.send(name, kind, body);
  }

  send(to: string, kind: string, body: unknown): void {
    const outcome: SendOutcome = this.#peers.get(to)?.send({ kind, body }) ?? "closed";
    if (outcome === "too_large") this.#options.observer.dropped("too_large", kind, to);
  }

  on(kind: string, listener: (from: string, body: unknown) => void): void {
    const listeners = this.#kinds.get(kind) ?? [];
    this.#kinds.set(kind, [...listeners, listener]);
  }

  onUp(listener: (name: string) => void): void {
    this.#ups.push(listener);
  }

  onDown(listener: (name: string) => void): void {
    this.#downs.push(listener);
  }

  #tick(): void {
    for (const peer of this.#peers.values()) peer.tick();
  }

  /** Reads the files, and listens; with new files again. Connections go on. */
  async #open(): Promise<void> {
    const { config, now, observer } = this.#options;
    try {
      const files = readLinkFiles(config);
      const isSame = files.cert === this.#files?.cert && files.key === this.#files.key && files.ca === this.#files.ca;
      this.#files = files;
      if (isSame && this.#listener !== null) return;
      this.#listener?.close();
      this.#listener = null;
      const listener = await listen({
        ...{ at: config.listen, files, bounds: this.#bounds, monotonicMs: () => now().monotonicMs },
        observer: {
          connected: (socket, names) => this.#accepted(socket, names),
          refused: (cause, address) => observer.refused(cause, address),
        },
      });
      if (this.#isStopped) listener.close();
      else this.#listener = listener;
      this.#fault = null;
    } catch (cause) {
      this.#fault = messageOf(cause);
      observer.fault(this.#fault);
    }
  }

  #accepted(socket: TLSSocket, names: readonly string[]): void {
    const known = [...this.#peers.values()].filter(({ name }) => names.includes(name));
    const [peer] = known;
    const refusal = refusalOf(this.own, known, names);
    if (peer !== undefined && refusal === null) {
      peer.connected(socket);
      return;
    }
    this.#options.observer.refused(refusal ?? "", socket.remoteAddress ?? null);
    socket.destroy();
  }

  #dial(dialed: Dialed): void {
    if (this.#isStopped) return;
    if (this.#files === null) {
      this.#dialAgain(dialed, this.#fault ?? "the certificate cannot be read");
      return;
    }
    const { timers } = this.#options;
    const { brain, peer } = dialed;
    const giveUp = dial(brain, this.#files, {
      connected: (socket) => {
        cancelWait();
        peer.connected(socket);
      },
      failed: (cause) => {
        cancelWait();
        this.#dialAgain(dialed, cause);
      },
    });
    const cancelWait = timers.after(DIAL_MS, () => {
      giveUp();
      this.#dialAgain(dialed, "no answer");
    });
    dialed.cancel = () => {
      cancelWait();
      giveUp();
    };
  }

  #dialAgain(dialed: Dialed, cause: string): void {
    if (this.#isStopped) return;
    dialed.peer.failed(cause);
    this.#options.observer.failed(dialed.brain.name, cause);
    dialed.cancel = this.#options.timers.after(dialed.backoff.next(), () => this.#dial(dialed));
  }

  #up(name: string): void {
    this.#dialed.find(({ brain }) => brain.name === name)?.backoff.reset();
    this.#options.observer.up(name);
    this.#emit(this.#ups, name);
  }

  #lost(name: string, cause: string): void {
    const dialed = this.#dialed.find(({ brain }) => brain.name === name);
    if (dialed === undefined) this.#options.observer.failed(name, cause);
    else this.#dialAgain(dialed, cause);
  }

  #received(from: string, { kind, body }: Message): void {
    const listeners = this.#kinds.get(kind);
    if (listeners === undefined) this.#options.observer.dropped("unknown", kind, from);
    else this.#emit(listeners, from, body);
  }

  #emit<T extends unknown[]>(listeners: Listeners<T>, ...args: T): void {
    for (const listener of listeners) {
      try {
        listener(...args);
      } catch (cause) {
        this.#options.observer.listenerFailed(cause);
      }
    }
  }
}

/** Why a caller with a certificate of these names is not connected; null: it is. */
function refusalOf(own: string, known: readonly { readonly name: string }[], names: readonly string[]): string | null {
  const [peer] = known;
  const found = names.join(", ") || "no name";
  if (peer === undefined) return `a certificate of ${found}, which is no other brain in cluster.brains`;
  if (known.length > 1) return `a certificate of ${found}: each brain needs one of its own`;
  return own < peer.name ? `${peer.name} dialed, and this brain, ${own}, has the lower name: names differ` : null;
}
