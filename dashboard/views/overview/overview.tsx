/** The attacks, what is done about them, and whether it works, on one screen. */
import { useMemo } from "preact/hooks";
import { serviceNow } from "../../api/contact.ts";
import { attacks, bans } from "../../api/live.ts";
import { groupRates, status, wholeStatus } from "../../api/running.ts";
import { isUnscoped } from "../../api/session.ts";
import { BanButton } from "../../parts/ban-actions.tsx";
import { Button } from "../../parts/button.tsx";
import { Empty } from "../../parts/callout.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Show } from "../../parts/show.tsx";
import { linkTo, place, setQuery } from "../../router.ts";
import { chosenSpan, rangeSpan, type Span, spanQuery, spanText } from "../../text/format/ranges.ts";
import { counted } from "../../text/format/words.ts";
import { INCIDENTS_FROM } from "../../text/incidents.ts";
import { byUrgency } from "../../text/mitigation.ts";
import { shifted, zoomed } from "../../text/zoom.ts";
import { AttackCard } from "../attacks/attack-card.tsx";
import { BansPanel } from "../bans/bans-panel.tsx";
import { AttackRows } from "./attack-rows.tsx";
import { BgpPanel } from "./bgp-panel.tsx";
import { BusiestPanel } from "./busiest-panel.tsx";
import { CapturePanel } from "./capture-panel.tsx";
import { DroppingPanel } from "./dropping-panel.tsx";
import { IncidentsNow } from "./incidents-now.tsx";
import { SituationLine, useSought } from "./situation-line.tsx";
import { TrafficNow, useTotalHistory } from "./traffic-now.tsx";

/** More attacks are rows, so that those below the first ones are seen too. */
const CARDS_MAX = 3;

/** The history answers at most 31 days at once. */
const RANGE_SECONDS_MAX = 30 * 86_400;

export function Overview() {
  const { query } = place.value;
  const [from, to] = [query.get("from"), query.get("to")];
  const chosen = useMemo(() => chosenSpan(from, to), [from, to]);
  const history = useTotalHistory(chosen);
  useSought(wholeStatus() !== null);
  return (
    <div class="overview">
      <SituationLine />
      <AttacksNow />
      <Panel
        title={chosen === null ? "Traffic in the last hour" : `Traffic from ${spanText(chosen)}`}
        isWide
        actions={
          <RangeSteps chosen={chosen} isStored={history.incoming.kind === "ready" && history.incoming.data.available} />
        }
      >
        <Show loaded={groupRates.state.value} what="rates" onRetry={() => void groupRates.refresh()}>
          {({ available }) => (available ? <TrafficNow history={history} chosen={chosen} /> : <NothingCaptured />)}
        </Show>
      </Panel>
      {isCaptured() && <BusiestPanel />}
      <BansPanel />
      {isUnscoped() && (
        <Show loaded={status.state.value} what="state of BGP and capture" onRetry={() => void status.refresh()}>
          {() => {
            const whole = wholeStatus();
            return (
              whole !== null && (
                <div class="pair panel-wide">
                  <div id="panel-bgp">
                    <BgpPanel bgp={whole.bgp} />
                  </div>
                  <div id="panel-capture">
                    <CapturePanel capture={whole.capture} />
                  </div>
                  {whole.dataplane !== undefined && <DroppingPanel dataplane={whole.dataplane} />}
                </div>
              )
            );
          }}
        </Show>
      )}
    </div>
  );
}

interface RangeStepsProps {
  /** null: the last hour. */
  readonly chosen: Span | null;
  readonly isStored: boolean;
}

/** The range of all charts, for those who do not drag. */
function RangeSteps({ chosen, isStored }: RangeStepsProps) {
  if (!isStored) return null;
  const now = serviceNow() / 1000;
  const shown = chosen ?? rangeSpan("1h", serviceNow());
  const go = (span: Span | null) => setQuery(span === null ? { from: null, to: null } : spanQuery(span));
  const whole = { from: now - RANGE_SECONDS_MAX, to: now };
  return (
    <div class="choices">
      <Button onClick={() => go(shifted(shown, -0.5, whole))}>Earlier</Button>
      <Button isDisabled={chosen === null} onClick={() => go(shifted(shown, 0.5, whole))}>
        Later
      </Button>
      <Button onClick={() => go(zoomed({ shown, whole, at: null, factor: 0.5 }))}>Zoom in</Button>
      <Button onClick={() => go(zoomed({ shown, whole, at: null, factor: 2 }) ?? whole)}>Zoom out</Button>
      {chosen !== null && <Button onClick={() => go(null)}>Last hour</Button>}
    </div>
  );
}

function isCaptured(): boolean {
  const { value } = groupRates.state;
  return value.kind === "ready" && value.data.available;
}

function AttacksNow() {
  return (
    <Panel title="Attacks in progress" isWide actions={<BanButton />}>
      <Show loaded={attacks.value} what="attacks">
        {({ active, recent }) => {
          if (active.length === 0) return <Calm recent={recent.length} />;
          const held = bans.value.kind === "ready" ? bans.value.data : [];
          const urgent = active.toSorted(byUrgency);
          if (urgent.length >= INCIDENTS_FROM) return <IncidentsNow attacks={urgent} bans={held} />;
          if (urgent.length > CARDS_MAX) return <AttackRows attacks={urgent} bans={held} />;
          return (
            <ul class="cards">
              {urgent.map((attack) => (
                <AttackCard key={attack.id} attack={attack} bans={held} />
              ))}
            </ul>
          );
        }}
      </Show>
    </Panel>
  );
}

function Calm({ recent }: { readonly recent: number }) {
  return (
    <Empty title="No attack now">
      {recent === 0 ? (
        "There was none since Floodwall started to record attacks."
      ) : (
        <a href={linkTo(["attacks"], { which: "recent" })}>{counted(recent, "attack")} before</a>
      )}
    </Empty>
  );
}

function NothingCaptured() {
  return (
    <Empty title="Nothing is captured">
      Floodwall runs as a control plane only, and detects nothing by itself. Name an interface in{" "}
      <code>capture.interfaces</code> and restart it.
    </Empty>
  );
}
