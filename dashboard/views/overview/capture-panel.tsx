/** Whether all packets are counted: packets that are lost before are not judged. */
import type { StatusWire } from "../../../src/http/wire/status.ts";
import { t, tx } from "../../language.ts";
import { Badge } from "../../parts/badge.tsx";
import { Callout, Empty } from "../../parts/callout.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { Facts, Panel } from "../../parts/panel.tsx";
import { captureText } from "../../text/capture-words.ts";
import { packetRate, percent, wholeNumber } from "../../text/format/numbers.ts";
import { LOSS_TOLERATED } from "../../text/situation.ts";
import { useFlows } from "./capture-flows.ts";

type Capture = StatusWire["capture"];
type Source = Capture["interfaces"][number];

const STATE_NAMES = { running: t`running`, failed: t`failed`, ended: t`ended` } as const;
const STATE_TONES = { running: "ok", failed: "danger", ended: "info" } as const;

export function CapturePanel({ capture }: { readonly capture: Capture }) {
  const flows = useFlows(capture);
  const { interfaces, tracked_hosts: tracked, max_hosts: most } = capture;
  // The view of telemetry says what to do for ports that take flow records.
  const lossy = interfaces.filter(
    ({ name, kind }) => kind !== "flow" && (flows.get(name)?.dropShare ?? 0) > LOSS_TOLERATED,
  );
  const columns: readonly Column<Source>[] = [
    { key: "name", title: t`Source`, cell: ({ name }) => shortName(name) },
    {
      key: "state",
      title: t`State`,
      cell: ({ state }) => <Badge tone={STATE_TONES[state]}>{STATE_NAMES[state]}</Badge>,
    },
    {
      key: "rate",
      title: t`Received`,
      cell: ({ name }) => rateText(flows.get(name)?.pps),
      isNumber: true,
      width: "medium",
    },
    { key: "drops", title: t`Dropped`, cell: ({ name }) => shareText(flows.get(name)?.dropShare), isNumber: true },
  ];
  return (
    <Panel title={t`Capture`}>
      {interfaces.length === 0 ? (
        <Empty title={t`Nothing is captured`}>{t`Floodwall runs as a control plane only.`}</Empty>
      ) : (
        <>
          {interfaces.map(({ name, error }) =>
            error === undefined ? null : (
              <Callout key={name} tone="danger" title={t`${name} is not captured`}>
                {error}
              </Callout>
            ),
          )}
          {lossy.length > 0 && (
            <Callout
              tone="danger"
              title={t`Packets are lost before they are counted`}
            >{t`Rates are higher than shown. Pin the capture's threads to separate CPUs, or use more queues: see “Queues and CPUs” in docs/operations/mirror-port.md.`}</Callout>
          )}
          <DataTable label={t`Captured interfaces`} columns={columns} rows={interfaces} rowKey={({ name }) => name} />
          <Facts
            facts={[
              ...interfaces.map(({ name, kind, mode }) => [shortName(name), captureText({ kind, mode })] as const),
              [t`Hosts tracked`, t`${wholeNumber(tracked)} of at most ${wholeNumber(most)}`],
            ]}
          />
          {tracked >= most && (
            <Callout
              tone="warn"
              title={t`The host table is full`}
            >{tx`Further hosts are not judged individually: raise ${<code>capture.max_hosts</code>}.`}</Callout>
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

function rateText(pps: number | null | undefined): string {
  return pps == null ? "–" : packetRate(pps);
}

function shareText(share: number | null | undefined): string {
  return share == null ? "–" : percent(share);
}
