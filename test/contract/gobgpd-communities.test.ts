/** Communities of every kind, from each gobgpd that operators run to a real BIRD, and back to a service that starts again. */
import { afterAll, afterEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { DEFAULT_TIMES } from "../../src/bgp/gobgp-announcer.ts";
import { ROUTE_FAMILIES } from "../../src/bgp/route-family.ts";
import { attributesOf, toOwnPath } from "../../src/bgp/route-path.ts";
import { BgpLab, bgpConfig, blackhole, established, flow, type TestAnnouncer, until } from "../fixtures/bgp/bgp.ts";
import type { Bird } from "../fixtures/bgp/bird.ts";
import { GobgpdVersions } from "../fixtures/bgp/gobgpd-versions.ts";
import { communitiesOf } from "../fixtures/networks.ts";

setDefaultTimeout(60_000);

/** Enough for a speaker on a busy machine. */
const TIMES = { ...DEFAULT_TIMES, pollMs: 200, deadlineMs: 20_000 };
const VICTIMS = ["203.0.113.9/32", "2001:db8::9/128"];

/** With BIRD's words for them. 1000 packets per second are 0x447a0000 as a float. */
const ACTIONS = [
  [{ kind: "rate_limit_packets", packetsPerSecond: 1000 }, "(generic, 0x800c0000, 0x447a0000)"],
  [{ kind: "redirect", to: "rt:65000:100" }, "(generic, 0x8008fde8, 0x64)"],
  [{ kind: "redirect", to: "192.0.2.99" }, "(unknown 0x10c, 192.0.2.99, 0)"],
  [{ kind: "mark", dscp: 10 }, "(generic, 0x80090000, 0xa)"],
] as const;

const versions = await GobgpdVersions.fetch();
afterAll(() => versions.remove());

const lab = new BgpLab();
afterEach(() => lab.end());

/** A blackhole and a rule for each victim. */
function routesWith(...texts: readonly string[]) {
  const communities = communitiesOf(...texts);
  return VICTIMS.flatMap((text) => [blackhole(text, { communities }), { ...flow(text), communities }]);
}

async function announced({ announcer }: TestAnnouncer, routes: ReturnType<typeof routesWith>) {
  announcer.want(routes);
  await until("announced", () => routes.every((route) => announcer.routeState(route).kind === "announced"));
}

/** What BIRD has, of each route and rule alike. */
async function received(bird: Bird) {
  const all = [...(await bird.routes()), ...(await bird.flows())];
  const texts = all.map(({ communities, extended, large }) => JSON.stringify({ communities, extended, large }));
  const [one = ""] = texts;
  return all.length === 2 * VICTIMS.length && new Set(texts).size === 1 ? (JSON.parse(one) as unknown) : texts;
}

/** What our routes in the speaker have; equal to attributesOf() of wanted ones, these are not sent again. */
function inSpeaker(): Promise<readonly string[]> {
  return lab.withSpeaker(async (client) => {
    const listed = await Promise.all(ROUTE_FAMILIES.map((family) => client.listGlobal(family)));
    return listed.flat().map((path) => toOwnPath(path)?.attributes ?? "");
  });
}

describe.each(versions.all)("gobgpd $title", ({ gobgpd }) => {
  test.skipIf(gobgpd === null)(
    "routes and rules carry communities of every kind, which a service that starts again finds as they are",
    async () => {
      lab.gobgpd = gobgpd ?? "";
      const bird = await lab.bird();
      const first = lab.announcer(bgpConfig(), { times: TIMES });
      await established(first.announcer);
      const routes = routesWith(
        ...["65535:666", "65001:1", "4200000000:1:4294967295"],
        ...["rt:65000:100", "soo:192.0.2.1:7", "rt:4200000000:65535", "ext:030b000000000064", "ext:02020000fde80064"],
      );
      await announced(first, routes);
      const inBird = {
        communities: ["65001:1", "65535:666"],
        extended: [
          "(rt, 65000, 100)",
          "(ro, 192.0.2.1, 7)",
          "(rt, 65000, 100)",
          "(rt, 4200000000, 65535)",
          "(generic, 0x30b0000, 0x64)",
        ],
        large: ["(4200000000, 1, 4294967295)"],
      };
      await until("in BIRD", async () => (await bird.routes()).length + (await bird.flows()).length === routes.length);
      expect(await received(bird)).toEqual(inBird);
      expect((await bird.flows()).map(({ rateBytes }) => rateBytes)).toEqual([0, 0]);
      expect((await inSpeaker()).toSorted()).toEqual(routes.map(attributesOf).sort());
      await first.announcer.stop({ withdraw: false });

      const next = lab.announcer(bgpConfig(), { times: TIMES });
      await announced(next, routesWith("65001:1", "rt:65000:101", "4200000000:1:2"));
      const changed = { communities: ["65001:1"], extended: ["(rt, 65000, 101)"], large: ["(4200000000, 1, 2)"] };
      await until("others in BIRD", async () => Bun.deepEquals(await received(bird), changed));
      await announced(next, routesWith("65001:1"));
      await until("one in BIRD", async () => Bun.deepEquals(await received(bird), { communities: ["65001:1"] }));
      await announced(next, routesWith());
      await until("none in BIRD", async () => Bun.deepEquals(await received(bird), { communities: [] }));
    },
  );

  test.skipIf(gobgpd === null)(
    "rules carry what routers do beside dropping, which is found in the speaker as it was sent",
    async () => {
      lab.gobgpd = gobgpd ?? "";
      const bird = await lab.bird();
      const speaker = lab.announcer(bgpConfig(), { times: TIMES });
      await established(speaker.announcer);
      const routes = ACTIONS.map(([routers], i) => ({ ...flow(`203.0.113.${i}/32`), routers }));
      const other = { ...flow("2001:db8::9/128"), routers: ACTIONS[1][0] };
      const refused = { ...flow("2001:db8::8/128"), routers: ACTIONS[2][0] };
      speaker.announcer.want([...routes, other, refused]);
      await until("in BIRD", async () => (await bird.flowCount()) === routes.length + 1);
      const flows = (await bird.flows()).toSorted((a, b) => (a.match < b.match ? -1 : 1));
      expect(flows.map(({ extended, rateBytes }) => [String(extended), rateBytes])).toEqual(
        [ACTIONS[1], ...ACTIONS].map(([, shown]) => [shown, null]),
      );
      expect((await inSpeaker()).toSorted()).toEqual([...routes, other].map(attributesOf).sort());
      const cause = "IPv6 rules cannot redirect to 192.0.2.99";
      expect(speaker.announcer.routeState(refused)).toEqual({ kind: "failed", cause });
    },
  );
});
