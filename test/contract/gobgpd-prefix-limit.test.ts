/**
 * A neighbor with a limit on our routes, for the oldest and the newest gobgpd: only their logs say why a session ended, and
 * their policies decide what a neighbor gets.
 */
import { afterAll, afterEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { GobgpAnnouncer } from "../../src/bgp/gobgp-announcer.ts";
import { DEFAULT_TIMES } from "../../src/bgp/gobgp-announcer.ts";
import { TAKEN_MS } from "../../src/bgp/speaker/neighbor-limits.ts";
import type { Route } from "../../src/mitigation/announcer.ts";
import {
  BgpLab,
  bgpConfig,
  blackhole,
  established,
  flow,
  loopback,
  neighbor,
  PEER_ASN,
  until,
} from "../fixtures/bgp/bgp.ts";
import type { Bird } from "../fixtures/bgp/bird.ts";
import { GobgpdVersions } from "../fixtures/bgp/gobgpd-versions.ts";
import { communitiesOf } from "../fixtures/networks.ts";

setDefaultTimeout(150_000);

/** gobgpd is polled often, so that the attempts of a neighbor that comes back at once are not missed. */
const TIMES = { ...DEFAULT_TIMES, pollMs: 200, deadlineMs: 20_000 };
const LIMIT = 5;
/** A limited neighbor must keep its session for this time: BIRD dials again, and is refused, within two seconds. */
const STEADY_MS = 4_000;
const BANNED = Array.from({ length: 9 }, (_, i) => `203.0.113.${i + 1}/32`);
/** Near to the marks of neighbors, which are large communities too. */
const COMMUNITIES = communitiesOf("65535:666", "1179408205:1:2", "1:1179408204:5");
const SHOWN = "(1, 1179408204, 5),(1179408205, 1, 2)";
const NEIGHBORS = [neighbor(), neighbor({ address: loopback(3), remoteAsn: PEER_ASN + 1 })];

const versions = await GobgpdVersions.fetch();
afterAll(() => versions.remove());

const lab = new BgpLab();
afterEach(() => lab.end());

/** These routes at a neighbor without a limit, then one with a limit, which dials. */
async function limited(gobgpd: string | null, action: "disable" | "restart", routes: readonly Route[]) {
  lab.gobgpd = gobgpd ?? "";
  const free = await lab.bird();
  const speaker = lab.announcer(bgpConfig({ neighbors: NEIGHBORS }), { times: TIMES });
  await established(speaker.announcer, 2);
  speaker.announcer.want(routes);
  await until("announced", () => speaker.announcer.status().neighbors[0]?.advertised === routes.length);
  const limit = `import limit ${LIMIT} action ${action}`;
  const bird = await lab.bird({ host: 3, asn: PEER_ASN + 1, session: { limit } });
  return { ...speaker, free, bird };
}

/** The session stays up, with these routes. */
async function expectSteady(bird: Bird, has: () => Promise<boolean>): Promise<void> {
  const [since, startMs] = [await bird.establishedSince("speaker"), performance.now()];
  await until("some time with the same routes", async () => {
    if (!(await has())) throw new Error("the routes changed");
    return performance.now() - startMs > STEADY_MS;
  });
  expect(await bird.establishedSince("speaker")).toBeCloseTo(since, 1);
}

/** How often routes were withdrawn from it, all families together. */
async function withdrawals(bird: Bird): Promise<number> {
  const lines = (await bird.ask("show protocols all speaker")).filter((line) => line.includes("Import withdraws:"));
  return lines.reduce((sum, line) => sum + Number(line.trim().split(/ +/).at(-1)), 0);
}

/** The large communities that came with routes, or with rules; each text once. */
async function largeShown(bird: Bird): Promise<readonly string[]> {
  const received = [...(await bird.routes()), ...(await bird.flows())];
  return [...new Set(received.map(({ large }) => String(large)))];
}

describe.each(versions.ends)("gobgpd $title", ({ gobgpd }) => {
  test.skipIf(gobgpd === null)("sends a neighbor with a limit the most valuable routes alone", async () => {
    const routes = BANNED.map((text) => blackhole(text, { communities: COMMUNITIES }));
    const { announcer, free, bird, faults } = await limited(gobgpd, "restart", routes);
    await until("the neighbor's reason", () => announcer.status().neighbors[1]?.fault !== null);
    expect(announcer.status().neighbors[1]?.fault).toStartWith("cease: maximum number of prefixes reached");
    const hasMost = async () => String(await bird.prefixes()) === String(BANNED.slice(0, LIMIT));
    // Too many, then as many as BIRD takes after some time, then one more.
    await until("the limit is found", () => faults.length === 2);
    await until("the most valuable at the limit", hasMost);
    await expectSteady(bird, hasMost);
    expect(missing(announcer, routes[LIMIT])).toBe(`takes at most ${LIMIT} IPv4 unicast routes`);
    expect(missing(announcer, routes[LIMIT - 1])).toBeUndefined();
    expect(announcer.routeState(routes[8] as Route).kind).toBe("announced");
    expect(faults).toEqual(["prefix_limit", "prefix_limit"]);
    expect(await free.prefixes()).toEqual(BANNED);
    expect(await withdrawals(free)).toBe(0);
    // Of the operator, and no mark.
    expect(await largeShown(free)).toEqual([SHOWN]);
    expect(await largeShown(bird)).toEqual([SHOWN]);

    // A more valuable ban takes the place of the least valuable one, without one route too many in between.
    const manual = blackhole("203.0.113.0/32");
    announcer.want([manual, ...routes]);
    const before = await bird.establishedSince("speaker");
    const replaced = [manual.prefix.text, ...BANNED.slice(0, LIMIT - 1)];
    await until("replaced", async () => String(await bird.prefixes()) === String(replaced));
    announcer.want(routes.slice(LIMIT));
    const rest = String(BANNED.slice(LIMIT));
    await until("all that are left", async () => String(await bird.prefixes()) === rest);
    await until("all that are left at the other", async () => String(await free.prefixes()) === rest);
    expect(await bird.establishedSince("speaker")).toBeCloseTo(before, 1);
  });

  test.skipIf(gobgpd === null)(
    "sends the most valuable rules alone, also after the service was started again",
    async () => {
      const rules = BANNED.map((text) => ({ ...flow(text), communities: COMMUNITIES }));
      const { announcer, free, bird, faults } = await limited(gobgpd, "disable", rules.slice(0, LIMIT));
      await until("as many as it takes", async () => (await bird.flowCount()) === LIMIT);
      const startMs = performance.now();
      await until("taken", () => performance.now() - startMs > 1.2 * TAKEN_MS);
      announcer.want(rules);
      const most = String(BANNED.slice(0, LIMIT).map((text) => `dst ${text}`));
      const hasMost = async () => String(await bird.flowMatches()) === most;
      const isKnown = () => missing(announcer, rules[LIMIT]) === `takes at most ${LIMIT} IPv4 flowspec routes`;
      await until("the most valuable at the limit", async () => {
        // An operator's hand, after BIRD has disabled the session.
        await bird.ask("enable speaker");
        return isKnown() && (await hasMost());
      });
      await expectSteady(bird, hasMost);
      expect(await free.flowCount()).toBe(BANNED.length);

      const since = await bird.establishedSince("speaker");
      await announcer.stop({ withdraw: false });
      const next = lab.announcer(bgpConfig({ neighbors: NEIGHBORS }), { times: TIMES });
      next.announcer.want(rules);
      const isKnownAgain = () =>
        missing(next.announcer, rules[LIMIT]) === `takes at most ${LIMIT} IPv4 flowspec routes`;
      await until("known again", isKnownAgain);
      expect(await hasMost()).toBe(true);
      next.announcer.want(rules.slice(LIMIT));
      const rest = String(BANNED.slice(LIMIT).map((text) => `dst ${text}`));
      await until("all that are left", async () => String(await bird.flowMatches()) === rest);
      expect(await bird.establishedSince("speaker")).toBeCloseTo(since, 1);
      expect([...faults, ...next.faults].every((fault) => fault === "prefix_limit")).toBe(true);
      expect(await largeShown(free)).toEqual([SHOWN]);
    },
  );
});

/** Why the neighbor with the limit does not get the route; undefined: it does. */
function missing(announcer: GobgpAnnouncer, route: Route | undefined) {
  return route === undefined ? undefined : announcer.missingAt(route).find((at) => at.neighbor === loopback(3))?.cause;
}
