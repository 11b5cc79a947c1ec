import { beforeEach, expect, test } from "bun:test";
import { JoinedBrains } from "../../test/fixtures/cluster/joined-brains.ts";
import { acmeCalls } from "../../test/fixtures/edge/edge.ts";
import { ManualClock } from "../../test/fixtures/manual-clock.ts";
import { AcmeIssuance, type PublishedChallenge } from "../edge/zones/acme-issuance.ts";
import { CHALLENGE_LIFE_MS, LIVE_CHALLENGES_MAX } from "../limits.ts";
import { shareChallenges } from "./cluster-challenges.ts";

const ZONE = "www.example.net";
let brains: JoinedBrains;
let unread: string[];

beforeEach(() => {
  brains = new JoinedBrains("a", "b");
  unread = [];
});

/** The challenges of one brain, on a clock of its own. */
function brain(name: string, wall = "2026-03-01T12:00:00.000Z") {
  const clock = new ManualClock(wall);
  const listeners: ((challenge: PublishedChallenge) => void)[] = [];
  const published = (challenge: PublishedChallenge) => {
    for (const listener of listeners) listener(challenge);
  };
  const acme = new AcmeIssuance({
    serves: (_, zone) => zone === ZONE,
    onChange: () => {},
    observer: { ...acmeCalls([]), published },
  });
  const onUnread = (kind: string, from: string) => void unread.push(`${kind} ${from}`);
  const onPublished = (listener: (challenge: PublishedChallenge) => void) => void listeners.push(listener);
  shareChallenges({ peers: brains.of(name), acme, clock, onUnread, onPublished });
  const publish = (token: string) => {
    acme.grantSlot("e1", ZONE, clock.wallMs());
    return acme.publish("e1", { zone: ZONE, token, keyAuthorization: `${token}.k` }, clock.wallMs()).kind;
  };
  return { acme, clock, publish };
}

test("a challenge reaches the other brain, as long as it lasts there by a clock that differs by an hour", () => {
  const [one, two] = [brain("a"), brain("b", "2026-03-01T13:00:00.000Z")];
  brains.link("a", "b");
  expect(one.publish("t")).toBe("published");
  const [challenge] = two.acme.challenges;
  expect(challenge).toMatchObject({ node: "e1", zone: ZONE, token: "t", keyAuthorization: "t.k" });
  expect(challenge?.expiresAtMs).toBe(two.clock.wallMs() + CHALLENGE_LIFE_MS);
});

test("a brain that comes up gets those that still last, with the time that is left", () => {
  const [one, two] = [brain("a"), brain("b")];
  one.publish("old");
  one.clock.advance(CHALLENGE_LIFE_MS - 1000);
  one.publish("new");
  one.clock.advance(400);
  brains.link("a", "b");
  const left = two.acme.challenges.map(({ token, expiresAtMs }) => [token, expiresAtMs - two.clock.wallMs()]);
  expect(left).toEqual([
    ["old", 600],
    ["new", CHALLENGE_LIFE_MS - 400],
  ]);
});

test("of another zone, of too many and of other forms nothing is taken", () => {
  const { acme } = brain("b");
  brains.link("a", "b");
  const send = (body: object) => brains.of("a").send("b", "acme_challenge", body);
  const good = { node: "e1", zone: ZONE, token: "t", key_authorization: "t.k", left_ms: 1000 };
  send({ ...good, zone: "other.example.net" });
  send({ ...good, left_ms: CHALLENGE_LIFE_MS + 1 });
  send({ ...good, token: 7 });
  expect([acme.challenges.length, unread]).toEqual([0, ["acme_challenge a", "acme_challenge a"]]);
  for (let i = 0; i <= LIVE_CHALLENGES_MAX; i++) send({ ...good, token: `t${i}` });
  expect(acme.challenges).toHaveLength(LIVE_CHALLENGES_MAX);
});
