/**
 * The choice of the time range that all panels of a view show: one of those back from now, two times, or a part of a
 * chart that was dragged over. Kept in the page's address, so that a link leads to the same range, and the way back to
 * the one before.
 */
import { computed } from "@preact/signals";
import { useState } from "preact/hooks";
import { serviceNow } from "../api/contact.ts";
import { t } from "../language.ts";
import { place, setQuery } from "../router.ts";
import {
  CHOSEN_SECONDS_MAX,
  FIRST_RANGE,
  RANGES,
  type Range,
  type RangeName,
  rangeOf,
  rangeSpan,
  type Span,
  spanQuery,
} from "../text/format/ranges.ts";
import { spanFault } from "../text/time-span.ts";
import { shifted, zoomed } from "../text/zoom.ts";
import { Button } from "./button.tsx";
import { Segments } from "./field.tsx";
import { timeOf } from "./span-fields.tsx";
import { TimeField } from "./time-field.tsx";

const OWN = "own";
const OPTIONS = [...RANGES.map(([name, text]) => [name, text] as const), [OWN, t`From – to`] as const];

const text = computed(() =>
  ["range", "from", "to"].map((key) => `${key}=${encodeURIComponent(place.value.query.get(key) ?? "")}`).join("&"),
);
/** The same object as long as it is the same range. */
const chosen = computed(() => rangeOf(new URLSearchParams(text.value)));

export function chosenRange(): Range {
  return chosen.value;
}

/** As a further step: the way back leads to the range before. */
export function chooseRange(range: Range): void {
  const query =
    typeof range === "string"
      ? { range: range === FIRST_RANGE ? null : range, from: null, to: null }
      : { range: null, ...spanQuery(range) };
  setQuery(query, { isStep: true });
}

export function RangeChoice() {
  const range = chosenRange();
  const isOwn = typeof range !== "string";
  const now = serviceNow();
  const shown = rangeSpan(range, now);
  const whole = { from: now / 1000 - CHOSEN_SECONDS_MAX, to: now / 1000 };
  return (
    <div class="choices">
      <Segments
        label={t`Range`}
        value={isOwn ? OWN : range}
        options={OPTIONS}
        onChange={(name: RangeName | typeof OWN) => chooseRange(name === OWN ? shown : name)}
      />
      {isOwn && <Between span={range} />}
      <Button onClick={() => chooseRange(shifted(shown, -0.5, whole))}>{t`Earlier`}</Button>
      <Button isDisabled={!isOwn} onClick={() => chooseRange(shifted(shown, 0.5, whole))}>{t`Later`}</Button>
      <Button
        onClick={() => chooseRange(zoomed({ shown, whole, at: null, factor: 0.5 }) ?? shown)}
      >{t`Zoom in`}</Button>
      <Button onClick={() => chooseRange(zoomed({ shown, whole, at: null, factor: 2 }) ?? whole)}>{t`Zoom out`}</Button>
    </div>
  );
}

/** For those who do not drag. A wrong time is not shown. */
function Between({ span }: { readonly span: Span }) {
  const [odd, setOdd] = useState<Partial<Record<"from" | "to", string>>>({});
  const take = (end: "from" | "to") => (time: string | null) => {
    if (time === null) return;
    const next = { ...span, [end]: Date.parse(time) / 1000 };
    const fault = spanFault({ kind: "between", from: timeOf(next.from), to: timeOf(next.to) }, serviceNow());
    setOdd(fault === null ? {} : { [end]: fault });
    if (fault === null) chooseRange(next);
  };
  return (
    <>
      <TimeField label={t`From`} time={timeOf(span.from)} fault={odd.from ?? null} onChange={take("from")} />
      <TimeField label={t`To`} time={timeOf(span.to)} fault={odd.to ?? null} onChange={take("to")} />
    </>
  );
}
