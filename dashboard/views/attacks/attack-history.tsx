/** The attacks that are kept in the history, by date and address: how large they were, who was attacked repeatedly, and a file of them. */

import { useMemo, useState } from "preact/hooks";
import type { AttackWire } from "../../../src/http/wire/attack.ts";
import { HISTORY_LIST_MAX } from "../../../src/limits.ts";
import { type AttackPages, useAttackPages } from "../../api/attack-pages.ts";
import { serviceNow } from "../../api/contact.ts";
import { t, tx } from "../../language.ts";
import { Button } from "../../parts/button.tsx";
import { Callout, Empty, Failed, Loading, StorageOff, WrongFilter } from "../../parts/callout.tsx";
import { saveCsv } from "../../parts/csv-file.ts";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { FindField, searched } from "../../parts/find-field.tsx";
import { AddressFilter, SpanFields, spanOf } from "../../parts/span-fields.tsx";
import { linkTo, place } from "../../router.ts";
import { auditTarget } from "../../text/attack-audit.ts";
import { attackCsv, victimCounts, victimsText } from "../../text/attack-records.ts";
import { auditPlace } from "../../text/audit-links.ts";
import { hasWords } from "../../text/bans.ts";
import { failureText } from "../../text/failure.ts";
import { wholeNumber } from "../../text/format/numbers.ts";
import { attackSubject } from "../../text/mitigation.ts";
import { rangeQuery, spanFault } from "../../text/time-span.ts";

const HOUR_MS = 3_600_000;

interface Row {
  readonly attack: AttackWire;
  readonly ban: undefined;
}

interface AttackHistoryProps {
  readonly columns: readonly Column<Row>[];
  /** The text by which a search finds an attack. */
  readonly textOf: (row: Row) => string;
}

export function AttackHistory(props: AttackHistoryProps) {
  const { query } = place.value;
  const span = spanOf(query);
  const target = query.get("target") ?? "";
  const toId = span.kind === "between" ? query.get("to_id") : null;
  const [isSpanWrong, setSpanWrong] = useState(false);
  const [isTargetWrong, setTargetWrong] = useState(false);
  // A wrong range is not sent, not even before its fields have said that it is wrong.
  const isWrong = isSpanWrong || isTargetWrong || spanFault(span, serviceNow()) !== null;
  // The range starts at the time when it was chosen.
  const path = useMemo(() => {
    const others = { ...(target === "" ? {} : { target }), ...(toId === null ? {} : { to_id: toId }) };
    const asked = rangeQuery(span, serviceNow(), others);
    const to = asked.get("to");
    const hourBefore = (to === null ? serviceNow() : Date.parse(to)) - HOUR_MS;
    if (!asked.has("from")) asked.set("from", new Date(hourBefore).toISOString());
    return `/api/v1/attacks/history?${asked}`;
  }, [JSON.stringify(span), target, toId]);
  const { pages, onMore } = useAttackPages(isWrong ? null : path);
  return (
    <>
      <div class="filters">
        <SpanFields span={span} onWrong={setSpanWrong}>
          <AddressFilter target={target} onWrong={setTargetWrong} />
        </SpanFields>
      </div>
      {isWrong ? <WrongFilter what={t`attacks`} /> : <Found {...props} pages={pages} onMore={onMore} />}
    </>
  );
}

interface FoundProps extends AttackHistoryProps {
  readonly pages: AttackPages;
  readonly onMore: (() => void) | null;
}

