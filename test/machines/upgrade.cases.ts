/**
 * An older package's service, then a newer one's on the same state, beside a BIRD whose routes are read all the while:
 * nothing that was ordered is lost, and no route is ever gone. The packages are named by OLDER and NEWER.
 */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { PeeredScenario } from "../fixtures/bgp/peered-scenario.ts";
import { FLOODWALL } from "../fixtures/program.ts";
import { runCommand } from "../fixtures/run-command.ts";
import { eventually, type ServiceProcess } from "../fixtures/service.ts";
import { Undo } from "../fixtures/undo.ts";

/** Banned by a route, and by rules. */
const VICTIMS = ["203.0.113.7", "203.0.113.136"];

type Row = Readonly<Record<string, unknown>>;

const undo = new Undo();
const scene = new PeeredScenario();
const folder = undo.folder("upgrade");
const options = (name: string) => ({
  // In place of the command that starts Floodwall here, which comes first.
  runner: ["sh", "-ec", `shift ${FLOODWALL.length}; exec ${join(folder, name)}/usr/bin/floodwall "$@"`, "sh"],
});

beforeAll(() => {
  for (const name of ["OLDER", "NEWER"]) {
    runCommand(["dpkg-deb", "-x", process.env[name] ?? `${name} is not set`, join(folder, name)]);
  }
}, 120_000);
afterAll(() => undo.all());

/** What must be the same afterwards. Newer versions may say more of a ban. */
async function known(service: ServiceProcess) {
  const { bans } = (await service.get<{ bans: Row[] }>("/api/v1/bans")).body;
  const { events } = (await service.get<{ events: Row[] }>("/api/v1/audit?action=ban")).body;
  const names = ["target", "state", "manual", "route", "started_at", "expires_at"];
  const { windows } = (await service.get<{ windows: Row[] }>("/api/v1/maintenance")).body;
  const { hostgroups } = (await service.get<{ hostgroups: Row[] }>("/api/v1/config")).body;
  return {
    bans: bans.map((ban) => names.map((name) => ban[name])),
    audit: events.map(({ event_time: at, ip }) => [at, ip]),
    windows: windows.map(({ name, until, threshold_factor: factor }) => [name, until, factor]),
    settings: hostgroups.map(({ name, settings }) => [name, settings]),
  };
}

/** Orders that change no route. */
async function order(service: ServiceProcess): Promise<void> {
  const window = { name: "move", ttl_seconds: 3600, threshold_factor: 2, reason: "upgrade" };
  expect((await service.post("/api/v1/maintenance", window)).status).toBe(200);
  const path = "/api/v1/hostgroups/rules/settings";
  const settings = { thresholds: { pps: 2000 }, reason: "upgrade" };
  expect((await service.order("PUT", path, settings)).status).toBe(200);
}

test("an upgrade keeps orders and history, and the peer has every route all the while", async () => {
  const config = `
networks: [203.0.113.0/24]
thresholds: { pps: 1000, mbps: 100, flows_per_sec: 500 }
hostgroups: [{ name: rules, networks: [203.0.113.128/25], mitigation: flowspec }]
dry_run: false
${await scene.peer()}`;
  const older = await scene.start(config, options("OLDER"));
  for (const ip of VICTIMS) expect((await older.post("/api/v1/ban", { ip })).status).toBe(200);
  await order(older);
  const isHeld = async () => {
    const held = await scene.held();
    return VICTIMS.every((ip) => held.some((route) => route.includes(`${ip}/32`)));
  };
  await eventually(isHeld, () => `the peer lacks a route:\n${older.output}`);
  const isRecorded = async () => (await known(older)).audit.length === VICTIMS.length;
  await eventually(isRecorded, () => `the history lacks a ban:\n${older.output}`);
  const [before, gobgpd] = [await known(older), scene.gobgpdPid];
  let isOver = false;
  let [looks, gaps] = [0, 0];
  const watching = (async () => {
    for (; !isOver; looks++) if (!(await isHeld())) gaps++;
  })();
  expect(await older.stop()).toBe(0);
  const newer = await scene.start(config, options("NEWER"));
  // Once more, so that the newer version has said something to the speaker.
  expect((await newer.post("/api/v1/ban", { ip: "203.0.113.9" })).status).toBe(200);
  await eventually(
    async () => (await scene.held()).length === VICTIMS.length + 1,
    () => `the newer version announces nothing:\n${newer.output}`,
  );
  isOver = true;
  await watching;
  const after = await known(newer);
  console.log(`${looks} looks at the peer, ${gaps} without a route; gobgpd ${gobgpd}, then ${scene.gobgpdPid}`);
  expect(looks).toBeGreaterThan(10);
  expect(scene.gobgpdPid).toBe(gobgpd);
  expect(after.bans.filter(([target]) => VICTIMS.includes(String(target)))).toEqual(before.bans);
  expect(after.audit).toEqual(expect.arrayContaining(before.audit));
  expect([before.windows.length, before.settings.some(([, set]) => set !== undefined)]).toEqual([1, true]);
  expect([after.windows, after.settings]).toEqual([before.windows, before.settings]);
  expect(gaps).toBe(0);
}, 120_000);
