/** The active bans on the overview, as many as fit. */
import type { AttackWire } from "../../../src/http/wire/attack.ts";
import type { BanWire } from "../../../src/http/wire/ban.ts";
import { attackOfBan } from "../../api/attack-of-ban.ts";
import { serviceNow } from "../../api/contact.ts";
import { bans } from "../../api/live.ts";
import { banKey } from "../../api/tables.ts";
import { t } from "../../language.ts";
import { Badge } from "../../parts/badge.tsx";
import { UnbanButton } from "../../parts/ban-actions.tsx";
import { BanEnds } from "../../parts/ban-end.tsx";
import { Empty } from "../../parts/callout.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Show } from "../../parts/show.tsx";
import { linkTo } from "../../router.ts";
import { banMethodText, routeWord, wasInForce } from "../../text/bans.ts";
import { bansKept, type Term } from "../../text/filter.ts";
import { scaled } from "../../text/format/numbers.ts";
import { FIRST_RANGE, type Range, rangeSpan, titleRange } from "../../text/format/ranges.ts";
import { counted } from "../../text/format/words.ts";

const ROWS_MAX = 10;

export const BAN_COLUMNS: readonly Column<BanWire>[] = [
  { key: "prefix", title: t`Address`, cell: ({ prefix }) => prefix.replace(/\/(32|128)$/, "") },
  { key: "method", title: t`Method`, cell: banMethodText, width: "medium" },
  { key: "state", title: t`Route`, cell: (ban) => <RouteState ban={ban} /> },
  {
    key: "dropped",
    title: t`Dropped here`,
    cell: (ban) => {
      // In dry run it drops nothing, whatever other measures drop of its attack.
      const packets = ban.dry_run ? undefined : (attackOfBan(ban)?.volume?.dropped_packets ?? ban.dropped_packets);
      return packets === undefined ? "–" : t`${scaled(packets)} packets`;
    },
    isNumber: true,
    width: "wide",
  },
  { key: "ends", title: t`Ends`, cell: (ban) => <BanEnds ban={ban} isShort />, isNumber: true, width: "medium" },
  { key: "act", title: t`Actions`, isTitleUnseen: true, cell: (ban) => <UnbanButton ban={ban} /> },
];

interface BansPanelProps {
  readonly range: Range;
  readonly filter: readonly Term[];
  /** The attacks that bans may be for. */
  readonly attacks: readonly AttackWire[];
}

/** The bans in force now; for an earlier range those that were, as far as the list of bans still has them. */
export function BansPanel({ range, filter, attacks }: BansPanelProps) {
  const isNow = range === FIRST_RANGE;
  const title = isNow ? t`Bans in force` : t`Bans ${titleRange(range)}`;
  return (
    <Panel title={title} isWide>
      <Show loaded={bans.value} what={t`bans`}>
        {(all) => {
          const span = rangeSpan(range, serviceNow());
          const ofRange = all.filter((ban) => (isNow ? ban.state === "active" : wasInForce(ban, span)));
          const active = bansKept(filter, ofRange, attacks);
          if (active.length === 0) {
            return ofRange.length > 0 ? (
              <Empty title={t`No ban matches the filter`}>{t`${counted(ofRange.length, "ban")} in all.`}</Empty>
            ) : (
              <Empty title={isNow ? t`No ban in force` : t`No ban in this range`}>
                {isNow ? t`Bans come with attacks, or by hand.` : t`Older ones are in the audit trail.`}
              </Empty>
            );
          }
          const shown = active.toSorted((a, b) => (a.started_at < b.started_at ? 1 : -1)).slice(0, ROWS_MAX);
          return (
            <>
              <DataTable
                label={isNow ? t`Bans in force` : t`Bans in this range`}
                columns={BAN_COLUMNS}
                rows={shown}
                rowKey={banKey}
              />
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
