/**
 * Shares which scrub and edge nodes poll this brain with the other brains: what changes at once, everything when a
 * connection begins.
 */

import { type Static, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { ForeignSightings } from "../cluster/joins/presence.ts";
import type { Peers } from "../cluster/peers.ts";
import type { NodePresence } from "../nodes/node-presence.ts";
import { oneOf } from "../schema/schema-forms.ts";
import type { Clock } from "../system/clock.ts";
import type { Timers } from "../system/timers.ts";

interface PolledNodes {
  readonly presence: NodePresence;
  has(name: string): boolean;
}

interface PresenceSharing {
  readonly peers: Peers;
  /** By channel. */
  readonly channels: Readonly<Record<Channel, PolledNodes>>;
  readonly clock: Pick<Clock, "monotonicMs">;
  readonly timers: Pick<Timers, "after">;
  /** A message was not in the form that this version reads. */
  readonly onUnread: (kind: string, from: string) => void;
}

type Channel = "scrub" | "edge";

const KIND = "presence";
/** Nodes of one message. */
const NODES_OF_MESSAGE = 1000;
/** A thousand polls that end together are one message. */
const GATHER_MS = 50;

const Body = Type.Object({
  channel: oneOf("scrub", "edge"),
  nodes: Type.Array(
    Type.Object({
      name: Type.String({ maxLength: 253 }),
      is_holding: Type.Boolean(),
      /** The last start or end of a poll, ms ago: the clocks of two machines are not compared. */
      seen_ago_ms: Type.Number({ minimum: 0 }),
    }),
    { maxItems: NODES_OF_MESSAGE },
  ),
});
type Body = Static<typeof Body>;

export function sharePresence(options: PresenceSharing): void {
  const { peers, channels } = options;
  const others = peers.states().map(({ name }) => name);
  const shared = Object.entries(channels).map(
    ([channel, nodes]) => [channel, new SharedChannel(channel as Channel, nodes, options, others)] as const,
  );
  const byName = new Map(shared);
  peers.on(KIND, (from, body) => {
    if (!Value.Check(Body, body)) return options.onUnread(KIND, from);
    byName.get(body.channel)?.take(from, body);
  });
  peers.onUp((name) => {
    for (const [, channel] of shared) channel.up(name);
  });
  peers.onDown((name) => {
    for (const [, channel] of shared) channel.down(name);
  });
}

class SharedChannel {
  readonly #channel: Channel;
  readonly #nodes: PolledNodes;
  readonly #options: PresenceSharing;
  readonly #sightings: ForeignSightings;
  readonly #changed = new Set<string>();
  #isDue = false;

  constructor(channel: Channel, nodes: PolledNodes, options: PresenceSharing, others: readonly string[]) {
    this.#channel = channel;
    this.#nodes = nodes;
    this.#options = options;
    this.#sightings = new ForeignSightings(others, options.clock.monotonicMs());
    nodes.presence.join(this.#sightings, (name) => this.#seen(name));
  }

  take(from: string, { nodes }: Body): void {
    const nowMs = this.#options.clock.monotonicMs();
    this.#sightings.keepOnly((name) => this.#nodes.has(name));
    for (const { name, is_holding: isHolding, seen_ago_ms: agoMs } of nodes) {
      if (this.#nodes.has(name)) this.#sightings.saw(from, name, { isHolding, seenMs: nowMs - agoMs });
    }
  }

  up(name: string): void {
    this.#sightings.up(name, this.#options.clock.monotonicMs());
    for (const body of this.#messages([...this.#nodes.presence.seenNodes()]))
      this.#options.peers.send(name, KIND, body);
  }

  down(name: string): void {
    this.#sightings.down(name, this.#options.clock.monotonicMs());
  }

  #seen(node: string): void {
    this.#changed.add(node);
    if (this.#isDue) return;
    this.#isDue = true;
    this.#options.timers.after(GATHER_MS, () => {
      this.#isDue = false;
      const changed = [...this.#changed];
      this.#changed.clear();
      for (const body of this.#messages(changed)) this.#options.peers.broadcast(KIND, body);
    });
  }

  *#messages(names: readonly string[]): Generator<Body> {
    const nowMs = this.#options.clock.monotonicMs();
    const { presence } = this.#nodes;
    for (let from = 0; from < names.length; from += NODES_OF_MESSAGE) {
      const nodes = names.slice(from, from + NODES_OF_MESSAGE).flatMap((name) => {
        const seen = presence.lastSeen(name);
        if (seen === null) return [];
        return [{ name, is_holding: presence.isHolding(name), seen_ago_ms: Math.max(0, nowMs - seen.monotonicMs) }];
      });
      yield { channel: this.#channel, nodes };
    }
  }
}
