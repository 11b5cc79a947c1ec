/**
 * Twenty edge nodes, played by the book, beside the whole service with its SQLite: what is told reaches all, and what they
 * report adds up.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Fleet } from "../../bench/edge-sim/fleet.ts";
import { FleetConfig } from "../../bench/edge-sim/fleet-config.ts";
import type { ReportWire, ZoneWire } from "../../bench/edge-sim/node-report.ts";
import { COUNT_NAMES, type CountName } from "../../bench/edge-sim/traffic.ts";
import { systemClock } from "../../src/system/clock.ts";
import { systemTimers } from "../../src/system/timers.ts";
import { eventually, ServiceProcess } from "../fixtures/service.ts";
import { Undo } from "../fixtures/undo.ts";

const SHAPE = { nodes: 20, zones: 40, groups: 4, seed: Date.now() & 0xffff };
/** Reports of each node at least. */
const REPORTS = 4;

const undo = new Undo();
const directory = undo.folder("edge-sim");
const config = new FleetConfig(SHAPE);
const admin = config.adminSecret;
const ZONES = Array.from({ length: SHAPE.zones }, (_, i) => config.zoneName(i));
/** Every report that the service took. */
const taken: { readonly node: string; readonly report: ReportWire }[] = [];
let service: ServiceProcess;
let fleet: Fleet;

beforeAll(async () => {
  console.log(`seed ${SHAPE.seed}`);
  const zones = join(directory, "zones.yaml");
  writeFileSync(zones, config.zonesText());
  const [api, env] = [config.tokens(), config.secrets()];
  service = await ServiceProcess.start({ config: config.text(zones), api, env });
  undo.add(() => service.remove());
  fleet = new Fleet({
    ...{ url: new URL(`http://127.0.0.1:${service.port}`), nodes: config.nodes, seed: SHAPE.seed },
    // A report each second, of what was in it.
    ...{ windowSeconds: 1, cacheDirectory: join(directory, "documents"), ordersPerNode: 1, reportsKept: null },
    onReport: (node, report) => taken.push({ node, report }),
    ...{ clock: systemClock, timers: systemTimers },
  });
  undo.add(() => fleet.stop());
  await fleet.start();
}, 60_000);
afterAll(() => undo.all());

/** By the configuration, without a look at what the service says. */
function zonesOf(node: number): string[] {
  const groups = [null, `pop-${1 + (node % SHAPE.groups)}`];
  return ZONES.filter((_, i) => groups.includes(config.groupOfZone(i)));
}

const everywhere = (check: (node: Fleet["nodes"][number], i: number) => boolean, complaint: string) =>
  eventually(
    () => fleet.nodes.every(check),
    () => `${complaint}: ${JSON.stringify(fleet.summary())}`,
    40_000,
  );

/** Status codes and HTTP/3 are of the history alone. */
const FLEET_COUNTS = COUNT_NAMES.filter((name) => !/^(status|h3)_/.test(name));
type Counts = Readonly<Partial<Record<CountName, number>>>;
interface Row extends Counts {
  readonly zone: string;
  readonly nodes: number;
  readonly watch_only?: readonly string[];
}

const sums = (windows: readonly Counts[], names: readonly CountName[]) =>
  Object.fromEntries(names.map((name) => [name, windows.reduce((total, window) => total + (window[name] ?? 0), 0)]));

test("every node has the document of its own zones and a certificate, and no report is lost: status and history add up", async () => {
  const hasOwn = ({ document }: Fleet["nodes"][number], i: number) =>
    Bun.deepEquals(
      document.zones.map(({ name }) => name),
      zonesOf(i),
    );
  await everywhere(hasOwn, "not every node has its document");
  const areIssued = () => fleet.summary().certificates.issued === SHAPE.nodes;
  await everywhere(
    ({ document }) => areIssued() && document.grants.length === 0,
    "certificates are missing, or slots kept",
  );
  expect(fleet.summary().certificates.failed).toBe(0);
  await everywhere(({ name }) => taken.filter(({ node }) => node === name).length >= REPORTS, "reports are missing");
  for (const { reporter } of fleet.nodes) reporter.stop();
  await everywhere(({ reporter }) => !reporter.isSending, "a report was not answered");
  expect(fleet.summary().reports.failed).toBe(0);
  const { body } = await service.get<{ zones: Row[] } & Record<string, unknown>>("/api/v1/edge/zones/status", admin);
  expect(body).toMatchObject({ nodes_alive: SHAPE.nodes, nodes_reporting: SHAPE.nodes, zones_truncated: 0 });
  const last = fleet.nodes.flatMap(({ reporter }) => reporter.last?.zones ?? []);
  const expected = ZONES.map((zone) => {
    const of = last.filter((row) => row.zone === zone);
    return { zone, nodes: of.length, watching: of.filter(({ dry_run }) => dry_run).length, ...sums(of, FLEET_COUNTS) };
  });
  const shown = body.zones.map((row) => {
    return { zone: row.zone, nodes: row.nodes, watching: row.watch_only?.length ?? 0, ...sums([row], FLEET_COUNTS) };
  });
  expect(shown).toEqual(expected);
  const windows = taken.flatMap(({ report }) => report.zones);
  for (const zone of ZONES) {
    const total = sums(
      windows.filter((window) => window.zone === zone),
      COUNT_NAMES,
    );
    // Written after the answers: they are waited for.
    await eventually(async () => {
      const { points } = (await service.get<{ points: ZoneWire[] }>(`/api/v1/edge/history?zone=${zone}`, admin)).body;
      return Bun.deepEquals(sums(points, COUNT_NAMES), total);
    }, `the history of ${zone} is not what was reported`);
  }
}, 120_000);
