/** Inputs with their labels and hints. */
import { useId } from "preact/hooks";

export interface TextFieldProps {
  readonly label: string;
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly hint?: string;
  /** The fault of the value; null or absent: none. */
  readonly fault?: string | null;
  readonly type?: "text" | "password" | "search" | "number" | "datetime-local";
  readonly placeholder?: string;
  readonly isRequired?: boolean;
  readonly maxLength?: number;
  /** Values that the browser offers to complete what is typed. */
  readonly offered?: readonly string[];
  /** The HTML attribute: `off` for values that are not personal data. */
  readonly autocomplete?: "off" | "current-password";
}

export function TextField({ label, value, onInput, hint, fault, type = "text", ...rest }: TextFieldProps) {
  const id = useId();
  const describedBy = [hint === undefined ? null : `${id}-hint`, fault == null ? null : `${id}-fault`].filter(
    (part) => part !== null,
  );
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        {...typed(type)}
        value={value}
        onInput={(event) => onInput(event.currentTarget.value)}
        placeholder={rest.placeholder}
        required={rest.isRequired}
        maxLength={rest.maxLength}
        list={rest.offered === undefined ? undefined : `${id}-offered`}
        autocomplete={rest.autocomplete ?? "off"}
        spellcheck={false}
        autocapitalize="off"
        aria-invalid={fault == null ? undefined : true}
        aria-describedby={describedBy.length === 0 ? undefined : describedBy.join(" ")}
      />
      {rest.offered !== undefined && (
        <datalist id={`${id}-offered`}>
          {rest.offered.map((value) => (
            <option key={value} value={value} />
          ))}
        </datalist>
      )}
      {hint !== undefined && (
        <small id={`${id}-hint`} class="hint">
          {hint}
        </small>
      )}
      {fault != null && (
        <small id={`${id}-fault`} class="fault" role="alert">
          {fault}
        </small>
      )}
    </div>
  );
}

interface ChoiceFieldProps<Value extends string> {
  readonly label: string;
  readonly value: Value;
  readonly options: readonly (readonly [Value, string])[];
  readonly onChange: (value: Value) => void;
}

export function ChoiceField<Value extends string>({ label, value, options, onChange }: ChoiceFieldProps<Value>) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select id={id} value={value} onChange={(event) => onChange(event.currentTarget.value as Value)}>
        {options.map(([key, text]) => (
          <option key={key} value={key}>
            {text}
          </option>
        ))}
      </select>
    </div>
  );
}

/** A choice between a few values. */
export function Segments<Value extends string>({ label, value, options, onChange }: ChoiceFieldProps<Value>) {
  return (
    <fieldset class="segments">
      <legend class="unseen">{label}</legend>
      {options.map(([key, text]) => (
        <button key={key} type="button" aria-pressed={key === value} onClick={() => onChange(key)}>
          {text}
        </button>
      ))}
    </fieldset>
  );
}

/**
 * The library's types allow each input type other roles, and so accept no union of input types; the roles of these are
 * the same.
 */
function typed(type: NonNullable<TextFieldProps["type"]>): { readonly type: "text" } {
  return { type: type as "text" };
}
