/** A neighbor with a limit on our routes, for each version of gobgpd: only their logs say why a session ended. */
import { afterAll, afterEach, beforeEach, expect, test } from "bun:test";
import { DEFAULT_TIMES } from "../../src/bgp/gobgp-announcer.ts";
import { BgpLab, bgpConfig, established, flow, loopback, neighbor, PEER_ASN, until } from "../fixtures/bgp/bgp.ts";
import { GobgpdVersions } from "../fixtures/bgp/gobgpd-versions.ts";

const TIMES = { ...DEFAULT_TIMES, pollMs: 200, deadlineMs: 20_000 };

const versions = await GobgpdVersions.fetch();
afterAll(() => versions.remove());

let lab: BgpLab;
beforeEach(() => {
  lab = new BgpLab();
});
afterEach(() => lab.end());

for (const { title, gobgpd } of versions.all) {
  test.skipIf(gobgpd === null)(
    `gobgpd ${title} leaves it alone, names the limit, and keeps no rule back`,
    async () => {
      lab.gobgpd = gobgpd ?? "";
      const bird = await lab.bird();
      await lab.bird({ host: 3, asn: PEER_ASN + 1, session: { routesMax: 2 } });
      const neighbors = [neighbor(), neighbor({ address: loopback(3), remoteAsn: PEER_ASN + 1 })];
      const { announcer, warnings, faults } = lab.announcer(bgpConfig({ neighbors }), {
        times: { ...TIMES, checkMs: 100 },
      });
      await established(announcer, 2);
      await established(announcer, 3);
      const rules = ["203.0.113.1/32", "203.0.113.2/32", "203.0.113.3/32"].map((text) => flow(text));
      const limited = () => announcer.status().neighbors[1];
      announcer.want(rules);
      await until("named", () => limited()?.fault !== null);
      expect(limited()?.fault).toStartWith("cease: maximum number of prefixes reached");
      // Longer than BIRD waits before it dials again.
      const sinceMs = performance.now();
      await until("some attempts of the neighbor", () => performance.now() - sinceMs > 5_000);
      expect(limited()?.state).toBe("idle");
      expect(faults).toEqual(["prefix_limit"]);
      expect(warnings.length).toBe(1);
      expect(await bird.flowCount()).toBe(3);

      announcer.want(rules.slice(1));
      await established(announcer, 3);
      expect(limited()?.fault).toBeNull();
    },
    60_000,
  );
}
