/** The recorder of the traffic history, connected to the running service. */
import type { Lease } from "../cluster/lease.ts";
import { announcedPrefix } from "../detection/attack/attack-sources.ts";
import { originWith, systemKey } from "../detection/attack/sample-origins.ts";

import { ADDRESS_BYTES } from "../net/address.ts";
import type { Limiter } from "../observability/limiter.ts";
import type { Log } from "../observability/log.ts";
import type { Metrics } from "../observability/metrics.ts";
import type { HistoryStore } from "../storage/history-store.ts";
import type { Clock } from "../system/clock.ts";
import { nextTurn, type Timers } from "../system/timers.ts";
import { HistoryRecorder } from "../traffic/history-recorder.ts";
import { allocateHostRows } from "../traffic/host-rows.ts";
import { ingressText } from "../traffic/ingress.ts";
import type { TrafficSnapshot } from "../traffic/traffic-history.ts";
import { TrafficParts } from "../traffic/traffic-parts.ts";
import type { Floodwall } from "./floodwall.ts";
import type { PacketPath } from "./packet-path.ts";
import { TrafficTurn } from "./traffic-turn.ts";

/** Rows of one traffic snapshot, each for a host in one direction; the busiest hosts are kept. */
export const TRAFFIC_ROWS_MAX = 20_000;

interface TrafficRecorderOptions {
  readonly floodwall: Floodwall;
  /** null: storage is off. */
  readonly history: HistoryStore | null;
  /** The lease in a cluster; null: there is one brain. */
  readonly lease: Lease | null;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
  readonly limiter: Limiter;
  readonly metrics: Metrics;
}

/** How often sampled headers are counted by their origins, at the next tick, ms. */
const PARTS_EVERY_MS = 1000;

function trafficParts(floodwall: Floodwall, { engine, detection }: PacketPath): TrafficParts {
  return new TrafficParts({
    headers: engine,
    isProtected: (host) => floodwall.config.lookup.network(host) >= 0,
    keysOf: (source, { ingress, sourceAs }) => {
      const { originOf, ingressOf } = detection.lookups;
      const origin = originWith(originOf?.(source) ?? null, sourceAs);
      const from = ingress === undefined ? null : ingressOf(ingress);
      return {
        asn: origin === null ? null : systemKey(origin),
        country: origin?.country ?? null,
        prefix: announcedPrefix(source),
        interface: from === null ? null : ingressText(from),
        exporter: from === null ? null : from.exporter,
      };
    },
  });
}

/** If there are several databases, each brain writes its own. */
function storeOf(
  history: HistoryStore,
  { lease, clock }: TrafficRecorderOptions,
): (snapshot: TrafficSnapshot) => Promise<unknown> {
  const store = (snapshot: TrafficSnapshot) => history.recordTraffic(snapshot);
  if (lease === null || !history.isForAllBrains) return store;
  const turn = new TrafficTurn({ lease, store, monotonicMs: () => clock.monotonicMs() });
  return (snapshot) => turn.take(snapshot);
}

/** null: storage is off, or nothing is captured. */
export function trafficRecorder(options: TrafficRecorderOptions): HistoryRecorder | null {
  const { floodwall, history, timers, clock, metrics, log, limiter } = options;
  const { packetPath, detector } = floodwall;
  if (packetPath === null || history === null) return null;
  const parts = trafficParts(floodwall, packetPath);
  const recorder = new HistoryRecorder({
    intervalSeconds: floodwall.config.storage.trafficIntervalSeconds,
    windowMs: floodwall.config.detection.windowMs,
    rowsMax: TRAFFIC_ROWS_MAX,
    hosts: packetPath.engine,
    attacks: () => detector.active.values(),
    readBaselines: (rows, count) => detector.baselines.readAhead(rows, count),
    baselinePps: (rows, row, direction) => {
      const group = floodwall.config.hostgroups[rows.groups[row] as number];
      return group === undefined
        ? null
        : detector.baselines.normalPps({ keys: rows.addresses, at: row * ADDRESS_BYTES, group, direction });
    },
    partsOf: (totals) => parts.take(totals),
    after: (ms, fn) => timers.after(ms, fn),
    nextTurn,
    wallMs: () => clock.wallMs(),
    monotonicMs: () => clock.monotonicMs(),
    onSnapshot: storeOf(history, options),
    onCut: (rows) => metrics.storage.hostsCut(rows),
    onFault: (cause) =>
      limiter.pass("traffic history", (suppressed) =>
        log.error({ cause, suppressed }, "the rates of hosts were not recorded in the history"),
      ),
  });
  floodwall.onAttackEvent(({ kind, attack }) => {
    if (kind === "started") recorder.attackStarted(attack);
  });
  let sums = allocateHostRows(0);
  let readMs = Number.NEGATIVE_INFINITY;
  floodwall.onTick(() => {
    const { hostgroups } = floodwall.config;
    if (sums.capacity !== hostgroups.length) sums = allocateHostRows(hostgroups.length);
    packetPath.engine.readGroups(sums);
    recorder.ticked(sums, hostgroups);
    const nowMs = clock.monotonicMs();
    if (nowMs - readMs < PARTS_EVERY_MS || !floodwall.config.samples.enabled) return;
    readMs = nowMs;
    parts.read(nowMs);
  });
  return recorder;
}
