/**
 * Twenty edge nodes, played by the book, beside the whole service with its SQLite: what is set reaches all, and what they
 * report adds up.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Fleet } from "../../bench/edge-sim/fleet.ts";
import { FleetConfig } from "../../bench/edge-sim/fleet-config.ts";
import { COUNT_NAMES, type ReportWire, type ZoneWire } from "../../bench/edge-sim/node-report.ts";
import { folder } from "../fixtures/folders.ts";
import { eventually, ServiceProcess } from "../fixtures/service.ts";

const SHAPE = { nodes: 20, zones: 40, groups: 4, seed: Date.now() & 0xffff };
/** Reports of each node at least. */
const REPORTS = 4;

const config = new FleetConfig(SHAPE);
const admin = config.adminSecret;
const ZONES = Array.from({ length: SHAPE.zones }, (_, i) => config.zoneName(i));
/** Every report that the service took, by node. */
const taken = new Map<string, ReportWire[]>(config.nodes.map(({ name }) => [name, []]));
let service: ServiceProcess;
let fleet: Fleet;

beforeAll(async () => {
  console.log(`seed ${SHAPE.seed}`);
  writeFileSync(join(directory, "zones.yaml"), config.zonesText());
  service = await ServiceProcess.start({
    config: config.text(join(directory, "zones.yaml")),
    api: config.tokens(),
    env: config.secrets(),
  });
  fleet = new Fleet({
    ...{ url: new URL(`http://127.0.0.1:${service.port}`), nodes: config.nodes, seed: SHAPE.seed },
    // A report each second, of what was in it.
    windowSeconds: 1,
    ordersPerNode: 1,
    reportsKept: null,
    onReport: (node, report) => taken.get(node)?.push(report),
  });
  await fleet.start();
}, 60_000);

afterAll(async () => {
  await fleet.stop();
  await service.remove();
});
// After the service: Bun runs these in the order of the file.
const directory = folder("edge-sim");

/** By the configuration, without a look at what the service says. */
function zonesOf(node: number): string[] {
  const groups = [null, `pop-${1 + (node % SHAPE.groups)}`];
  return ZONES.filter((_, i) => groups.includes(config.groupOfZone(i)));
}

/** The tag of what a node is to have now. */
async function tagFor(node: string): Promise<string | null> {
  const answer = await fetch(`http://127.0.0.1:${service.port}/api/v1/edge/zones?node=${node}`, {
    headers: { authorization: `Bearer ${admin}` },
  });
  await answer.arrayBuffer();
  return answer.headers.get("etag");
}

const allCurrent = () =>
  eventually(
    async () => {
      for (const { name, etag } of fleet.nodes) if (etag === null || etag !== (await tagFor(name))) return false;
      return true;
    },
    () => `not every node has its document: ${JSON.stringify(fleet.summary().troubles)}`,
    20_000,
  );

test("every node has the document of its own zones, and after a reload the new one", async () => {
  await allCurrent();
  for (const [i, { document }] of fleet.nodes.entries()) {
    expect(document.zones.map(({ name }) => name)).toEqual(zonesOf(i));
  }
  const before = fleet.nodes.map(({ etag }) => etag);
  writeFileSync(join(directory, "zones.yaml"), config.zonesText(1));
  expect((await service.post("/api/v1/config/reload", {}, admin)).status).toBe(200);
  await eventually(
    () => fleet.nodes.every(({ document }) => document.zones.every(({ policy }) => policy.rate.rps === 61)),
    "not every node has the zones of the reload",
    20_000,
  );
  expect(fleet.nodes.filter(({ etag }, i) => etag === before[i])).toEqual([]);
  await allCurrent();
}, 60_000);

