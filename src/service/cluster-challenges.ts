/**
 * HTTP-01 challenges reach the nodes of all brains: each brain sends those that its nodes publish, and all of them to a
 * brain that comes up. How long one is still valid travels as a duration, since clocks differ.
 */
import { type Static, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import type { Peers } from "../cluster/peers.ts";
import type { AcmeIssuance, PublishedChallenge } from "../edge/zones/acme-issuance.ts";
import { ACME_TOKEN_CHARACTERS_MAX, CHALLENGE_LIFE_MS, KEY_AUTHORIZATION_CHARACTERS_MAX } from "../limits.ts";
import type { Clock } from "../system/clock.ts";

const KIND = "acme_challenge";

const Body = Type.Object({
  node: Type.String({ maxLength: 253 }),
  zone: Type.String({ maxLength: 253 }),
  token: Type.String({ minLength: 1, maxLength: ACME_TOKEN_CHARACTERS_MAX }),
  key_authorization: Type.String({ minLength: 1, maxLength: KEY_AUTHORIZATION_CHARACTERS_MAX }),
  left_ms: Type.Number({ exclusiveMinimum: 0, maximum: CHALLENGE_LIFE_MS }),
});

export interface ChallengeSharing {
  readonly peers: Peers;
  readonly acme: AcmeIssuance;
  /** Calls the listener for each challenge that a node publishes here. */
  readonly onPublished: (listener: (challenge: PublishedChallenge) => void) => void;
  readonly clock: Pick<Clock, "wallMs">;
  readonly onUnread: (kind: string, from: string) => void;
}

export function shareChallenges({ peers, acme, onPublished, clock, onUnread }: ChallengeSharing): void {
  const bodyOf = (challenge: PublishedChallenge): Static<typeof Body> => ({
    ...{ node: challenge.node, zone: challenge.zone, token: challenge.token },
    key_authorization: challenge.keyAuthorization,
    left_ms: challenge.expiresAtMs - clock.wallMs(),
  });
  onPublished((challenge) => peers.broadcast(KIND, bodyOf(challenge)));
  peers.onUp((name) => {
    const bodies = acme.challenges.map(bodyOf).filter((body) => body.left_ms > 0);
    for (const body of bodies) peers.send(name, KIND, body);
  });
  peers.on(KIND, (from, body) => {
    if (!Value.Check(Body, body)) {
      onUnread(KIND, from);
      return;
    }
    const { key_authorization: keyAuthorization, left_ms: leftMs, ...rest } = body;
    acme.adopt({ ...rest, keyAuthorization, expiresAtMs: clock.wallMs() + leftMs }, clock.wallMs());
  });
}
