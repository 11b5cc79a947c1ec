/** The prefixes that the scrubbing hook diverts, is to divert or to release: read only. */

import type { Static } from "@sinclair/typebox";
import type { ComponentChildren } from "preact";
import type { DiversionsWire } from "../../../src/http/wire/diversions.ts";
import { useResource } from "../../api/resource.ts";
import { t } from "../../language.ts";
import { Badge } from "../../parts/badge.tsx";
import { Empty } from "../../parts/callout.tsx";
import { momentColumn, sinceColumn, textColumn } from "../../parts/columns.tsx";
import type { Column } from "../../parts/data-table.tsx";
import { Panel } from "../../parts/panel.tsx";
import { SearchedTable } from "../../parts/searched-table.tsx";
import { Show } from "../../parts/show.tsx";
import { bansOf, type DiversionRow, diversionState, diversionText, lastError } from "../../text/diversions.ts";

const EVERY_MS = 5000;

interface DiversionsProps {
  readonly title: string;
  readonly choice: ComponentChildren;
}

export function Diversions({ title, choice }: DiversionsProps) {
  const read = useResource<Static<typeof DiversionsWire>>("/api/v1/diversions", EVERY_MS);
  return (
    <Panel title={title} actions={<div class="panel-actions">{choice}</div>}>
      <Show loaded={read.state.value} what={t`diversions`} onRetry={() => void read.refresh()}>
        {({ diversions }) => <Found diversions={diversions} />}
      </Show>
    </Panel>
  );
}

function Found({ diversions }: { readonly diversions: readonly DiversionRow[] }) {
  if (diversions.length === 0) {
    return (
      <Empty
        title={t`No diversions`}
      >{t`No prefix is diverted by a hook to the scrubbing center of a provider.`}</Empty>
    );
  }
  return (
    <SearchedTable<DiversionRow>
      label={t`Diversions`}
      columns={COLUMNS}
      rows={diversions}
      rowKey={({ prefix }) => prefix}
      textOf={diversionText}
      what={t`diversion`}
      placeholder={t`prefix, state, error`}
      isCounted
    />
  );
}

const COLUMNS: readonly Column<DiversionRow>[] = [
  textColumn(t`Prefix`, ({ prefix }) => prefix),
  {
    key: "state",
    title: t`State`,
    cell: (row) => {
      const { tone, text } = diversionState(row);
      return <Badge tone={tone}>{text}</Badge>;
    },
    order: (row) => diversionState(row).text,
  },
  sinceColumn(t`Since`, ({ since }) => since),
  textColumn(t`For the bans of`, bansOf, "medium"),
  momentColumn(t`Requested at`, ({ begun_at: at }) => at, "wide"),
  textColumn(t`Last error`, lastError, "medium"),
];
