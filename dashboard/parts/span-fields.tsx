/**
 * The choice of a time range of the history, and of an address. Kept in the page's address. What is wrong is said at the
 * field, and to the caller, which must not show rows of another filter meanwhile.
 */
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { serviceNow } from "../api/contact.ts";
import { t } from "../language.ts";
import { setQuery } from "../router.ts";
import { looksLikeAddress } from "../text/format/address.ts";
import { chosenSpan, RANGES, type RangeName } from "../text/format/ranges.ts";
import { spanFault, type TimeSpan } from "../text/time-span.ts";
import { Segments } from "./field.tsx";
import { SearchField } from "./search-field.tsx";
import { TimeField } from "./time-field.tsx";

type SpanName = RangeName | "own";

export function spanOf(query: URLSearchParams): TimeSpan {
  const name = query.get("range");
  const seconds = RANGES.find(([span]) => span === name)?.[2] ?? RANGES[0][2];
  if (name === "own") return { kind: "between", from: query.get("from"), to: query.get("to") };
  // As the views with charts have it.
  const chosen = chosenSpan(query.get("from"), query.get("to"));
  return chosen === null
    ? { kind: "last", seconds }
    : { kind: "between", from: timeOf(chosen.from), to: timeOf(chosen.to) };
}

/** RFC 3339. */
export function timeOf(seconds: number): string {
  return new Date(seconds * 1000).toISOString();
}

/** The path of the last range that was right: a wrong one is not sent. */
export function useRightPath(path: string, span: TimeSpan): string {
  const kept = useRef(path);
  if (spanFault(span, serviceNow()) === null) kept.current = path;
  return kept.current;
}

interface SpanFieldsProps {
  readonly span: TimeSpan;
  readonly onWrong: (isWrong: boolean) => void;
  /** Other filters, beside the choice of the range. */
  readonly children: ComponentChildren;
}

export function SpanFields({ span, onWrong, children }: SpanFieldsProps) {
  const [odd, setOdd] = useState<ReadonlySet<string>>(new Set());
  const name: SpanName =
    span.kind === "between" ? "own" : (RANGES.find(([, , seconds]) => seconds === span.seconds)?.[0] ?? "1h");
  const fault = spanFault(span, serviceNow());
  const isWrong = span.kind === "between" && (fault !== null || odd.size > 0);
  useEffect(() => onWrong(isWrong), [isWrong]);
  const setOddOf = (label: string) => (isOdd: boolean) => {
    if (odd.has(label) === isOdd) return;
    const next = new Set(odd);
    if (isOdd) next.add(label);
    else next.delete(label);
    setOdd(next);
  };
  const choose = (chosen: SpanName) => {
    const from = span.kind === "last" ? new Date(serviceNow() - span.seconds * 1000).toISOString() : span.from;
    setOdd(new Set());
    const cleared = { to: null, to_id: null };
    setQuery(chosen === "own" ? { range: "own", from } : { range: chosen, from: null, ...cleared });
  };
  return (
    <>
      <Segments
        label={t`Time`}
        value={name}
        options={[...RANGES.map(([key, text]) => [key, text] as const), ["own", t`From – to`] as const]}
        onChange={choose}
      />
      {children}
      {span.kind === "between" && (
        <div class="filters">
          <TimeField
            label={t`From`}
            time={span.from}
            fault={span.to === null ? fault : null}
            onChange={(from) => setQuery({ range: "own", from, to: span.to })}
            onOdd={setOddOf(t`From`)}
          />
          <TimeField
            label={t`To`}
            time={span.to}
            fault={span.to === null ? null : fault}
            onChange={(to) => setQuery({ range: "own", from: span.from, to, to_id: null })}
            onOdd={setOddOf(t`To`)}
          />
          <p class="muted">{t`In ${Intl.DateTimeFormat().resolvedOptions().timeZone} time. Without an end the range ends now; 31 days at most.`}</p>
        </div>
      )}
    </>
  );
}

interface AddressFilterProps {
  readonly target: string;
  readonly onWrong: (isWrong: boolean) => void;
}

/** Sent after a pause in typing, when the address is complete. */
export function AddressFilter({ target, onWrong }: AddressFilterProps) {
  return (
    <SearchField
      label={t`Address`}
      value={target}
      onSearch={(wanted) => setQuery({ target: wanted, to_id: null })}
      placeholder="203.0.113.7"
      faultOf={(text) => (looksLikeAddress(text) ? null : t`A complete address.`)}
      onWrong={onWrong}
    />
  );
}
