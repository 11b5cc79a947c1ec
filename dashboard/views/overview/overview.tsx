/** The attacks, what is done about them, and whether it works, on one screen. */
import { useMemo } from "preact/hooks";
import { useAttacksIn } from "../../api/attacks-in.ts";
import { attacks, bans } from "../../api/live.ts";
import { groupRates, status, wholeStatus } from "../../api/running.ts";
import { isUnscoped } from "../../api/session.ts";
import { t, tx } from "../../language.ts";
import { BanButton } from "../../parts/ban-actions.tsx";
import { Empty } from "../../parts/callout.tsx";
import { chosenFilter, FilterBar, NotApplied } from "../../parts/filter-bar.tsx";
import { Panel } from "../../parts/panel.tsx";
import { chosenRange, RangeChoice } from "../../parts/range-choice.tsx";
import { Show } from "../../parts/show.tsx";
import { linkTo } from "../../router.ts";
import { attacksKept, type Term, totalScope } from "../../text/filter.ts";
import { FIRST_RANGE, titleRange } from "../../text/format/ranges.ts";
import { counted } from "../../text/format/words.ts";
import { INCIDENTS_FROM } from "../../text/incidents.ts";
import { byUrgency } from "../../text/mitigation.ts";
import { AttackCard } from "../attacks/attack-card.tsx";
import { BansPanel } from "../bans/bans-panel.tsx";
import { AttackRows } from "./attack-rows.tsx";
import { AttacksInRange } from "./attacks-in-range.tsx";
import { BgpPanel } from "./bgp-panel.tsx";
import { BusiestPanel } from "./busiest-panel.tsx";
import { CapturePanel } from "./capture-panel.tsx";
import { ClusterPanel } from "./cluster-panel.tsx";
import { DroppingPanel } from "./dropping-panel.tsx";
import { IncidentsNow } from "./incidents-now.tsx";
import { SituationLine, useSought } from "./situation-line.tsx";
import { TrafficNow, useTotalHistory } from "./traffic-now.tsx";

/** More attacks are rows, so that those below the first ones are seen too. */
const CARDS_MAX = 3;

/** All panels obey one range and one filter; those of the service's own state say that they are of now. */
export function Overview() {
  const range = chosenRange();
  const filter = chosenFilter();
  const { hostgroup, ignored } = totalScope(filter);
  const history = useTotalHistory(range, hostgroup);
  const inRange = useAttacksIn(range);
  const known = useMemo(() => attacksKept(filter, inRange.known), [filter, inRange.known]);
  const isNow = range === FIRST_RANGE;
  useSought(wholeStatus() !== null);
  return (
    <div class="overview">
      <SituationLine />
      {isNow ? (
        <AttacksNow filter={filter} />
      ) : (
        <AttacksInRange range={range} attacks={known} newest={inRange.newest} />
      )}
      <Panel title={t`Traffic ${titleRange(range)}`} isWide actions={<RangeChoice />}>
        <FilterBar attacks={inRange.known} />
        <Show loaded={groupRates.state.value} what={t`rates`} onRetry={() => void groupRates.refresh()}>
          {({ available }) =>
            available ? (
              <TrafficNow history={history} range={range} attacks={{ ...inRange, known }} hostgroup={hostgroup} />
            ) : (
              <NothingCaptured />
            )
          }
        </Show>
        <NotApplied terms={ignored} />
      </Panel>
      {isCaptured() && <BusiestPanel range={range} attacks={known} isFiltered={filter.length > 0} />}
      <BansPanel range={range} filter={filter} attacks={inRange.known} />
      {isUnscoped() && (
        <Show loaded={status.state.value} what={t`state of BGP and capture`} onRetry={() => void status.refresh()}>
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
                  {whole.cluster !== undefined && (
                    <div id="panel-cluster">
                      <ClusterPanel />
                    </div>
                  )}
                </div>
              )
            );
          }}
        </Show>
      )}
    </div>
  );
}

function isCaptured(): boolean {
  const { value } = groupRates.state;
  return value.kind === "ready" && value.data.available;
}

function AttacksNow({ filter }: { readonly filter: readonly Term[] }) {
  return (
    <Panel title={t`Attacks in progress`} isWide actions={<BanButton />}>
      <Show loaded={attacks.value} what={t`attacks`}>
        {({ active: all, recent }) => {
          const active = attacksKept(filter, all);
          if (all.length > 0 && active.length === 0) {
            return (
              <Empty
                title={t`No attack matches the filter`}
              >{t`${counted(all.length, "attack")} in progress in all.`}</Empty>
            );
          }
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
    <Empty title={t`No attack now`}>
      {recent === 0 ? (
        t`There was none since Floodwall started to record attacks.`
      ) : (
        <a href={linkTo(["attacks"], { which: "recent" })}>{t`${counted(recent, "attack")} before`}</a>
      )}
    </Empty>
  );
}

function NothingCaptured() {
  return (
    <Empty
      title={t`Nothing is captured`}
    >{tx`Floodwall runs as a control plane only, and detects nothing by itself. Name an interface in ${<code>capture.interfaces</code>} and restart it.`}</Empty>
  );
}
