/** What each neighbor gets by policies and orders, from each gobgpd that operators run to real BIRDs. */
import { afterAll, afterEach, beforeEach, describe, expect, test } from "bun:test";
import { DEFAULT_TIMES } from "../../src/bgp/gobgp-announcer.ts";
import type { Route } from "../../src/mitigation/announcer.ts";
import {
  BgpLab,
  bgpConfig,
  blackhole,
  established,
  loopback,
  neighbor,
  PEER_ASN,
  type TestAnnouncer,
  until,
} from "../fixtures/bgp/bgp.ts";
import type { Bird } from "../fixtures/bgp/bird.ts";
import { GobgpdVersions } from "../fixtures/bgp/gobgpd-versions.ts";

const TIMES = { ...DEFAULT_TIMES, pollMs: 200, deadlineMs: 20_000 };
const HOSTS = [2, 3] as const;

const versions = await GobgpdVersions.fetch();
afterAll(() => versions.remove());

let lab: BgpLab;
beforeEach(() => {
  lab = new BgpLab();
});
afterEach(() => lab.end());

const asnOf = (host: number) => PEER_ASN + host - HOSTS[0];

/** A BIRD for each neighbor, with its session. */
async function peered(speaker: TestAnnouncer): Promise<readonly Bird[]> {
  const birds = await Promise.all(HOSTS.map((host) => lab.bird({ host, asn: asnOf(host) })));
  for (const host of HOSTS) await established(speaker.announcer, host);
  return birds;
}

async function announced({ announcer }: TestAnnouncer, routes: readonly Route[]): Promise<void> {
  announcer.want(routes);
  await until("announced", () => routes.every((route) => announcer.routeState(route).kind === "announced"));
}

describe.each(versions.all)("gobgpd $title", ({ gobgpd }) => {
  test.skipIf(gobgpd === null)(
    "a route for named neighbors goes to these alone, and none to a neighbor in dry run",
    async () => {
      lab.gobgpd = gobgpd ?? "";
      const both = HOSTS.map((host) => neighbor({ address: loopback(host), name: `n${host}`, remoteAsn: asnOf(host) }));
      const speaker = lab.announcer(bgpConfig({ neighbors: both }), { times: TIMES });
      const [two, three] = (await peered(speaker)) as [Bird, Bird];
      const [all, one, other] = [
        blackhole("203.0.113.1/32"),
        blackhole("203.0.113.2/32", { neighbors: ["n2"] }),
        blackhole("203.0.113.3/32", { neighbors: [loopback(3)] }),
      ];
      await announced(speaker, [all, one, other]);
      await until("in both", async () => (await two.prefixes()).length + (await three.prefixes()).length === 4);
      expect(await two.prefixes()).toEqual(["203.0.113.1/32", "203.0.113.2/32"]);
      expect(await three.prefixes()).toEqual(["203.0.113.1/32", "203.0.113.3/32"]);
      expect(speaker.announcer.keptFrom(one)).toEqual([
        { neighbor: loopback(3), cause: "the order is for other neighbors" },
      ]);
      expect(speaker.announcer.missingAt(one)).toEqual([]);

      const [n2, n3] = both as [(typeof both)[0], (typeof both)[0]];
      speaker.announcer.reload(bgpConfig({ neighbors: [n2, { ...n3, dryRun: true }] }));
      await until("none in dry run", async () => (await three.prefixes()).length === 0);
      expect(await two.prefixes()).toEqual(["203.0.113.1/32", "203.0.113.2/32"]);
      const cause = "the order is for other neighbors";
      await until("failed", () => speaker.announcer.routeState(other).kind === "failed");
      expect(speaker.announcer.routeState(other)).toEqual({ kind: "failed", cause });
      await speaker.announcer.stop({ withdraw: false });

      // The next service sets the policy before it announces: the neighbor in dry run gets nothing in between.
      const next = lab.announcer(bgpConfig({ neighbors: [n2, { ...n3, dryRun: true }] }), { times: TIMES });
      await announced(next, [all, one]);
      expect(await three.prefixes()).toEqual([]);
      next.announcer.reload(bgpConfig({ neighbors: both }));
      await until("all again", async () => String(await three.prefixes()) === "203.0.113.1/32");
    },
    90_000,
  );
});
