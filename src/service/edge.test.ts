import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { edgeConfig } from "../../test/fixtures/edge/edge.ts";
import { edgeReport, zoneWire } from "../../test/fixtures/edge/edge-reports.ts";
import { emptiedFolder } from "../../test/fixtures/folders.ts";
import { ManualClock, ManualTimers } from "../../test/fixtures/manual-clock.ts";
import { eventually } from "../../test/fixtures/service.ts";
import { localStore } from "../../test/fixtures/storage/memory-state.ts";
import type { EdgeConfig } from "../edge/edge-config.ts";
import type { EdgeEvent, EdgeWindow } from "../edge/reports/edge-history.ts";
import { Limiter } from "../observability/limiter.ts";
import { openLog } from "../observability/log.ts";
import { Metrics } from "../observability/metrics.ts";
import { ClearanceFile, ClearanceFileError } from "../storage/clearance-file.ts";
import { StateDatabase } from "../storage/state-database.ts";
import { nextTurn } from "../system/timers.ts";
import { EdgeChannel } from "./edge.ts";

const WWW = "www.example.net";
const CONFIG = edgeConfig({ nodes: [{ name: "e1" }, { name: "e2" }], zones: [{ name: WWW }] });
const ORDER = { mode: "manual", ttlSeconds: 600, reason: "ticket 7" } as const;

const directory = emptiedFolder("edge");
let clock: ManualClock;
let metrics: Metrics;
let state: StateDatabase | null;
let lines: string[];
let events: EdgeEvent[];
let windows: EdgeWindow[];

beforeEach(() => {
  clock = new ManualClock();
  metrics = new Metrics("1");
  state = null;
  lines = [];
  events = [];
  windows = [];
});
afterEach(() => {
  state?.close();
});

/** Starts the service after the previous one has ended. */
async function start(config: EdgeConfig | null = CONFIG): Promise<EdgeChannel> {
  state?.close();
  state = new StateDatabase(directory);
  const timers = new ManualTimers(clock);
  return EdgeChannel.open({
    config: { edge: config },
    state: localStore(state, timers),
    masters: new ClearanceFile(directory),
    history: {
      recordEdgeWindow: async (window) => windows.push(window),
      recordEdgeEvent: async (event) => events.push(event),
    },
    clock,
    timers,
    nextTurn,
    log: openLog({ level: "info", clock, destination: { write: (line) => void lines.push(line) } }),
    limiter: new Limiter(clock),
    metrics: metrics.edge,
  });
}

/** Until what waits is on disk, or was refused. */
async function saved(): Promise<void> {
  clock.advance(1000);
  await nextTurn();
}

async function set(channel: EdgeChannel, order: { ttlSeconds: number } = ORDER): Promise<void> {
  const zone = channel.nodes.zone(WWW);
  if (zone === null) throw new Error("the test has the zone");
  expect((await channel.levers.set(zone, { ...ORDER, ...order }, clock.wallMs())).kind).toBe("set");
}

async function metricOf(line: string): Promise<number> {
  const text = (await metrics.text()).split("\n").find((other) => other.startsWith(`${line} `));
  return Number(text?.slice(line.length + 1));
}

const etag = (channel: EdgeChannel) => channel.feed.documentFor("all").etag;
const untilOf = (channel: EdgeChannel) => channel.levers.of(WWW, clock.wallMs())?.untilMs ?? null;

