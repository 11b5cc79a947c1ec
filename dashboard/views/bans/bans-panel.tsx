/** The active bans on the overview, as many as fit. */
import type { BanWire } from "../../../src/http/wire/ban.ts";
import { bans } from "../../api/live.ts";
import { banKey } from "../../api/tables.ts";
import { Badge } from "../../parts/badge.tsx";
import { UnbanButton } from "../../parts/ban-actions.tsx";
import { BanEnds } from "../../parts/ban-end.tsx";
import { Empty } from "../../parts/callout.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Show } from "../../parts/show.tsx";
import { linkTo } from "../../router.ts";
import { routeWord } from "../../text/bans.ts";
import { scaled } from "../../text/format/numbers.ts";
import { counted, methodName } from "../../text/format/words.ts";

const ROWS_MAX = 10;

export const BAN_COLUMNS: readonly Column<BanWire>[] = [
  { key: "prefix", title: "Address", cell: ({ prefix }) => prefix.replace(/\/(32|128)$/, "") },
  { key: "method", title: "Method", cell: ({ method }) => methodName(method), width: "medium" },
  { key: "state", title: "Route", cell: (ban) => <RouteState ban={ban} /> },
  {
    key: "dropped",
    title: "Dropped here",
    cell: ({ dropped_packets: packets }) => (packets === undefined ? "–" : `${scaled(packets)} packets`),
    isNumber: true,
    width: "wide",
  },
  { key: "ends", title: "Ends", cell: (ban) => <BanEnds ban={ban} isShort />, isNumber: true, width: "medium" },
  { key: "act", title: "Actions", isTitleUnseen: true, cell: (ban) => <UnbanButton ban={ban} /> },
];

export function BansPanel() {
  return (
    <Panel title="Bans in force" isWide>
      <Show loaded={bans.value} what="bans">
        {(all) => {
          const active = all.filter(({ state }) => state === "active");
          if (active.length === 0) {
            return <Empty title="No ban in force">Bans come with attacks, or by hand.</Empty>;
          }
          const shown = active.toSorted((a, b) => (a.started_at < b.started_at ? 1 : -1)).slice(0, ROWS_MAX);
          return (
            <>
              <DataTable label="Bans in force" columns={BAN_COLUMNS} rows={shown} rowKey={banKey} />
              {active.length > shown.length && (
                <p>
                  <a href={linkTo(["mitigation"])}>{counted(active.length - shown.length, "more ban")}</a>
                </p>
              )}
            </>
          );
        }}
      </Show>
    </Panel>
  );
}

/** Whether the routers have received the route. */
export function RouteState({ ban }: { readonly ban: BanWire }) {
  const { tone, text } = routeWord(ban);
  return <Badge tone={tone}>{text}</Badge>;
}
