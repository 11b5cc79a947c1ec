/** Reads out what begins and ends, for who does not look. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { AttackWire } from "../src/http/wire/attack.ts";
import { attacks } from "./api/live.ts";
import { attackSubject } from "./text/mitigation.ts";
import { metricName, rateOf } from "./text/numbers.ts";
import { counted } from "./text/words.ts";

/** More at once are told by their number. */
const NAMED_MAX = 3;

export function Announcer() {
  const known = useRef<ReadonlySet<string> | null>(null);
  const [text, setText] = useState("");
  const { value } = attacks;
  useEffect(() => {
    if (value.kind !== "ready") return;
    const { active } = value.data;
    const before = known.current;
    known.current = new Set(active.map(({ id }) => id));
    // What was there when the page was opened is on the page.
    if (before === null) return;
    const begun = active.filter(({ id }) => !before.has(id));
    const ended = [...before].filter((id) => !known.current?.has(id)).length;
    const told = [begunText(begun), ended === 0 ? "" : `${counted(ended, "attack")} over.`].filter(
      (part) => part !== "",
    );
    if (told.length > 0) setText(told.join(" "));
  }, [value]);
  return (
    <div class="unseen" role="status" aria-live="assertive">
      {text}
    </div>
  );
}

function begunText(begun: readonly AttackWire[]): string {
  if (begun.length > NAMED_MAX) return `${begun.length} new attacks.`;
  return begun
    .map(
      (attack) =>
        `Attack on ${attackSubject(attack)}: ${rateOf(attack.metric, attack.rate)} of ${metricName(attack.metric)}.`,
    )
    .join(" ");
}
