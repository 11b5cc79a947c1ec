/** The other brains of the cluster: whether they are reached, and what is wrong, with the remedy in the service's words. */
import type { BrainWire, ClusterWire } from "../../../src/http/wire/cluster.ts";
import { useResource } from "../../api/resource.ts";
import { t } from "../../language.ts";
import { Badge } from "../../parts/badge.tsx";
import { Callout } from "../../parts/callout.tsx";
import { numberColumn, sinceColumn, textColumn } from "../../parts/columns.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { Facts, Panel } from "../../parts/panel.tsx";
import { Show } from "../../parts/show.tsx";
import { said } from "../../text/service-words.ts";

const EVERY_MS = 3000;

const LACK_NAMES = {
  acme_slots: t`the ACME slot of a zone may be given twice`,
  one_notification_in_a_split: t`in a split, each brain notifies`,
} as const;

const COLUMNS: readonly Column<BrainWire>[] = [
  textColumn(t`Brain`, ({ name }) => name),
  {
    key: "state",
    title: t`State`,
    cell: ({ state }) =>
      state === "up" ? <Badge tone="ok">{t`reached`}</Badge> : <Badge tone="danger">{t`not reached`}</Badge>,
  },
  sinceColumn(t`Since`, ({ since }) => since),
  numberColumn(t`Clock ahead`, ({ skew_ms: skew }) => skew, { format: (ms) => t`${ms} ms`, width: "medium" }),
  numberColumn(t`Orders not confirmed`, ({ unconfirmed_orders: orders }) => orders, { width: "medium" }),
  textColumn(t`Differs in`, ({ differs }) => differs?.join(", ") || undefined, "wide"),
  textColumn(t`Version`, ({ version }) => version, "wide"),
];

export function ClusterPanel() {
  const read = useResource<ClusterWire>("/api/v1/cluster", EVERY_MS);
  return (
    <Panel title={t`Cluster`}>
      <Show loaded={read.state.value} what={t`cluster`} onRetry={() => void read.refresh()}>
        {({ name = "", leading = false, brains = [], faults = [], lacks = [], orders }) => (
          <>
            {faults.map(({ kind, brain, found, remedy }) => (
              <Callout key={`${kind} ${brain}`} tone={kind === "split" ? "danger" : "warn"} title={said(found)}>
                {said(remedy)}
              </Callout>
            ))}
            <DataTable label={t`Other brains`} columns={COLUMNS} rows={brains} rowKey={(brain) => brain.name} />
            <Facts
              facts={[
                [t`This brain`, leading ? t`${name}, which notifies` : name],
                [t`Orders in force`, String(orders?.in_force ?? 0)],
                [t`Orders waiting for room`, String(orders?.waiting ?? 0)],
                ...(lacks.length === 0
                  ? []
                  : ([[t`Without etcd`, lacks.map((lack) => LACK_NAMES[lack]).join("; ")]] as const)),
              ]}
            />
          </>
        )}
      </Show>
    </Panel>
  );
}
