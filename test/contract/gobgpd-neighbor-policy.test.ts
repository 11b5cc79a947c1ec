/** What each neighbor gets by policies and orders, from each gobgpd that operators run to real BIRDs. */

import { afterAll, afterEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { DEFAULT_TIMES } from "../../src/bgp/gobgp-announcer.ts";
import type { Route } from "../../src/mitigation/announcer.ts";
import { ANY_RULES } from "../../src/mitigation/rules/flowspec-support.ts";
import { exactly } from "../../src/net/range.ts";
import {
  BgpLab,
  bgpConfig,
  blackhole,
  established,
  flow,
  loopback,
  neighbor,
  neighborPolicy,
  PEER_ASN,
  SPEAKER_ASN,
  type TestAnnouncer,
  until,
} from "../fixtures/bgp/bgp.ts";
import type { Bird } from "../fixtures/bgp/bird.ts";
import type { BirdRoute } from "../fixtures/bgp/bird-tables.ts";
import { GobgpdVersions } from "../fixtures/bgp/gobgpd-versions.ts";
import { address } from "../fixtures/host-rows.ts";
import { communitiesOf } from "../fixtures/networks.ts";

setDefaultTimeout(90_000);

const TIMES = { ...DEFAULT_TIMES, pollMs: 200, deadlineMs: 20_000 };
const HOSTS = [2, 3, 4] as const;

const versions = await GobgpdVersions.fetch();
afterAll(() => versions.remove());

const lab = new BgpLab();
afterEach(() => lab.end());

const asnOf = (host: number) => PEER_ASN + host - HOSTS[0];

/** A BIRD for each neighbor, with its session. */
async function peered(speaker: TestAnnouncer, hosts: readonly number[] = HOSTS): Promise<readonly Bird[]> {
  const birds = await Promise.all(hosts.map((host) => lab.bird({ host, asn: asnOf(host) })));
  for (const host of hosts) await established(speaker.announcer, host);
  return birds;
}

async function announced({ announcer }: TestAnnouncer, routes: readonly Route[]): Promise<void> {
  announcer.want(routes);
  await until("announced", () => routes.every((route) => announcer.routeState(route).kind === "announced"));
}

const VICTIMS = ["203.0.113.1/32", "2001:db8::9/128"];

/** One that gets all, one that takes blackholes alone by a large community, and one with room for two simple rules. */
function differing(large: string) {
  const blackhole = {
    communities: communitiesOf(large, "rt:65000:100"),
    nextHop: address("192.0.2.66"),
    nextHop6: address("2001:db8:ff::66"),
    med: 50,
    prepend: 2,
  };
  const flowspec = {
    ...ANY_RULES,
    fields: ["protocol", "source_port", "destination_port"] as const,
    communities: communitiesOf("no-export"),
    rules: 2,
  };
  const policies = [
    null,
    neighborPolicy({ name: "transit", methods: ["blackhole"], blackhole }),
    neighborPolicy({ name: "core", methods: ["flowspec"], flowspec }),
  ];
  return HOSTS.map((host, i) => {
    const policy = policies[i] ?? null;
    return neighbor({ address: loopback(host), remoteAsn: asnOf(host), ...(policy === null ? {} : { policy }) });
  });
}

describe.each(versions.all)("gobgpd $title", ({ gobgpd }) => {
  test.skipIf(gobgpd === null)(
    "a route for named neighbors goes to these alone, and none to a neighbor in dry run",
    async () => {
      lab.gobgpd = gobgpd ?? "";
      const both = [2, 3].map((host) =>
        neighbor({ address: loopback(host), name: `n${host}`, remoteAsn: asnOf(host) }),
      );
      const speaker = lab.announcer(bgpConfig({ neighbors: both }), { times: TIMES });
      const [two, three] = (await peered(speaker, [2, 3])) as [Bird, Bird];
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
      const cause = "it is in dry run";
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
  );

  test.skipIf(gobgpd === null)(
    "each neighbor gets the methods of its policy, with the communities, next hop, metric and path of that",
    async () => {
      lab.gobgpd = gobgpd ?? "";
      const speaker = lab.announcer(bgpConfig({ neighbors: differing("4200000000:666:0") }), { times: TIMES });
      const [all, transit, core] = (await peered(speaker)) as [Bird, Bird, Bird];
      const divert = blackhole("203.0.113.9/32", { isDivert: true, nextHop: address("198.51.100.77") });
      const dns = { protocols: exactly(17), sourcePorts: exactly(53) };
      const rules = [1, 2, 3].map((host) => flow(`203.0.113.${host}/32`, dns));
      const long = flow("203.0.113.4/32", { packetLengths: exactly(500) });
      const wanted = [...VICTIMS.map((text) => blackhole(text)), divert, ...rules, long];
      speaker.announcer.want(wanted);
      await until(
        "all announced",
        async () => (await all.prefixes()).length + (await all.flowCount()) === wanted.length,
      );
      await until("in the others", async () => (await transit.prefixes()).length + (await core.flowCount()) === 4);
      expect(await core.prefixes()).toEqual([]);
      expect(await transit.flowCount()).toBe(0);
      const shown = ({ prefix, nextHop, communities, extended, large, med, asPath }: BirdRoute) =>
        [prefix, nextHop, communities.join(), extended?.join(), large?.join(), med, asPath] as unknown[];
      const path = `${SPEAKER_ASN} ${SPEAKER_ASN} ${SPEAKER_ASN}`;
      const more = ["", "(rt, 65000, 100)", "(4200000000, 666, 0)", 50, path];
      expect((await transit.routes()).map(shown)).toEqual([
        [VICTIMS[0], "192.0.2.66", ...more],
        [VICTIMS[1], "2001:db8:ff::66", ...more],
      ]);
      const asTheyAre = ["65535:666", undefined, undefined, undefined, String(SPEAKER_ASN)];
      expect((await all.routes()).map(shown).toSorted((a, b) => (String(a) < String(b) ? -1 : 1))).toEqual([
        [VICTIMS[1], "100::1", ...asTheyAre],
        [VICTIMS[0], "192.0.2.1", ...asTheyAre],
        ["203.0.113.9/32", "198.51.100.77", ...asTheyAre],
      ]);
      // The most valuable two.
      const flows = (await core.flows()).toSorted((a, b) => (a.match < b.match ? -1 : 1));
      expect(flows.map(({ match }) => match.split(";")[0])).toEqual(["dst 203.0.113.1/32", "dst 203.0.113.2/32"]);
      expect(flows.map(({ communities, large }) => [communities.join(), large])).toEqual([
        ["65535:65281", undefined],
        ["65535:65281", undefined],
      ]);
      const missing = (i: number) => speaker.announcer.missingAt(wanted[i] as Route);
      await until("looked up everywhere", () => missing(5).length === 1);
      expect(missing(5)).toMatchObject([{ neighbor: loopback(4), cause: "its policy has room for 2 rules" }]);
      const kept = (i: number) => speaker.announcer.keptFrom(wanted[i] as Route).map(({ cause }) => cause);
      expect(kept(0)).toEqual(["its policy core takes no blackhole routes"]);
      expect(kept(6)).toEqual([
        "its policy transit takes no flowspec routes",
        "its policy core cannot match packet length",
      ]);

      // A changed policy reaches what is announced already, and an order's communities stay as they are.
      speaker.announcer.reload(bgpConfig({ neighbors: differing("4200000000:667:0") }));
      await until("changed", async () => (await transit.routes()).every(({ large }) => String(large).includes("667")));
      const ordered = blackhole(VICTIMS[0] ?? "", {
        communities: communitiesOf("65001:7"),
        areCommunitiesOrdered: true,
      });
      speaker.announcer.want([ordered]);
      await until("the order's own", async () => {
        const routes = await transit.routes();
        return routes.length === 1 && routes[0]?.communities.join() === "65001:7";
      });
      expect((await transit.routes()).map(shown)).toEqual([
        [VICTIMS[0], "192.0.2.66", "65001:7", undefined, undefined, 50, path],
      ]);
    },
  );

  test.skipIf(gobgpd === null)(
    "a session has the settings of its neighbor, which gobgpd has as they were set",
    async () => {
      lab.gobgpd = gobgpd ?? "";
      const file = join(lab.stateDir, "password");
      writeFileSync(file, "one\n");
      const options = "  ttl security yes; hold time 30; long lived graceful restart yes;";
      const session = { asn: 65_099, password: "one", options };
      const own = neighbor({
        ...{
          multihopTtl: 0,
          gtsmHops: 4,
          localAsn: 65_099,
          holdSeconds: 60,
          keepaliveSeconds: 7,
          longLivedSeconds: 3600,
        },
        ...{ passwordFile: file, sourceAddress: loopback(1) },
      });
      const plain = neighbor({ address: loopback(3), remoteAsn: asnOf(3) });
      const { announcer } = lab.announcer(bgpConfig({ neighbors: [own, plain] }), { times: { ...TIMES, checkMs: 50 } });
      const bird = await lab.bird({ session });
      const other = await lab.bird({ host: 3, asn: asnOf(3) });
      for (const host of [2, 3]) await established(announcer, host);
      const route = blackhole(VICTIMS[0] ?? "");
      announcer.want([route]);
      await until("in BIRD", async () => (await bird.routes()).length + (await other.routes()).length === 2);
      expect((await bird.routes())[0]?.asPath).toStartWith("65099");
      const shown = (await bird.ask("show protocols all speaker")).join("\n");
      expect(shown).toContain("Long-lived graceful restart");
      expect(shown).toMatch(/Hold timer: +[\d.]+\/30/);
      const since = await Promise.all([bird, other].map((each) => each.establishedSince("speaker")));
      const startMs = performance.now();
      await until("many looks at the neighbors", () => performance.now() - startMs > 1_000);
      const now = await Promise.all([bird, other].map((each) => each.establishedSince("speaker")));
      expect(now[0]).toBeCloseTo(since[0] ?? 0, 1);
      expect(now[1]).toBeCloseTo(since[1] ?? 0, 1);
    },
  );
});
