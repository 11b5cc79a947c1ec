/** A scrub node's real agent under a real service: diverted attacks are dropped there, whichever of the two dies. */
import { afterEach, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { FILTER_SCHEMA } from "../../src/native/constants.ts";
import { vethUnavailable } from "../fixtures/dataplane/veth.ts";
import { metricIn } from "../fixtures/metric-value.ts";
import { ScrubWorld, SECRETS, VICTIM } from "../fixtures/scrub/scrub-world.ts";
import { eventually, type ServiceProcess } from "../fixtures/service.ts";

const reason = vethUnavailable === null ? "" : `: ${vethUnavailable}`;
setDefaultTimeout(90_000);

interface Inventory {
  readonly nodes: readonly {
    readonly alive: boolean;
    readonly report?: Readonly<Record<string, unknown>>;
  }[];
}

let world: ScrubWorld;

async function node(service: ServiceProcess): Promise<Inventory["nodes"][number] | undefined> {
  return (await service.get<Inventory>("/api/v1/dataplane/nodes", SECRETS.ADMIN)).body.nodes[0];
}

describe.skipIf(vethUnavailable !== null)(`a scrub node${reason}`, () => {
  beforeEach(async () => {
    world = new ScrubWorld();
    await world.open();
  });
  afterEach(() => world.close());

  test("rules of the node's operator act without the service, for attacked addresses while these have a ban, and over a kill", async () => {
    const list = world.writeFile("resolvers.txt", "198.51.100.0/24\n");
    const keys = `metrics_listen: 127.0.0.1:9641
prefix_sets: [{ name: resolvers, file: ${list} }]
filter_rules:
  - { name: counted, action: drop, source_sets: [resolvers], dry_run: true }
  - { name: game, action: drop, protocol: udp, source_ports: ["4444"], packet_lengths: ["428"], when: attacked }
  - { name: dns, action: limit, protocol: udp, source_ports: ["53"], source_sets: [resolvers], packets_per_second: 1 }
`;
    const first = world.startAgent({ keys });
    await first.says("floodwall scrub is up");
    expect(await world.dropped(53, 1000)).toBeGreaterThanOrEqual(990);
    expect(await world.dropped(4444, 100)).toBe(0);
    const service = await world.startService();
    // Of the ban: the node's own are not counted.
    await world.rulesInForce(1);
    expect(await world.dropped(4444, 100)).toBe(100);
    const text = world.metrics(9641);
    expect(metricIn(text, 'svc_scrub_agent_filter_rule_dropped_packets_total{rule="game"}')).toBe(100);
    expect(metricIn(text, 'svc_scrub_agent_filter_rule_packets_total{rule="counted"}')).toBe(1200);
    expect(metricIn(text, 'svc_prefix_set_prefixes{set="resolvers"}')).toBe(1);
    await first.stop("SIGKILL");
    expect(await world.dropped(4444, 100)).toBe(100);
    const second = world.startAgent({ keys });
    await second.says("floodwall scrub is up");
    expect(await world.dropped(4444, 100)).toBe(100);
    expect((await service.post("/api/v1/unban", { ip: VICTIM }, SECRETS.ADMIN)).status).toBe(200);
    await eventually(async () => (await world.dropped(4444, 10)) === 0, "the rule for attacked addresses still acts");
    expect(await world.dropped(53, 1000)).toBeGreaterThanOrEqual(990);
    // A node without rules of its own, and without a word of the service.
    await second.stop("SIGKILL");
    await service.stop("SIGKILL");
    const last = world.startAgent({ name: "other" });
    await last.says("floodwall scrub is up");
    expect(await world.dropped(53, 100)).toBe(0);
  });

  test("without the service the node goes on, killed and started again too, until the bans have expired", async () => {
    const first = world.startAgent();
    const service = await world.startService({ ttlSeconds: 10 });
    await world.rulesInForce(1);
    await first.says("rule document applied");
    await service.stop("SIGKILL");
    let expiresAtMs = 0;
    await eventually(() => {
      expiresAtMs = Date.parse(world.savedExpiry());
      return true;
    }, "the document was not saved");
    expect(await world.dropped(53, 100)).toBe(100);
    await first.says("cannot be reached");
    await first.stop("SIGKILL");
    expect(await world.dropped(53, 100)).toBe(100);
    const second = world.startAgent();
    await second.says("rule document loaded from disk");
    await second.says("floodwall scrub is up");
    expect(await world.dropped(53, 100)).toBe(100);
    await world.rulesInForce(0);
    expect(Date.now()).toBeGreaterThanOrEqual(expiresAtMs - 1);
    expect(await world.dropped(53, 100)).toBe(0);
  });

  test("a node reports what it drops; one that lost its filter drops from the document on disk, and dataplane status prints what is in the kernel", async () => {
    const detach = ", on_exit: detach";
    const first = world.startAgent({ more: detach });
    const service = await world.startService();
    await world.rulesInForce(1);
    expect(await world.dropped(53, 1000)).toBe(1000);
    await eventually(async () => (await node(service))?.report?.["dropped_packets"] === 1000, "no report of the drops");
    const report = { xdp_mode: "native", dry_run: false, rules: 1, rules_left_out: 0 };
    expect(await node(service)).toMatchObject({ alive: true, report });
    const { exitCode, output } = world.status("--json");
    expect(exitCode).toBe(0);
    expect(JSON.parse(output)).toMatchObject({ pin_path: world.pins.path, state: "healthy", owned: true, rules: 1 });
    expect(await first.stop()).toBe(0);
    expect(world.status()).toEqual({ exitCode: 4, output: expect.stringContaining(": missing: ") });
    await service.stop("SIGKILL");
    const second = world.startAgent();
    await second.says("the filter is in force");
    expect(await world.dropped(53, 100)).toBe(100);
    await second.stop("SIGKILL");
    expect(world.status()).toEqual({ exitCode: 0, output: expect.stringContaining(": healthy: ") });
    // As a version to come would leave it.
    rmSync(join(world.pins.path, `v${FILTER_SCHEMA}`), { recursive: true });
    mkdirSync(join(world.pins.path, "v999"));
    expect(world.status()).toEqual({ exitCode: 5, output: expect.stringContaining(": wrong_schema: ") });
    const last = world.startAgent();
    await last.says("the filter is in force");
    world.removeInterface();
    await last.says("an interface is not filtered");
    expect(world.status()).toEqual({ exitCode: 3, output: expect.stringContaining(": detached: ") });
  });
});
