/** The situation in one line, each part with a link to the panel or view that explains it. */
import { useEffect } from "preact/hooks";
import { silentSinceMs } from "../../api/contact.ts";
import { attacks, bans } from "../../api/live.ts";
import { status, wholeStatus } from "../../api/running.ts";
import { t } from "../../language.ts";
import { linkTo, place } from "../../router.ts";
import { zonedTime } from "../../text/format/times.ts";
import { type SituationPart, situationParts } from "../../text/situation.ts";
import { highestLoss, useFlows } from "./capture-flows.ts";

export function useSituation(): SituationPart[] {
  const flows = useFlows(wholeStatus()?.capture);
  const held = bans.value.kind === "ready" ? bans.value.data : [];
  return situationParts({
    status: status.state.value,
    attacks: attacks.value,
    bans: held,
    loss: highestLoss(flows),
    silent: silentSinceMs.value === null ? null : { since: zonedTime(silentSinceMs.value) },
  });
}

export function SituationLine() {
  const parts = useSituation();
  return (
    <nav class="situation panel-wide" aria-label={t`Situation`}>
      {parts.map(({ name, tone, text }) => (
        <a
          key={name}
          class={`badge badge-${tone}`}
          href={hrefOf(name)}
          onClick={() => requestAnimationFrame(() => seek(name))}
        >
          {text}
        </a>
      ))}
    </nav>
  );
}

/** Scrolls to the panel that the URL names, once it is there. */
export function useSought(isThere: boolean): void {
  const see = place.value.query.get("see");
  useEffect(() => {
    if (isThere && see !== null) seek(see);
  }, [see, isThere]);
}

function hrefOf(name: SituationPart["name"]): string {
  if (name === "mode") return linkTo(["settings"]);
  if (name === "attacks" || name === "telemetry") return linkTo([name]);
  return linkTo([], { ...Object.fromEntries(place.value.query), see: name });
}

function seek(name: string): void {
  document.getElementById(`panel-${name}`)?.scrollIntoView({ block: "start" });
}
