/** Whether all packets are counted: packets that are lost before are not judged. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { StatusWire } from "../../../src/http/wire/status.ts";
import { Badge } from "../../parts/badge.tsx";
import { Callout, Empty } from "../../parts/callout.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { Facts, Panel } from "../../parts/panel.tsx";
import { packetRate, percent, wholeNumber } from "../../text/format/numbers.ts";

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

const STATE_TONES = { running: "ok", failed: "danger", ended: "info" } as const;
/** A loss above this share is shown as a warning at once. */
const DROPS_TOLERATED = 0.001;

export function CapturePanel({ capture }: { readonly capture: Capture }) {
  const flows = useFlows(capture);
  const { interfaces, tracked_hosts: tracked, max_hosts: most } = capture;
  const lossy = interfaces.filter(({ name }) => (flows.get(name)?.dropShare ?? 0) > DROPS_TOLERATED);
  const columns: readonly Column<Source>[] = [
    { key: "name", title: "Source", cell: ({ name }) => shortName(name) },
    { key: "state", title: "State", cell: ({ state }) => <Badge tone={STATE_TONES[state]}>{state}</Badge> },
    { key: "rate", title: "Received", cell: ({ name }) => rateText(flows.get(name)?.pps), isNumber: true },
    { key: "drops", title: "Dropped", cell: ({ name }) => shareText(flows.get(name)?.dropShare), isNumber: true },
  ];
  return (
    <Panel title="Capture">
      {interfaces.length === 0 ? (
        <Empty title="Nothing is captured">Floodwall runs as a control plane only.</Empty>
      ) : (
        <>
          {interfaces.map(({ name, error }) =>
            error === undefined ? null : (
              <Callout key={name} tone="danger" title={`${name} is not captured`}>
                {error}
              </Callout>
            ),
          )}
          {lossy.length > 0 && (
            <Callout tone="danger" title="Packets are lost before they are counted">
              Rates are higher than shown. Pin the capture's threads to separate CPUs, or use more queues: see “Queues
              and CPUs” in docs/operations/mirror-port.md.
            </Callout>
          )}
          <DataTable label="Captured interfaces" columns={columns} rows={interfaces} rowKey={({ name }) => name} />
          <Facts
            facts={[
              ...interfaces.map(({ name, kind, mode }) => [shortName(name), `${kind}, ${mode}`] as const),
              ["Hosts tracked", `${wholeNumber(tracked)} of at most ${wholeNumber(most)}`],
            ]}
          />
          {tracked >= most && (
            <Callout tone="warn" title="The host table is full">
              Further hosts are not judged individually: raise <code>capture.max_hosts</code>.
            </Callout>
          )}
        </>
      )}
    </Panel>
  );
}

/** A capture file has a path. */
function shortName(name: string): string {
  return name.split("/").at(-1) ?? name;
}

/** Computes rates from the counters of two readings. */
function useFlows(capture: Capture): ReadonlyMap<string, Flow> {
  const before = useRef<Seen | null>(null);
  const [flows, setFlows] = useState<ReadonlyMap<string, Flow>>(new Map());
  useEffect(() => {
    const seen = {
      atMs: Date.now(),
      bySource: new Map(capture.interfaces.map((source) => [source.name, countsOf(source)])),
    };
    const last = before.current;
    before.current = seen;
    if (last !== null) setFlows(flowsBetween(last, seen));
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

function rateText(pps: number | null | undefined): string {
  return pps == null ? "–" : packetRate(pps);
}

function shareText(share: number | null | undefined): string {
  return share == null ? "–" : percent(share);
}
