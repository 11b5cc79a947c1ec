/** The recorder of the traffic history, connected to the running service. */
import { TRAFFIC_ROWS_MAX } from "../limits.ts";
import { ADDRESS_BYTES } from "../net/address.ts";
import type { Limiter } from "../observability/limiter.ts";
import type { Log } from "../observability/log.ts";
import type { Metrics } from "../observability/metrics.ts";
import type { HistoryStore } from "../storage/history-store.ts";
import type { Clock } from "../system/clock.ts";
import { nextTurn, type Timers } from "../system/timers.ts";
import { HistoryRecorder } from "../traffic/history-recorder.ts";
import { allocateHostRows } from "../traffic/host-rows.ts";
import type { Floodwall } from "./floodwall.ts";

export interface TrafficRecorderOptions {
  readonly floodwall: Floodwall;
  /** null: storage is off. */
  readonly history: HistoryStore | null;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
  readonly limiter: Limiter;
  readonly metrics: Metrics;
}

/** null: storage is off, or nothing is captured. */
export function trafficRecorder(options: TrafficRecorderOptions): HistoryRecorder | null {
  const { floodwall, history, timers, clock, metrics, log, limiter } = options;
  const { packetPath, detector } = floodwall;
  if (packetPath === null || history === null) return null;
  const recorder = new HistoryRecorder({
    intervalSeconds: floodwall.config.storage.trafficIntervalSeconds,
    rowsMax: TRAFFIC_ROWS_MAX,
    hosts: packetPath.engine,
    attacks: () => detector.active.values(),
    baselinePps: (rows, row, direction) => {
      const group = floodwall.config.hostgroups[rows.groups[row] as number];
      return group === undefined
        ? null
        : detector.baselines.normalPps({ keys: rows.addresses, at: row * ADDRESS_BYTES, group, direction });
    },
    after: (ms, fn) => timers.after(ms, fn),
    nextTurn,
    wallMs: () => clock.wallMs(),
    monotonicMs: () => clock.monotonicMs(),
    onSnapshot: (snapshot) => history.recordTraffic(snapshot),
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
  floodwall.onTick(() => {
    const { hostgroups } = floodwall.config;
    if (sums.capacity !== hostgroups.length) sums = allocateHostRows(hostgroups.length);
    packetPath.engine.readGroups(sums);
    recorder.ticked(sums, hostgroups);
  });
  return recorder;
}
