/** A search field whose value is sent to the service, after a pause in typing and only if it is valid. */
import { useEffect, useRef, useState } from "preact/hooks";
import { TextField } from "./field.tsx";

interface SearchFieldProps {
  readonly label: string;
  /** The current search text. */
  readonly value: string;
  readonly onSearch: (value: string) => void;
  readonly placeholder?: string;
  /** The fault of the text; null: it can be sent. */
  readonly faultOf?: (value: string) => string | null;
  /** Called when the text becomes wrong or right: rows of the text before must not stand for a wrong one. */
  readonly onWrong?: (isWrong: boolean) => void;
}

const PAUSE_MS = 250;

export function SearchField({ label, value, onSearch, placeholder, faultOf, onWrong }: SearchFieldProps) {
  const [typed, setTyped] = useState(value);
  const asked = useRef(value);
  // The value was changed by a link or the browser's history.
  useEffect(() => {
    if (value !== asked.current) setTyped(value);
    asked.current = value;
  }, [value]);
  const wanted = typed.trim();
  const fault = wanted === "" ? null : (faultOf?.(wanted) ?? null);
  useEffect(() => onWrong?.(fault !== null), [fault !== null]);
  useEffect(() => {
    if (fault !== null || wanted === asked.current) return;
    const timer = setTimeout(() => {
      asked.current = wanted;
      onSearch(wanted);
    }, PAUSE_MS);
    return () => clearTimeout(timer);
  }, [wanted, fault]);
  return (
    <TextField
      label={label}
      type="search"
      value={typed}
      onInput={setTyped}
      fault={fault}
      {...(placeholder === undefined ? {} : { placeholder })}
    />
  );
}
