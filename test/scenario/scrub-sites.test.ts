/**
 * Two sites, each with a scrub node that accepts rules for its own networks alone, and an attack on each: neither node
 * loses its own victim over that of the other.
 */
import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { BansWire } from "../../src/http/wire/ban.ts";
import { vethUnavailable } from "../fixtures/dataplane/veth.ts";
import { ScrubSites, SITES, type Site } from "../fixtures/scrub/scrub-sites.ts";
import { eventually, type ServiceProcess } from "../fixtures/service.ts";

const reason = vethUnavailable === null ? "" : `: ${vethUnavailable}`;
setDefaultTimeout(120_000);

let sites: ScrubSites;

interface NodeRow {
  readonly name: string;
  readonly refused_bans?: number;
  readonly refusals?: readonly { readonly prefix: string }[];
}

async function node(service: ServiceProcess, site: Site): Promise<NodeRow | undefined> {
  const { body } = await service.get<{ nodes: NodeRow[] }>("/api/v1/dataplane/nodes", "noc");
  return body.nodes.find(({ name }) => name === site);
}

/** Each victim is diverted to the node of its site. */
async function settled(service: ServiceProcess): Promise<void> {
  let placed: unknown[] = [];
  await eventually(
    async () => {
      const { bans } = (await service.get<BansWire>("/api/v1/bans", "noc")).body;
      const wanted = (["north", "south"] as const).map((site) => `${SITES[site].victim} at ${site}`);
      placed = bans.filter(({ state }) => state === "active").map((ban) => `${ban.target} at ${ban.node}`);
      return placed.length === wanted.length && wanted.every((each) => placed.includes(each));
    },
    () => `bans are ${placed.join()}:\n${service.output}`,
    40_000,
  );
}

async function expectFiltered(): Promise<void> {
  for (const site of ["north", "south"] as const) {
    await sites.rulesInForce(site, 1);
    expect(await sites.dropped(site, 500)).toBe(500);
  }
}

describe.skipIf(vethUnavailable !== null)(`scrub nodes of two sites${reason}`, () => {
  beforeEach(async () => {
    sites = new ScrubSites();
    await sites.open();
  });
  afterEach(() => sites.close());

  test("refuse each other's bans and filter their own, also after a kill and without the service; with hostgroups by a reload they get their own alone", async () => {
    const agents = [sites.startAgent("north"), sites.startAgent("south")];
    const service = await sites.startService();
    await settled(service);
    await expectFiltered();
    await eventually(
      async () => (await node(service, "south"))?.refusals?.[0]?.prefix === `${SITES.north.victim}/32`,
      () => `south refuses nothing:\n${service.output}`,
    );
    await agents[1]?.says("a ban of the rule document is refused, the others are in force");

    await agents[1]?.stop("SIGKILL");
    expect(await sites.dropped("south", 500)).toBe(500);
    const again = sites.startAgent("south");
    await again.says("rule document loaded from disk");
    await expectFiltered();

    service.writeConfig(sites.config(true));
    expect((await service.post("/api/v1/config/reload", {}, "noc")).status).toBe(200);
    await eventually(
      async () =>
        (await Promise.all((["north", "south"] as const).map((site) => node(service, site)))).every(
          (each) => each?.refused_bans === undefined,
        ),
      () => `a node still refuses bans:\n${service.output}`,
    );
    await settled(service);
    await expectFiltered();

    await service.stop("SIGKILL");
    await again.stop("SIGKILL");
    await sites.startAgent("south").says("rule document loaded from disk");
    expect(await sites.dropped("south", 500)).toBe(500);
  });
});
