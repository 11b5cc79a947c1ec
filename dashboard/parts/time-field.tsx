/** A time in the zone of the browser, typed in the form in which the page shows it. */
import { useEffect, useState } from "preact/hooks";
import { nearestTimeOfDay } from "../../src/schema/time-of-day.ts";
import { t } from "../language.ts";
import { fromLocalText, localText } from "../text/audit.ts";
import { TextField } from "./field.tsx";

interface TimeFieldProps {
  readonly label: string;
  /** RFC 3339. */
  readonly time: string | null;
  /** The fault of the range. */
  readonly fault: string | null;
  readonly onChange: (time: string | null) => void;
  /** It is to come: a time of day alone is the next such one. */
  readonly isAhead?: boolean;
  /** Whether the text is no time. */
  readonly onOdd?: (isOdd: boolean) => void;
}

/** Not the browser's own input, which shows twelve hours in some languages. */
export function TimeField({ label, time, fault, onChange, isAhead = false, onOdd }: TimeFieldProps) {
  const ms = Date.parse(time ?? "");
  const given = Number.isNaN(ms) ? "" : localText(ms);
  const [typed, setTyped] = useState(given);
  const parsed = (text: string) =>
    fromLocalText(text) ?? (isAhead ? (nearestTimeOfDay(text, Date.now(), 1)?.toISOString() ?? null) : null);
  // The value was changed from elsewhere.
  useEffect(() => {
    if (parsed(typed) !== time) setTyped(given);
  }, [time]);
  const isOdd = typed.trim() !== "" && parsed(typed) === null;
  useEffect(() => onOdd?.(isOdd), [isOdd]);
  return (
    <TextField
      label={label}
      value={typed}
      onInput={(text) => {
        setTyped(text);
        const changed = parsed(text);
        if (changed !== null || text.trim() === "") onChange(changed);
      }}
      placeholder="2026-03-01 04:30"
      {...(given !== "" && fromLocalText(typed) === null && !isOdd && { hint: given })}
      fault={isOdd ? t`Like 2026-03-01 04:30.` : fault}
    />
  );
}
