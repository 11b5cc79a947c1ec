/** The filter that all panels of a view obey, kept in the page's address. */
import { computed } from "@preact/signals";
import { useState } from "preact/hooks";
import type { AttackWire } from "../../src/http/wire/attack.ts";
import { t } from "../language.ts";
import { place, setQuery } from "../router.ts";
import {
  completions,
  FIELD_NAMES,
  FILTER_FIELDS,
  type FilterField,
  filterText,
  parseFilter,
  TERMS_MAX,
  type Term,
  termOf,
  termText,
  termWords,
  valueWords,
  withTerm,
} from "../text/filter.ts";
import { Button } from "./button.tsx";
import { TextField } from "./field.tsx";

const text = computed(() => place.value.query.get("filter"));
/** The same object as long as it is the same filter. */
const terms = computed(() => parseFilter(text.value));

export function chosenFilter(): readonly Term[] {
  return terms.value;
}

/** Adds a term, or removes it. */
function toggleTerm(term: Term): void {
  setQuery({ filter: filterText(withTerm(terms.value, term)) }, { isStep: true });
}

interface FilterBarProps {
  /** Their values are offered. */
  readonly attacks: readonly AttackWire[];
}

export function FilterBar({ attacks }: FilterBarProps) {
  const [typed, setTyped] = useState("");
  const [fault, setFault] = useState<string | null>(null);
  const add = () => {
    const term = termOf(typed);
    if (typed.trim() === "") return;
    if (term === null) setFault(t`A field, = or !=, and a value; fields are ${FILTER_FIELDS.join(", ")}.`);
    else if (terms.value.length >= TERMS_MAX) setFault(t`At most ${TERMS_MAX}: remove one first.`);
    else {
      setTyped("");
      toggleTerm(term);
    }
  };
  return (
    <div class="filters">
      <form
        class="filters"
        onSubmit={(event) => {
          event.preventDefault();
          add();
        }}
      >
        <TextField
          label={t`Filter`}
          type="search"
          value={typed}
          onInput={(next) => {
            setTyped(next);
            setFault(null);
          }}
          placeholder={t`hostgroup=web, country!=DE`}
          fault={fault}
          offered={completions(attacks, typed)}
        />
        <Button type="submit">{t`Filter`}</Button>
      </form>
      {terms.value.map((term) => (
        <Button
          key={termText(term)}
          look="quiet"
          label={t`Remove the filter ${termWords(term)}`}
          onClick={() => toggleTerm(term)}
        >
          {termWords(term)} ×
        </Button>
      ))}
    </div>
  );
}

interface FilterableProps {
  readonly field: FilterField;
  readonly value: string;
}

/** A value, and beside it while it is pointed at or has the focus, the buttons that filter by it. */
export function Filterable({ field, value }: FilterableProps) {
  const words = valueWords(field, value);
  const button = (isExcluded: boolean) => {
    const term = { field, value, isExcluded };
    return (
      <button
        type="button"
        aria-label={`${isExcluded ? t`Without` : t`Only`} ${FIELD_NAMES[field]}: ${words}`}
        title={termText(term)}
        onClick={() => toggleTerm(term)}
      >
        {isExcluded ? "≠" : "="}
      </button>
    );
  };
  return (
    <span class="filterable">
      {words}
      <span class="filterable-buttons">
        {button(false)}
        {button(true)}
      </span>
    </span>
  );
}

/** Says which of the filter a panel cannot obey, since what it shows is not kept by these fields. */
export function NotApplied({ terms: ignored }: { readonly terms: readonly Term[] }) {
  if (ignored.length === 0) return null;
  return (
    <p
      class="muted"
      role="note"
    >{t`These rates are not kept so: ${ignored.map(termWords).join(", ")} only filters the attacks here.`}</p>
  );
}