function Found({ pages, onMore, columns, textOf }: FoundProps) {
  const { attacks, isAvailable, state, failure } = pages;
  const search = searched();
  const counts = useMemo(() => victimCounts(attacks), [attacks]);
  const rows = useMemo(
    () => attacks.map((attack): Row => ({ attack, ban: undefined })).filter((row) => hasWords(textOf(row), search)),
    [attacks, search],
  );
  const all = useMemo(() => [...columns, ...recordColumns(counts)], [columns, counts]);
  if (!isAvailable) return <StorageOff what={t`history`} />;
  if (attacks.length === 0) {
    if (failure !== null) {
      return (
        <Failed what={t`attacks of the history`} failure={failure} {...(onMore !== null && { onRetry: onMore })} />
      );
    }
    if (state === "reading") return <Loading what={t`attacks of the history`} />;
    return (
      <Empty title={t`No attack ended in this time range`}>{t`Choose a longer one, or take the address away.`}</Empty>
    );
  }
  const isWhole = state === "whole";
  const found = rows.map(({ attack }) => attack);
  return (
    <>
      <Incomplete pages={pages} onMore={onMore} />
      <div class="filters">
        <FindField placeholder={t`address, kind, customer`} />
        <Button
          isDisabled={state === "reading"}
          onClick={() => saveCsv("attacks", attackCsv(found, isWhole ? null : attacks.length))}
        >{t`Export as CSV`}</Button>
        <p class="muted" role="status">
          {rows.length === attacks.length
            ? victimsText(counts)
            : t`${wholeNumber(rows.length)} found of ${victimsText(counts)}`}
          {state === "reading" ? t`; reading more …` : ""}
        </p>
      </div>
      {rows.length === 0 ? (
        <Empty title={t`No attack matches`}>{t`Make the search shorter.`}</Empty>
      ) : (
        <DataTable
          label={t`Attacks of the history`}
          columns={all}
          rows={rows}
          rowKey={({ attack }) => attack.id}
          firstSort={FIRST_SORT}
        />
      )}
    </>
  );
}

const FIRST_SORT = { key: t`Ended`, isDescending: true };

/** Attacks that are missing in the list, in its counts and in the file. */
function Incomplete({ pages: { attacks, state, failure }, onMore }: Pick<FoundProps, "pages" | "onMore">) {
  if (state !== "cut" && state !== "failed") return null;
  return (
    <Callout tone="warn" title={t`Cut: these are the newest ${wholeNumber(attacks.length)}`}>
      <p>{tx`${failure === null ? t`The range has older ones` : t`Older ones could not be read: ${failureText(failure)}`}. They are missing in the list, in its counts and in the file.${onMore === null && t` No more than ${wholeNumber(HISTORY_LIST_MAX)} are read: choose a shorter range.`}`}</p>
      {onMore !== null && <Button onClick={onMore}>{t`Older ones`}</Button>}
    </Callout>
  );
}

function recordColumns(counts: ReadonlyMap<string, number>): readonly Column<Row>[] {
  const countOf = ({ attack }: Row) => counts.get(attackSubject(attack)) ?? 1;
  return [
    {
      key: "repeated",
      title: t`Attacks on it`,
      cell: (row) => <Repeated attack={row.attack} count={countOf(row)} />,
      order: countOf,
      isNumber: true,
      width: "medium",
    },
    { key: "audit", title: t`Audit`, cell: ({ attack }) => <Orders attack={attack} />, width: "wide" },
  ];
}

/** All attacks on the victim in this range. */
function Repeated({ attack: { target }, count }: { readonly attack: AttackWire; readonly count: number }) {
  const { steps, query } = place.value;
  if (target === undefined || count === 1 || query.get("target") === target) return <>{wholeNumber(count)}</>;
  const { q: _, ...others } = Object.fromEntries(query);
  return (
    <a href={linkTo(steps, { ...others, target })} aria-label={t`${count} attacks on ${target}`}>
      {wholeNumber(count)}
    </a>
  );
}

function Orders({ attack }: { readonly attack: AttackWire }) {
  const target = auditTarget(attack);
  if (target === null) return <>–</>;
  const time = { target, from: attack.started_at, to: attack.ended_at };
  return (
    <a
      href={linkTo(["audit"], auditPlace(time, serviceNow()))}
      aria-label={t`Audit trail of ${target} at that time`}
    >{t`audit`}</a>
  );
}
