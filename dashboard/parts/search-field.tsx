/** A field whose value is asked of the service: not at every key, and not while it cannot be right. */
import { useEffect, useRef, useState } from "preact/hooks";
import { TextField } from "./field.tsx";

export interface SearchFieldProps {
  readonly label: string;
  /** What is looked for now. */
  readonly value: string;
  readonly onSearch: (value: string) => void;
  readonly placeholder?: string;
  /** What is wrong with it; null: it can be asked for. */
  readonly faultOf?: (value: string) => string | null;
}

const PAUSE_MS = 250;

export function SearchField({ label, value, onSearch, placeholder, faultOf }: SearchFieldProps) {
  const [typed, setTyped] = useState(value);
  const asked = useRef(value);
  // It was changed from elsewhere: by a link, or the browser's history.
  useEffect(() => {
    if (value !== asked.current) setTyped(value);
    asked.current = value;
  }, [value]);
  const wanted = typed.trim();
  const fault = wanted === "" ? null : (faultOf?.(wanted) ?? null);
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
