/** The holders of measures and their state: the BGP neighbors, and this machine's kernel filter. */
import type { StatusWire } from "../../../src/http/wire/status.ts";
import { names } from "../../api/known-names.ts";
import { wholeStatus } from "../../api/running.ts";
import { formFor, t, tx } from "../../language.ts";
import { Badge } from "../../parts/badge.tsx";
import { Callout, Empty } from "../../parts/callout.tsx";
import { Since } from "../../parts/moment.tsx";
import { isSessionUp, sessionWord } from "../../text/bgp-session.ts";
import { wholeNumber } from "../../text/format/numbers.ts";
import { counted } from "../../text/format/words.ts";
import { withName } from "../../text/known-names.ts";

/** A tenant sees none of it. */
export function Holders() {
  const whole = wholeStatus();
  if (whole === null) return null;
  const { bgp, dataplane } = whole;
  return (
    <>
      {dataplane?.state === "failed" && (
        <Callout
          tone="danger"
          title={t`The kernel filter is not in force`}
        >{t`${dataplane.error ?? t`See Floodwall's log.`} Floodwall tries again; until then this machine drops nothing.`}</Callout>
      )}
      <p class="badges">
        {bgp !== undefined && !bgp.connected && <Badge tone="danger">{t`BGP speaker does not answer`}</Badge>}
        {bgp?.neighbors.map((neighbor) => (
          <Neighbor key={neighbor.address} neighbor={neighbor} />
        ))}
        {dataplane !== undefined && <Room dataplane={dataplane} />}
      </p>
    </>
  );
}

type NeighborWire = NonNullable<StatusWire["bgp"]>["neighbors"][number];

function Neighbor({ neighbor }: { readonly neighbor: NeighborWire }) {
  const { state, since, advertised, kept_back: keptBack } = neighbor;
  const address = withName(names.value, neighbor.address);
  const { tone, text } = sessionWord(state);
  if (!isSessionUp(state)) {
    return (
      <Badge tone={tone}>
        {address}: {text}
        {since !== undefined && <>{tx` for ${<Since at={since} />}`}</>}
      </Badge>
    );
  }
  return (
    <Badge
      tone={keptBack === undefined ? "ok" : "warn"}
    >{tx`${address} has ${wholeNumber(advertised)} ${formFor(advertised, "route|routes")}${keptBack !== undefined && t`, ${counted(keptBack, "rule")} kept back`}`}</Badge>
  );
}

function Room({ dataplane }: { readonly dataplane: NonNullable<StatusWire["dataplane"]> }) {
  const { pairs, rules, max_dynamic_rules: most } = dataplane;
  if (most === undefined || pairs === undefined) return null;
  return (
    <span class="muted">{t`${wholeNumber(pairs + (rules ?? 0))} of ${wholeNumber(most)} rules of the kernel filter are taken.`}</span>
  );
}

export function NoDataplane() {
  return (
    <Empty
      title={t`This machine drops nothing: it has no data plane`}
    >{tx`To block sources, set ${<code>dataplane.enabled</code>} to ${<code>true</code>}, list the interfaces on which traffic arrives in ${<code>dataplane.interfaces</code>}, and restart Floodwall.`}</Empty>
  );
}
