/** The choice of a time range. Kept in the page's address, so that a link leads to the same range. */
import { place, setQuery } from "../router.ts";
import { FIRST_RANGE, RANGES, type RangeName, rangeName } from "../text/format/ranges.ts";
import { Segments } from "./field.tsx";

const OPTIONS = RANGES.map(([name, text]) => [name, text] as const);

export function chosenRange(): RangeName {
  return rangeName(place.value.query.get("range"));
}

export function RangeChoice() {
  return (
    <Segments
      label="Range"
      value={chosenRange()}
      options={OPTIONS}
      onChange={(range) => setQuery({ range: range === FIRST_RANGE ? null : range })}
    />
  );
}
