/** The live region of the page: text for screen readers about attacks that begin and end. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { AttackWire } from "../src/http/wire/attack.ts";
import { attacks } from "./api/live.ts";
import { t } from "./language.ts";
import { metricName, rateOf } from "./text/format/numbers.ts";
import { counted } from "./text/format/words.ts";
import { attackSubject } from "./text/mitigation.ts";

/** More attacks at once are given as a number. */
const NAMED_MAX = 3;

export function LiveRegion() {
  const known = useRef<ReadonlySet<string> | null>(null);
  const [text, setText] = useState("");
  const { value } = attacks;
  useEffect(() => {
    if (value.kind !== "ready") return;
    const { active } = value.data;
    const before = known.current;
    known.current = new Set(active.map(({ id }) => id));
    // Attacks that were active when the page was opened are shown on the page already.
    if (before === null) return;
    const begun = active.filter(({ id }) => !before.has(id));
    const ended = [...before].filter((id) => !known.current?.has(id)).length;
    const parts = [begunText(begun), ended === 0 ? "" : t`${counted(ended, "attack")} ended.`].filter(
      (part) => part !== "",
    );
    if (parts.length > 0) setText(parts.join(" "));
  }, [value]);
  return (
    <div class="unseen" role="status" aria-live="assertive">
      {text}
    </div>
  );
}

function begunText(begun: readonly AttackWire[]): string {
  if (begun.length > NAMED_MAX) return t`${begun.length} new attacks.`;
  return begun
    .map(
      (attack) =>
        t`Attack on ${attackSubject(attack)}: ${rateOf(attack.metric, attack.rate)} of ${metricName(attack.metric)}.`,
    )
    .join(" ");
}
