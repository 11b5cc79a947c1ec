/** Brains of a cluster have the same routers: a rule over which one of these resets its session is kept back by all. */
import { type Static, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import type { QuarantineKeeper } from "../bgp/quarantine-keeper.ts";
import { KEPT_BACK_MS, type KeptBack } from "../bgp/route-quarantine.ts";
import type { Peers } from "../cluster/peers.ts";
import type { Clock } from "../system/clock.ts";

interface QuarantineSharing {
  readonly peers: Peers;
  readonly clock: Pick<Clock, "wallMs">;
  readonly quarantine: Pick<QuarantineKeeper, "entries" | "onKeptBack" | "take">;
  readonly onUnread: (kind: string, from: string) => void;
}

const KIND = "kept_back";
const RULES_OF_MESSAGE = 500;

const Body = Type.Object({
  rules: Type.Array(
    Type.Object({
      rule: Type.String({ maxLength: 4096 }),
      neighbor: Type.String({ maxLength: 64 }),
      /** A duration, since the clocks of two machines differ. */
      for_ms: Type.Number({ minimum: 0, maximum: KEPT_BACK_MS }),
    }),
    { maxItems: RULES_OF_MESSAGE },
  ),
});
type Body = Static<typeof Body>;

export function shareQuarantine({ peers, clock, quarantine, onUnread }: QuarantineSharing): void {
  const say = (entries: readonly KeptBack[], send: (body: Body) => void) => {
    const nowMs = clock.wallMs();
    const rules = entries
      .map(({ rule, neighbor, untilMs }) => ({ rule, neighbor, for_ms: Math.min(untilMs - nowMs, KEPT_BACK_MS) }))
      .filter((each) => each.for_ms > 0);
    for (let from = 0; from < rules.length; from += RULES_OF_MESSAGE)
      send({ rules: rules.slice(from, from + RULES_OF_MESSAGE) });
  };
  quarantine.onKeptBack((entries) => say(entries, (body) => peers.broadcast(KIND, body)));
  peers.onUp((name) => say(quarantine.entries, (body) => peers.send(name, KIND, body)));
  peers.on(KIND, (from, body) => {
    if (!Value.Check(Body, body)) return onUnread(KIND, from);
    const nowMs = clock.wallMs();
    quarantine.take(
      body.rules.map(({ rule, neighbor, for_ms: forMs }) => ({ rule, neighbor, untilMs: Math.floor(nowMs + forMs) })),
    );
  });
}
