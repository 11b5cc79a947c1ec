/** The rates of the capture's interfaces, from the counters of two readings of the status. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { StatusWire } from "../../../src/http/wire/status.ts";

type Capture = StatusWire["capture"];
type Source = Capture["interfaces"][number];

interface Counts {
  readonly received: number;
  readonly dropped: number;
}

interface Seen {
  readonly atMs: number;
  readonly bySource: ReadonlyMap<string, Counts>;
}

/** Rates of a source over the last seconds; null: only one reading so far. */
interface Flow {
  readonly pps: number | null;
  /** Share of the received packets. */
  readonly dropShare: number | null;
}

/** The rates of the last view that showed them, until newer ones are known. */
const kept: { atMs: number; flows: ReadonlyMap<string, Flow> } = { atMs: 0, flows: new Map() };
const KEPT_MS = 60_000;

/** Computes rates from the counters of two readings. */
export function useFlows(capture: Capture | undefined): ReadonlyMap<string, Flow> {
  const before = useRef<Seen | null>(null);
  const [flows, setFlows] = useState(() => (Date.now() - kept.atMs < KEPT_MS ? kept.flows : new Map<string, Flow>()));
  useEffect(() => {
    if (capture === undefined) return;
    const seen = {
      atMs: Date.now(),
      bySource: new Map(capture.interfaces.map((source) => [source.name, countsOf(source)])),
    };
    const last = before.current;
    before.current = seen;
    if (last === null) return;
    const next = flowsBetween(last, seen);
    Object.assign(kept, { atMs: seen.atMs, flows: next });
    setFlows(next);
  }, [capture]);
  return flows;
}

function flowsBetween(last: Seen, seen: Seen): ReadonlyMap<string, Flow> {
  const seconds = (seen.atMs - last.atMs) / 1000;
  return new Map(
    [...seen.bySource].map(([name, { received, dropped }]): [string, Flow] => {
      const earlier = last.bySource.get(name);
      // Counters that went back belong to a restarted process.
      if (earlier === undefined || seconds <= 0 || received < earlier.received)
        return [name, { pps: null, dropShare: null }];
      const [came, lost] = [received - earlier.received, Math.max(0, dropped - earlier.dropped)];
      return [name, { pps: came / seconds, dropShare: lost === 0 ? 0 : lost / (came + lost) }];
    }),
  );
}

function countsOf({ queues }: Source): Counts {
  return {
    received: queues.reduce((sum, { received_packets: packets }) => sum + packets, 0),
    dropped: queues.reduce((sum, { dropped_packets: packets }) => sum + packets, 0),
  };
}

/** The highest share of lost packets; null: not known yet. */
export function highestLoss(flows: ReadonlyMap<string, Flow>): number | null {
  const shares = [...flows.values()].flatMap(({ dropShare }) => (dropShare === null ? [] : [dropShare]));
  return shares.length === 0 ? null : Math.max(...shares);
}