describe("a restart", () => {
  test("keeps a lever and its until, and with that the bytes of the document", async () => {
    const first = await start();
    const before = etag(first);
    await set(first);
    const withLever = etag(first);
    clock.advance(1000);
    const second = await start();
    expect(second.levers.of(WWW, clock.wallMs())).toEqual({
      zone: WWW,
      mode: "manual",
      untilMs: clock.wallMs() + 599_000,
      ttlSeconds: 600,
      reason: "ticket 7",
    });
    expect([etag(second), withLever === before]).toEqual([withLever, false]);
    await second.levers.clear(WWW);
    expect([etag(second), etag(await start())]).toEqual([before, before]);
  });

  test("after the lever's time expires the lever, on disk as well", async () => {
    await set(await start());
    clock.advance(600_000);
    expect(untilOf(await start())).toBeNull();
    await saved();
    expect(state?.stored().levers).toEqual([]);
  });

  test("forgets slots and challenges: the node asks again", async () => {
    const first = await start();
    const before = etag(first);
    first.acme.requestSlot("e1", WWW, clock.wallMs());
    expect(etag(first)).not.toBe(before);
    const second = await start();
    expect(etag(second)).toBe(before);
    const order = { zone: WWW, token: "t", keyAuthorization: "t.k" };
    expect(second.acme.publish("e1", order, clock.wallMs())).toEqual({ kind: "refused", refusal: "no_slot" });
    expect(second.acme.requestSlot("e2", WWW, clock.wallMs()).kind).toBe("granted");
  });

  test("keeps the clearance keys", async () => {
    expect(etag(await start())).toBe(etag(await start()));
  });
});

describe("by the clock", () => {
  test("a lever expires by itself, and the watcher is called once", async () => {
    const channel = await start();
    let calls = 0;
    channel.feed.watch({ changed: () => calls++, reloaded: () => {} });
    channel.start();
    await set(channel);
    calls = 0;
    clock.advance(599_999);
    expect([calls, channel.levers.all.size]).toEqual([0, 1]);
    clock.advance(1);
    expect([calls, channel.levers.all.size]).toEqual([1, 0]);
    await saved();
    expect(state?.stored().levers).toEqual([]);
    channel.stop();
    expect(clock.pending).toBe(0);
  });

  test("what could not be removed from the disk is counted, and tried again", async () => {
    const channel = await start();
    channel.start();
    await set(channel);
    state?.close();
    clock.advance(600_000);
    expect(channel.levers.all.size).toBe(0);
    await saved();
    const failures = () => metricOf('svc_edge_save_failures_total{what="levers"}');
    const before = await failures();
    for (let i = 0; i < 2; i++) await saved();
    expect((await failures()) - before).toBe(2);
    channel.stop();
  });

  test("a clearance master that could not be saved is kept soon after it can be", async () => {
    const channel = await start();
    channel.start();
    const failures = () => metricOf('svc_edge_save_failures_total{what="clearance_masters"}');
    const obstacle = join(directory, "clearance-masters.new");
    mkdirSync(obstacle);
    clock.setWall("2026-03-02T12:00:00.000Z");
    clock.advance(1000);
    await eventually(async () => (await failures()) === 1, "the master is saved");
    const daysKept = () => new ClearanceFile(directory).load().map(({ day }) => day);
    const before = daysKept();
    rmdirSync(obstacle);
    clock.advance(61_000);
    await eventually(() => daysKept().length > before.length, "the master is not saved");
    expect(daysKept()).toEqual([...before, Math.max(...before) + 1]);
    channel.stop();
  });
});

describe("a reload", () => {
  test("that takes a node away forgets its report and that it was lost: should it come back, it is a new one", async () => {
    const channel = await start();
    channel.start();
    const poll = () => {
      channel.nodes.pollStarted("e1", "t");
      channel.nodes.pollEnded("e1");
      clock.advance(1000);
    };
    poll();
    channel.reports.report("e1", edgeReport({ version: "1" }));
    clock.advance(60_000);
    channel.reconfigure(edgeConfig({ nodes: [{ name: "e2" }], zones: [{ name: WWW }] }));
    channel.reconfigure(CONFIG);
    poll();
    expect(channel.reports.reportOf("e1")).toBeNull();
    expect(events.map(({ node, kind }) => [node, kind])).toEqual([["e1", "node_lost"]]);
    channel.stop();
  });

  test("that adds the first edge opens the clearance keys beforehand", async () => {
    const channel = await start(null);
    expect(await channel.feed.documentFor("all").body.text()).toContain('"zones":[]');
    await channel.prepare({ edge: CONFIG });
    channel.reconfigure(CONFIG);
    const { zones } = JSON.parse(await channel.feed.documentFor("all").body.text()) as { zones: object[] };
    expect(zones).toMatchObject([{ name: WWW, clearance_keys: [{ id: "c20260228" }, { id: "c20260301" }] }]);
  });

  test("is refused when they cannot be read, as a start is", async () => {
    mkdirSync(join(directory, "clearance-masters"));
    writeFileSync(join(directory, "clearance-masters.damaged"), "in the way of moving the folder aside");
    expect(start()).rejects.toThrow(ClearanceFileError);
    const channel = await start(null);
    expect(await channel.prepare({ edge: CONFIG }).catch((cause: unknown) => cause)).toBeInstanceOf(ClearanceFileError);
    await channel.prepare({ edge: null });
  });
});

