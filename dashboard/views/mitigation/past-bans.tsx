/** Bans that were refused, or that ended, and why. */
import { useMemo } from "preact/hooks";
import type { BanWire } from "../../../src/http/wire/ban.ts";
import { ENDED_BANS_KEPT } from "../../../src/limits.ts";
import { bans } from "../../api/live.ts";
import { banKey } from "../../api/tables.ts";
import { t, tx } from "../../language.ts";
import { Badge } from "../../parts/badge.tsx";
import { Empty } from "../../parts/callout.tsx";
import { momentColumn, numberColumn, textColumn } from "../../parts/columns.tsx";
import type { Column } from "../../parts/data-table.tsx";
import { SearchedTable } from "../../parts/searched-table.tsx";
import { Show } from "../../parts/show.tsx";
import { linkTo } from "../../router.ts";
import { banSubject, banText, banWhy } from "../../text/bans.ts";
import { wholeNumber } from "../../text/format/numbers.ts";
import { subjectOrder } from "../../text/format/subject-order.ts";
import { duration } from "../../text/format/times.ts";
import { methodName } from "../../text/format/words.ts";
import type { Sort } from "../../text/table-order.ts";

type PastState = "rejected" | "withdrawn";

const COMMON: readonly Column<BanWire>[] = [
  {
    key: "subject",
    title: t`Address`,
    cell: (ban) => <a href={linkTo(["mitigation", ban.prefix, ban.started_at])}>{banSubject(ban)}</a>,
    order: ({ prefix }) => subjectOrder(prefix),
  },
  {
    key: "method",
    title: t`Method`,
    cell: ({ method, node }) => (node === undefined ? methodName(method) : t`Divert to ${node}`),
    order: ({ method, node }) => `${method} ${node ?? ""}`,
    width: "medium",
  },
  textColumn(t`Why`, banWhy),
  textColumn(t`By`, ({ manual, operator }) => (manual ? (operator ?? t`an operator`) : t`detection`), "wide"),
  {
    key: "dry",
    title: t`Dry run`,
    cell: ({ dry_run: isDry }) => (isDry ? <Badge tone="warn">{t`dry run`}</Badge> : "–"),
    order: ({ dry_run: isDry }) => (isDry ? 1 : 0),
    width: "wide",
  },
];

const COLUMNS: Readonly<Record<PastState, readonly Column<BanWire>[]>> = {
  rejected: [...COMMON, momentColumn(t`Began`, ({ started_at: at }) => at, "medium")],
  withdrawn: [
    ...COMMON,
    momentColumn(t`Began`, ({ started_at: at }) => at, "wide"),
    numberColumn(t`Lasted`, lastedSeconds, { format: duration, width: "medium" }),
    momentColumn(t`Ended`, ({ withdrawn_at: at }) => at),
  ],
};

const FIRST_SORTS: Readonly<Record<PastState, Sort>> = {
  rejected: { key: t`Began`, isDescending: true },
  withdrawn: { key: t`Ended`, isDescending: true },
};

export function PastBans({ state }: { readonly state: PastState }) {
  return (
    <Show loaded={bans.value} what={t`bans`}>
      {(all) => <Listed all={all} state={state} />}
    </Show>
  );
}

function Listed({ all, state }: { readonly all: readonly BanWire[]; readonly state: PastState }) {
  const own = useMemo(() => all.filter((ban) => ban.state === state), [all, state]);
  if (own.length === 0) return <None state={state} />;
  return (
    <>
      <SearchedTable
        label={state === "rejected" ? t`Refused bans` : t`Ended bans`}
        what={t`ban`}
        placeholder={t`address, method, reason, manual`}
        isCounted
        columns={COLUMNS[state]}
        rows={own}
        rowKey={banKey}
        textOf={banText}
        firstSort={FIRST_SORTS[state]}
      />
      {state === "withdrawn" && own.length >= ENDED_BANS_KEPT && (
        <p class="muted">{tx`The last ${wholeNumber(ENDED_BANS_KEPT)} are kept here; older ones are in the ${<a href={linkTo(["audit"], { action: "ban" })}>{t`audit trail`}</a>}.`}</p>
      )}
    </>
  );
}

function None({ state }: { readonly state: PastState }) {
  return state === "rejected" ? (
    <Empty
      title={t`No ban was refused`}
    >{t`A refused ban, for example of a whitelisted address, is listed while its attack lasts.`}</Empty>
  ) : (
    <Empty title={t`No ban has ended yet`}>{t`Those that end are kept here, with the reason why.`}</Empty>
  );
}

function lastedSeconds({ started_at: from, withdrawn_at: to }: BanWire): number {
  return to === undefined ? 0 : (Date.parse(to) - Date.parse(from)) / 1000;
}
