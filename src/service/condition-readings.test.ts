import { expect, test } from "bun:test";
import { configOf } from "../../test/fixtures/config/parsed-config.ts";
import { source } from "../../test/fixtures/dataplane/capture-views.ts";
import type { SourceView } from "../dataplane/capture.ts";
import type { DiversionFault, DiversionView } from "../mitigation/diversion.ts";
import type { Liveness } from "../nodes/node-presence.ts";
import type { DiskSpace } from "../system/disk-space.ts";
import { ConditionReadings } from "./condition-readings.ts";

const config = configOf(
  "networks: [192.0.2.0/24]\nthresholds: {pps: 1, mbps: 1, flows_per_sec: 1}\nstate_dir: /var/lib/floodwall\n",
);

function setup() {
  const now = {
    sources: [] as SourceView[],
    speaker: null as { connected: boolean; fault: string | null } | null,
    scrub: "alive" as Liveness,
    edge: "alive" as Liveness,
    report: {} as object | null,
    etag: '"1"',
    space: { bytes: 2 ** 40, freeBytes: 2 ** 39 } as DiskSpace | null,
    faults: [] as DiversionFault[],
    diversions: [] as Pick<DiversionView, "prefix" | "phase" | "error" | "bans" | "isDryRun" | "isLost">[],
  };
  const readings = new ConditionReadings({
    floodwall: {
      config,
      packetPath: { sources: () => now.sources },
      announcer: { status: () => ({ speaker: "managed", ...now.speaker }) },
      diversions: { views: () => now.diversions, faults: () => now.faults },
      scrub: { staleAfterSeconds: 15, views: () => [{ node: { name: "s1" }, liveness: now.scrub }] },
    },
    edge: {
      nodes: {
        ...{ staleAfterSeconds: 20, nodes: () => [{ name: "e1", scope: [] }], livenessOf: () => now.edge },
      },
      reports: { reportOf: () => (now.report === null ? null : { report: now.report }) },
      feed: { documentFor: () => ({ etag: now.etag }) },
    },
    diskSpace: async () => now.space,
  } as never);
  now.speaker = { connected: true, fault: null };
  const found = (monotonicMs: number) =>
    readings
      .read(monotonicMs)
      .flatMap(({ kind, name, found: text }) => (text === null ? [] : [`${kind} ${name}: ${text}`]));
  return { now, found };
}

test("nothing is wrong where all works", () => {
  const { now, found } = setup();
  now.sources = [source()];
  expect(found(0)).toEqual([]);
});

test("a capture is lost while it failed, and loses by the packets since the last reading", () => {
  const { now, found } = setup();
  const [queue] = source().queues;
  if (queue === undefined) throw new Error("no queue");
  const counted = (receivedPackets: number, droppedKernel: number) => [
    source({
      name: "eth0",
      queues: [{ ...queue, receivedPackets, droppedRingFull: 0, droppedFillEmpty: 0, droppedKernel }],
    }),
  ];
  now.sources = counted(1_000_000, 5000);
  expect(found(0)).toEqual([]);
  now.sources = counted(1_999_000, 6000);
  expect(found(1000)).toEqual(["capture_losing eth0: 1000 of 1000000 packets of the last second"]);
  now.sources = counted(2_999_001, 6999);
  expect(found(2000)).toEqual([]);
  now.sources = [source({ name: "eth0", state: "failed", error: "no such device", queues: [] })];
  expect(found(3000)).toEqual(["capture_lost eth0: no such device"]);
});

test("the speaker is down with its fault", () => {
  const { now, found } = setup();
  now.speaker = { connected: false, fault: "connection refused" };
  expect(found(0)).toEqual(["speaker_down (managed): connection refused"]);
});

test("nodes are lost, and one that is not lost may refuse its document or be late with it", () => {
  const { now, found } = setup();
  [now.scrub, now.edge] = ["lost", "lost"];
  now.report = { isTestOk: false, testError: "no such module" };
  expect(found(0)).toEqual(["scrub_node_lost s1: no poll for 15 s", "edge_node_lost e1: no poll for 20 s"]);
  [now.scrub, now.edge] = ["not_seen", "alive"];
  expect(found(1000)).toEqual(["edge_node_fault e1: it refuses its document: no such module"]);
  now.report = { isTestOk: true, isTerminatorAlive: false };
  expect(found(2000)).toEqual(["edge_node_fault e1: its terminator does not run"]);
  now.report = { isTestOk: true, isTerminatorAlive: true, zonesEtag: '"0"' };
  expect(found(59_999)).toEqual([]);
  expect(found(60_000)).toEqual(["edge_node_fault e1: it has not put in force what it got more than 60 s ago"]);
  now.etag = '"2"';
  expect(found(61_000)).toEqual([]);
});

test("a disk is nearly full by its share and its bytes", async () => {
  const { now, found } = setup();
  now.space = { bytes: 2 ** 40, freeBytes: 2 ** 30 - 1 };
  found(0);
  await Promise.resolve();
  await Bun.sleep(0);
  expect(found(1)).toEqual(["disk_nearly_full /var/lib/floodwall: 1023 MiB of 1048576 MiB are free"]);
  now.space = { bytes: 2 ** 31, freeBytes: 2 ** 30 - 1 };
  found(30_000);
  await Bun.sleep(0);
  expect(found(30_001)).toEqual([]);
});

test("a diversion is begun, confirmed, lost and failed, and one that is being ended is stuck #diversion-events", () => {
  const { now, found } = setup();
  now.diversions = [
    { prefix: "192.0.2.0/24", phase: "failed", error: "the hook answered 500", bans: [] },
    { prefix: "198.51.100.0/24", phase: "ending", error: null, bans: [] },
    { prefix: "203.0.113.0/24", phase: "diverted", error: null, bans: ["203.0.113.7/32", "203.0.113.8/32"] },
    { prefix: "2001:db8::/48", phase: "beginning", error: "not there", bans: ["2001:db8::1/128"], isLost: true },
  ];
  expect(found(0)).toEqual([
    "diversion_begun 192.0.2.0/24: no ban wants it any more",
    "diversion_failed 192.0.2.0/24: the hook answered 500",
    "diversion_begun 198.51.100.0/24: no ban wants it any more",
    "diversion_stuck 198.51.100.0/24: the hook goes on with it",
    "diversion_begun 203.0.113.0/24: for the bans of 203.0.113.7/32, 203.0.113.8/32",
    "diversion_confirmed 203.0.113.0/24: the scrubbing center has the traffic",
    "diversion_begun 2001:db8::/48: for the bans of 2001:db8::1/128",
    "diversion_lost 2001:db8::/48: not there",
  ]);
});

test("a diversion is failed or lost while its bans act otherwise, also once the hook has ended it #diversion-events", () => {
  const { now, found } = setup();
  const [failed, lost] = ["192.0.2.0/24", "2001:db8::/48"].map((prefix) => ({
    prefix,
    cause: "not there",
    isLost: false,
  }));
  now.faults = [failed as DiversionFault, { ...(lost as DiversionFault), isLost: true }];
  const both = ["diversion_failed 192.0.2.0/24: not there", "diversion_lost 2001:db8::/48: not there"];
  expect(found(0)).toEqual(both);
  now.diversions = [{ prefix: "192.0.2.0/24", phase: "ending", error: "no connection", bans: [] }];
  expect(found(1).filter((text) => both.includes(text))).toEqual(both);
});