test("what was reported last is handed to the history when the service stops", async () => {
  const channel = await start();
  channel.start();
  channel.reports.report("e1", edgeReport({ zones: [zoneWire(WWW)] }));
  expect(windows).toEqual([]);
  channel.stop();
  expect(windows.map(({ node, zone }) => [node, zone])).toEqual([["e1", WWW]]);
});

describe("the log", () => {
  const TOKEN = "evaGxfADs6pSRb2LAv9IZf17Dt3juxGJ-PCt92wr-oA";

  test("has each ACME call with node, zone and the token's first eight characters, and no key authorization", async () => {
    const channel = await start();
    const order = { zone: WWW, token: TOKEN, keyAuthorization: `${TOKEN}.nP1qzpXGymHBrUEepNY9HCsQk7K8KhOypzEt62jcerQ` };
    const now = clock.wallMs();
    channel.acme.requestSlot("e1", WWW, now);
    channel.acme.requestSlot("e2", WWW, now);
    channel.acme.publish("e1", order, now);
    channel.acme.publish("e2", order, now);
    channel.acme.publish("e2", { ...order, zone: "x".repeat(300) }, now);
    channel.acme.releaseSlot("e1", WWW);
    const logged = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
    const challenge = { zone: WWW, token_prefix: "evaGxfAD" };
    expect(logged).toMatchObject([
      { node: "e1", zone: WWW, msg: "a node has the slot of a zone" },
      { node: "e2", zone: WWW, holder: "e1" },
      { node: "e1", ...challenge, msg: "a node has published a challenge" },
      { node: "e2", ...challenge, refusal: "no_slot" },
      { node: "e2", zone: "x".repeat(253), token_prefix: "evaGxfAD" },
      { node: "e1", zone: WWW, msg: "a node returns slots" },
    ]);
    expect(lines.join("")).not.toContain(TOKEN.slice(0, 9));
    expect(lines.join("")).not.toContain("nP1qzpXG");
  });

  test("has a lever's zone, mode, until and reason", async () => {
    await set(await start());
    expect(JSON.parse(lines[0] ?? "")).toMatchObject({
      zone: WWW,
      mode: "manual",
      until: "2026-03-01T12:10:00.000Z",
      reason: "ticket 7",
    });
  });
});

test("metrics count nodes by liveness, document items, and calls by result", async () => {
  const channel = await start();
  channel.nodes.pollStarted("e1", "t");
  await set(channel);
  channel.acme.requestSlot("e1", WWW, clock.wallMs());
  channel.acme.publish("e1", { zone: WWW, token: "t", keyAuthorization: "t.k" }, clock.wallMs());
  await channel.levers.clear(WWW);
  channel.feed.documentFor("all");
  channel.fillMetrics();
  const text = await metrics.text();
  for (const line of [
    'svc_edge_nodes{state="alive"} 1',
    'svc_edge_nodes{state="not_seen"} 1',
    'svc_edge_document_items{kind="zones"} 1',
    'svc_edge_document_items{kind="levers"} 0',
    'svc_edge_document_items{kind="grants"} 1',
    'svc_edge_document_items{kind="challenges"} 1',
    'svc_edge_document_items{kind="documents"} 1',
    'svc_edge_lever_changes_total{change="set"} 1',
    'svc_edge_lever_changes_total{change="cleared"} 1',
    'svc_edge_acme_calls_total{end="slot_granted"} 1',
    'svc_edge_acme_calls_total{end="published"} 1',
  ]) {
    expect(text).toContain(`${line}\n`);
  }
  expect(text).toMatch(/svc_edge_document_bytes [1-9]\d+\n/);
});
