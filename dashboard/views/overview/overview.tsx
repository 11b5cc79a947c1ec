/** The attacks, what is done about them, and whether it works, on one screen. */
import { attacks, bans } from "../../api/live.ts";
import { groupRates, status, wholeStatus } from "../../api/running.ts";
import { isUnscoped } from "../../api/session.ts";
import { BanButton } from "../../parts/ban-actions.tsx";
import { Empty } from "../../parts/callout.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Show } from "../../parts/show.tsx";
import { linkTo } from "../../router.ts";
import { counted } from "../../text/format/words.ts";
import { byUrgency } from "../../text/mitigation.ts";
import { AttackCard } from "../attacks/attack-card.tsx";
import { BansPanel } from "../bans/bans-panel.tsx";
import { BgpPanel } from "./bgp-panel.tsx";
import { CapturePanel } from "./capture-panel.tsx";
import { DroppingPanel } from "./dropping-panel.tsx";
import { TrafficNow, useTotalHistory } from "./traffic-now.tsx";

/** More would hide the most important ones; the list of attacks shows all. */
const CARDS_MAX = 12;

export function Overview() {
  const history = useTotalHistory();
  return (
    <div class="overview">
      <AttacksNow />
      <Panel title="Traffic in the last hour" isWide>
        <Show loaded={groupRates.state.value} what="rates" onRetry={() => void groupRates.refresh()}>
          {({ available }) => (available ? <TrafficNow history={history} /> : <NothingCaptured />)}
        </Show>
      </Panel>
      <BansPanel />
      {isUnscoped() && (
        <Show loaded={status.state.value} what="state of BGP and capture" onRetry={() => void status.refresh()}>
          {() => {
            const whole = wholeStatus();
            return (
              whole !== null && (
                <div class="pair panel-wide">
                  <BgpPanel bgp={whole.bgp} />
                  <CapturePanel capture={whole.capture} />
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

function AttacksNow() {
  return (
    <Panel title="Attacks in progress" isWide actions={<BanButton />}>
      <Show loaded={attacks.value} what="attacks">
        {({ active, recent }) => {
          if (active.length === 0) return <Calm recent={recent.length} />;
          const held = bans.value.kind === "ready" ? bans.value.data : [];
          const shown = active.toSorted(byUrgency).slice(0, CARDS_MAX);
          return (
            <>
              <ul class="cards">
                {shown.map((attack) => (
                  <AttackCard key={attack.id} attack={attack} bans={held} />
                ))}
              </ul>
              {active.length > shown.length && (
                <p>
                  <a href={linkTo(["attacks"])}>{counted(active.length - shown.length, "more attack")}, less urgent</a>
                </p>
              )}
            </>
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
        <a href={linkTo(["attacks"])}>{counted(recent, "attack")} before</a>
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
