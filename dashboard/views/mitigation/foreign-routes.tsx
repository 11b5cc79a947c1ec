/** Routes that others put into the BGP speaker beside the service: read only. */
import type { Static } from "@sinclair/typebox";
import type { ComponentChildren } from "preact";
import type { BgpRoutesWire } from "../../../src/http/wire/bgp-routes.ts";
import { useResource } from "../../api/resource.ts";
import { t } from "../../language.ts";
import { Empty } from "../../parts/callout.tsx";
import { textColumn } from "../../parts/columns.tsx";
import type { Column } from "../../parts/data-table.tsx";
import { Panel } from "../../parts/panel.tsx";
import { SearchedTable } from "../../parts/searched-table.tsx";
import { Show } from "../../parts/show.tsx";
import { actionOfForeign, familyName, foreignText, ownerOf } from "../../text/foreign-routes.ts";
import { wholeNumber } from "../../text/format/numbers.ts";

type Routes = Static<typeof BgpRoutesWire>;
type Row = Routes["routes"][number];

const EVERY_MS = 5000;

interface ForeignRoutesProps {
  readonly title: string;
  readonly choice: ComponentChildren;
}

export function ForeignRoutes({ title, choice }: ForeignRoutesProps) {
  const read = useResource<Routes>("/api/v1/bgp/routes", EVERY_MS);
  return (
    <Panel title={title} actions={<div class="panel-actions">{choice}</div>}>
      <Show loaded={read.state.value} what={t`routes of others`} onRetry={() => void read.refresh()}>
        {(found) => <Found found={found} />}
      </Show>
    </Panel>
  );
}

function Found({ found: { available: isKnown, routes, left_out: leftOut } }: { readonly found: Routes }) {
  if (!isKnown) return <Empty title={t`Not known`}>{t`There is no BGP speaker, or it does not answer.`}</Empty>;
  if (routes.length === 0) {
    return <Empty title={t`No routes of others`}>{t`All routes in the BGP speaker are of this service.`}</Empty>;
  }
  return (
    <>
      <p>{t`Floodwall leaves these routes alone: end them where they were announced.`}</p>
      <SearchedTable<Row>
        label={t`Routes of others`}
        columns={COLUMNS}
        rows={routes}
        rowKey={(row) => JSON.stringify(row)}
        textOf={foreignText}
        what={t`route`}
        placeholder={t`prefix, port, community`}
        isCounted
      />
      {leftOut !== undefined && <p class="muted">{t`${wholeNumber(leftOut)} more are not shown.`}</p>}
    </>
  );
}

const COLUMNS: readonly Column<Row>[] = [
  textColumn(t`Family`, familyName),
  textColumn(t`Route or match`, ({ route }) => route),
  textColumn(t`Action`, actionOfForeign),
  textColumn(t`Community`, ({ community = "" }) => community, "medium"),
  textColumn(t`Of`, ownerOf, "medium"),
];
