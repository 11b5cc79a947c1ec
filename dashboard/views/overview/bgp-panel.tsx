/** The BGP sessions: without an established session, bans reach no router. */
import type { StatusWire } from "../../../src/http/wire/status.ts";
import { t, tx } from "../../language.ts";
import { Badge } from "../../parts/badge.tsx";
import { Callout, Empty } from "../../parts/callout.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { Since } from "../../parts/moment.tsx";
import { Panel } from "../../parts/panel.tsx";
import { isSessionUp, sessionWord } from "../../text/bgp-session.ts";

type Bgp = NonNullable<StatusWire["bgp"]>;
type Neighbor = Bgp["neighbors"][number];

const COLUMNS: readonly Column<Neighbor>[] = [
  { key: "address", title: t`Neighbor`, cell: NeighborName },
  { key: "asn", title: "AS", cell: ({ remote_asn: asn }) => asn, isNumber: true, width: "medium" },
  {
    key: "state",
    title: t`Session`,
    cell: ({ state }) => {
      const { tone, text } = sessionWord(state);
      return <Badge tone={tone}>{text}</Badge>;
    },
  },
  { key: "routes", title: t`Routes`, cell: ({ advertised }) => advertised, isNumber: true },
  {
    key: "since",
    title: t`Duration`,
    cell: ({ since }) => (since === undefined ? "–" : <Since at={since} />),
    width: "medium",
  },
];

function NeighborName({ address, name, description }: Neighbor) {
  if (name === undefined && description === undefined) return <>{address}</>;
  return (
    <span title={description ?? address}>
      {name ?? address} {name !== undefined && <span class="muted from-medium">{address}</span>}
    </span>
  );
}

export function BgpPanel({ bgp }: { readonly bgp: Bgp | undefined }) {
  return (
    <Panel title={t`BGP sessions`}>
      {bgp === undefined ? (
        <Empty
          title={t`No announcer`}
        >{tx`Bans reach no router: there is no ${<code>bgp</code>} in the configuration.`}</Empty>
      ) : (
        <>
          {!bgp.connected && (
            <Callout tone="danger" title={t`The BGP speaker does not answer`}>
              {bgp.error ?? t`See whether gobgpd runs.`}
            </Callout>
          )}
          {bgp.connected && !bgp.neighbors.some(({ state }) => isSessionUp(state)) && (
            <Callout
              tone="danger"
              title={t`No session is established`}
            >{t`No router receives any ban. Check that this machine is configured as a neighbor on it, and that port 179 is open between us.`}</Callout>
          )}
          <DataTable label={t`BGP sessions`} columns={COLUMNS} rows={bgp.neighbors} rowKey={({ address }) => address} />
        </>
      )}
    </Panel>
  );
}
