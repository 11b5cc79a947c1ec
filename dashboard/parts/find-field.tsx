/** The search over the rows of a list, which the address of the page keeps. */

import { t } from "../language.ts";
import { place, setQuery } from "../router.ts";
import { TextField } from "./field.tsx";

export function searched(): string {
  return place.value.query.get("q") ?? "";
}

export function FindField({ placeholder }: { readonly placeholder: string }) {
  return (
    <TextField
      label={t`Find`}
      type="search"
      value={searched()}
      onInput={(q) => setQuery({ q })}
      placeholder={placeholder}
    />
  );
}