test("a lever reaches every node of its zone and no other, and so does its end", async () => {
  const set = { mode: "manual", ttl_seconds: 600, reason: "seen in the logs" };
  for (const i of [0, 3]) {
    const zone = config.zoneName(i);
    const path = `/api/v1/edge/zones/${zone}/challenge`;
    const serving = fleet.nodes.filter((_, node) => zonesOf(node).includes(zone));
    const others = fleet.nodes.filter((node) => !serving.includes(node));
    expect([serving.length, others.length]).toEqual(i === 0 ? [20, 0] : [5, 15]);
    const hasLever = (wanted: boolean) => serving.every((node) => isLevered(node, zone) === wanted);
    const answer = await service.post(path, set, admin);
    expect([answer.status, answer.body["mode"], answer.body["reason"]]).toEqual([200, "manual", set.reason]);
    await eventually(() => hasLever(true), "the lever did not reach all", 20_000);
    expect(serving.map((node) => node.challengeOf(zone))).toEqual(serving.map(() => "manual"));
    expect(others.map((node) => node.challengeOf(zone))).toEqual(others.map(() => null));
    expect((await service.post(path, { mode: "off" }, admin)).status).toBe(200);
    await eventually(() => hasLever(false), "its end did not reach all", 20_000);
  }
}, 60_000);

function isLevered({ document }: Fleet["nodes"][number], zone: string): boolean {
  return document.zones.some(({ name, challenge_override: lever }) => name === zone && lever !== undefined);
}

test("every node gets its certificate, with another node's answer to the challenge", async () => {
  await eventually(
    () => fleet.summary().certificates.issued === SHAPE.nodes,
    () => JSON.stringify(fleet.summary()),
    40_000,
  );
  expect(fleet.summary().failed.certificate).toBe(0);
  const areGivenBack = () => fleet.nodes.every(({ document }) => document.issuance_grants.length === 0);
  await eventually(areGivenBack, "a slot was not given back");
}, 60_000);

test("no report is lost: fleet status and history add up to what was sent", async () => {
  const areEnough = () => [...taken.values()].every((reports) => reports.length >= REPORTS);
  await eventually(areEnough, "reports are missing", 40_000);
  for (const node of fleet.nodes) node.isReporting = false;
  await eventually(() => fleet.nodes.every(({ isSending }) => !isSending), "a report was not answered");
  expect(fleet.summary().failed.report).toBe(0);
  await statusAddsUp();
  await historyAddsUp();
}, 90_000);

/** Status codes and HTTP/3 are of the history alone. */
const FLEET_COUNTS = COUNT_NAMES.filter((name) => !/^(status|h3)_/.test(name));
interface Row {
  readonly zone: string;
  readonly nodes: number;
  readonly watch_only?: readonly string[];
}

const sums = (windows: readonly object[], names: readonly string[]) =>
  Object.fromEntries(
    names.map((name) => [name, windows.reduce((total, window) => total + Number(Reflect.get(window, name) ?? 0), 0)]),
  );

async function statusAddsUp(): Promise<void> {
  const { body } = await service.get<{ zones: Row[] } & Record<string, unknown>>("/api/v1/edge/zones/status", admin);
  expect(body).toMatchObject({ nodes_alive: SHAPE.nodes, nodes_reporting: SHAPE.nodes, zones_truncated: 0 });
  expect(body.zones.map(({ zone }) => zone)).toEqual(ZONES);
  const last = fleet.nodes.flatMap((node) => node.last?.zones ?? []);
  for (const row of body.zones) {
    const reported = last.filter(({ zone }) => zone === row.zone);
    const watching = reported.filter(({ dry_run }) => dry_run).length;
    expect([row.zone, row.nodes, row.watch_only?.length ?? 0]).toEqual([row.zone, reported.length, watching]);
    expect({ zone: row.zone, ...sums([row], FLEET_COUNTS) }).toEqual({
      zone: row.zone,
      ...sums(reported, FLEET_COUNTS),
    });
  }
}

/** Written after the answers: they are waited for. */
async function historyAddsUp(): Promise<void> {
  const windows = [...taken.values()].flatMap((reports) => reports.flatMap(({ zones }) => zones));
  for (const zone of ZONES) {
    const of = windows.filter((window) => window.zone === zone);
    const total = sums(of, COUNT_NAMES);
    let kept = {};
    await eventually(
      async () => {
        const answer = await service.get<{ points: ZoneWire[] }>(`/api/v1/edge/history?zone=${zone}`, admin);
        kept = sums(answer.body.points, COUNT_NAMES);
        return Bun.deepEquals(kept, total);
      },
      () => `${zone}: ${JSON.stringify(total)} was reported, ${JSON.stringify(kept)} is kept`,
    );
  }
}
