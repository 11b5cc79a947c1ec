/** The filters of the audit trail: time range, action and address. Kept in the page's address. */
import { useEffect, useState } from "preact/hooks";
import { serviceNow } from "../../api/contact.ts";
import { Button } from "../../parts/button.tsx";
import { ChoiceField, Segments, TextField } from "../../parts/field.tsx";
import { setQuery } from "../../router.ts";
import { AUDIT_ACTIONS, type AuditFilters, actionOf, fromLocalText, localText } from "../../text/audit.ts";
import { looksLikeAddress } from "../../text/format/address.ts";

const SPANS = [
  ["1h", "1 h", 3600],
  ["24h", "24 h", 86_400],
  ["7d", "7 d", 7 * 86_400],
  ["30d", "30 d", 30 * 86_400],
] as const;
type SpanName = (typeof SPANS)[number][0] | "own";

export function filtersOf(query: URLSearchParams): AuditFilters {
  const name = query.get("range");
  const seconds = SPANS.find(([span]) => span === name)?.[2] ?? SPANS[0][2];
  const target = query.get("target") ?? "";
  return {
    action: actionOf(query.get("action")),
    target: target === "" ? null : target,
    span:
      name === "own" ? { kind: "between", from: query.get("from"), to: query.get("to") } : { kind: "last", seconds },
  };
}

export function AuditFilterFields({ filters }: { readonly filters: AuditFilters }) {
  const { action, span } = filters;
  const name: SpanName =
    span.kind === "between" ? "own" : (SPANS.find(([, , seconds]) => seconds === span.seconds)?.[0] ?? "1h");
  const choose = (chosen: SpanName) => {
    const from = span.kind === "last" ? new Date(serviceNow() - span.seconds * 1000).toISOString() : span.from;
    setQuery(chosen === "own" ? { range: "own", from } : { range: chosen, from: null, to: null });
  };
  return (
    <>
      <div class="filters">
        <Segments
          label="Time"
          value={name}
          options={[...SPANS.map(([key, text]) => [key, text] as const), ["own", "From – to"] as const]}
          onChange={choose}
        />
        <ChoiceField
          label="Action"
          value={action ?? ""}
          options={[["", "All"], ...Object.entries(AUDIT_ACTIONS)]}
          onChange={(chosen) => setQuery({ action: chosen })}
        />
        <TargetField key={filters.target} target={filters.target ?? ""} />
      </div>
      {span.kind === "between" && (
        <div class="filters">
          <TimeField label="From" time={span.from} onChange={(from) => setQuery({ from })} />
          <TimeField label="To" time={span.to} onChange={(to) => setQuery({ to })} />
          <p class="muted">
            In {Intl.DateTimeFormat().resolvedOptions().timeZone} time. Without an end the range ends now; 31 days at
            most.
          </p>
        </div>
      )}
    </>
  );
}

/** Sent when the address is complete. */
function TargetField({ target }: { readonly target: string }) {
  const [typed, setTyped] = useState(target);
  const wanted = typed.trim();
  const isOdd = wanted !== "" && !looksLikeAddress(wanted);
  return (
    <form
      class="filters"
      onSubmit={(event) => {
        event.preventDefault();
        if (!isOdd) setQuery({ target: wanted });
      }}
    >
      <TextField
        label="Address"
        type="search"
        value={typed}
        onInput={(text) => {
          setTyped(text);
          if (text.trim() === "") setQuery({ target: null });
        }}
        placeholder="203.0.113.7"
        fault={isOdd ? "A complete address." : null}
      />
      <Button type="submit">Find</Button>
    </form>
  );
}

interface TimeFieldProps {
  readonly label: string;
  /** RFC 3339. */
  readonly time: string | null;
  readonly onChange: (time: string | null) => void;
}

/** Not the browser's own input, which shows twelve hours in some languages. */
function TimeField({ label, time, onChange }: TimeFieldProps) {
  const ms = Date.parse(time ?? "");
  const given = Number.isNaN(ms) ? "" : localText(ms);
  const [typed, setTyped] = useState(given);
  // The value was changed from elsewhere.
  useEffect(() => {
    if (fromLocalText(typed) !== time) setTyped(given);
  }, [time]);
  const isOdd = typed.trim() !== "" && fromLocalText(typed) === null;
  return (
    <TextField
      label={label}
      value={typed}
      onInput={(text) => {
        setTyped(text);
        const changed = fromLocalText(text);
        if (changed !== null || text.trim() === "") onChange(changed);
      }}
      placeholder="2026-03-01 04:30"
      fault={isOdd ? "Like 2026-03-01 04:30." : null}
    />
  );
}
