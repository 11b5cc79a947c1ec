/**
 * Traffic over time by protocol, hostgroup or host, beside that of an earlier day or week. All that is chosen is in the
 * page's address, so that a link shows the same.
 */
import { useCallback, useMemo } from "preact/hooks";
import type { AttackWire } from "../../../src/http/wire/attack.ts";
import { useAttacksIn } from "../../api/attacks-in.ts";
import { serviceNow } from "../../api/contact.ts";
import { useKept } from "../../api/resource.ts";
import { useResources } from "../../api/resources.ts";
import { isUnscoped } from "../../api/session.ts";
import { t, tx } from "../../language.ts";
import { Empty, StorageOff } from "../../parts/callout.tsx";
import { ChoiceField, Segments } from "../../parts/field.tsx";
import { chosenFilter, FilterBar, NotApplied } from "../../parts/filter-bar.tsx";
import { Panel } from "../../parts/panel.tsx";
import { chosenRange, RangeChoice } from "../../parts/range-choice.tsx";
import { Show } from "../../parts/show.tsx";
import { place, setQuery } from "../../router.ts";
import { within } from "../../text/attack-spans.ts";
import {
  type Comparison,
  EARLIER_SECONDS,
  explorationOf,
  filteredExploration,
  GROUPINGS,
  type Grouping,
  ignoredTerms,
  isPart,
  seriesPath,
  type Unit,
} from "../../text/exploration.ts";
import { attacksKept } from "../../text/filter.ts";
import { wholeNumber } from "../../text/format/numbers.ts";
import { rangeSpan } from "../../text/format/ranges.ts";
import { AttackParts } from "./attack-parts.tsx";
import { ExplorerChart, type History } from "./explorer-chart.tsx";
import { NameChoice } from "./name-choice.tsx";
import { OriginsPanel } from "./origins-panel.tsx";
import { SavedViews } from "./saved-views.tsx";

const EVERY_MS = 10_000;
const ALL_GROUPINGS = Object.entries(GROUPINGS) as (readonly [Grouping, string])[];
const OWN_GROUPINGS = ALL_GROUPINGS.filter(([by]) => !isPart(by));
const DIRECTIONS = [
  ["incoming", t`In`],
  ["outgoing", t`Out`],
] as const;
const UNITS = [
  ["pps", t`Packets`],
  ["mbps", t`Bits`],
  ["flows_per_sec", t`New flows`],
] as const satisfies readonly (readonly [Unit, string])[];
const FORMS = [
  ["stacked", t`Means, stacked`],
  ["lines", t`Peaks, lines`],
] as const;
const COMPARISONS = [
  ["none", t`Nothing`],
  ["day", t`The day before`],
  ["week", t`The week before`],
] as const satisfies readonly (readonly [Comparison, string])[];
/** For all hosts. */
const ALL = "";

export function Explorer() {
  const range = chosenRange();
  const filter = chosenFilter();
  const { known, newest } = useAttacksIn(range);
  const kept = useMemo(
    () => within(attacksKept(filter, known), rangeSpan(range, serviceNow())),
    [filter, known, range],
  );
  return (
    <>
      <Panel title={t`What is shown`} isWide actions={<RangeChoice />}>
        <FilterBar attacks={known} />
        <SavedViews />
      </Panel>
      <TrafficPanel attacks={kept} newest={newest} />
      {isUnscoped() && <OriginsPanel />}
      <AttackParts attacks={kept} newest={newest} />
    </>
  );
}

interface TrafficPanelProps {
  /** Those of the range that the filter keeps. */
  readonly attacks: readonly AttackWire[];
  /** The number that was read, where the range has older ones; null: all were. */
  readonly newest: number | null;
}

function TrafficPanel({ attacks, newest }: TrafficPanelProps) {
  const range = chosenRange();
  const filter = chosenFilter();
  const chosen = filteredExploration({ ...explorationOf(place.value.query), range }, filter);
  const { by, only, direction, unit, isStacked, comparison } = chosen;
  const names = by === "protocol" ? [only[0] ?? ALL] : only;
  const earlierSeconds = EARLIER_SECONDS[comparison];
  const keys = [
    ...[0, ...(earlierSeconds > 0 ? [earlierSeconds] : [])].flatMap((seconds) =>
      names.map((name) => `${seconds} ${name}`),
    ),
    // With all, so that what is in no part is seen too.
    ...(isPart(by) && names.length > 0 ? [`0 ${ALL}`] : []),
  ];
  const pathOf = useCallback(
    (key: string) => {
      const [seconds, name] = [Number(key.split(" ", 1)[0]), key.slice(key.indexOf(" ") + 1)];
      const time = { nowMs: serviceNow(), earlierSeconds: seconds };
      return seriesPath({ by, direction, range }, name === ALL ? null : name, time);
    },
    [by, direction, range],
  );
  const { loaded, refresh } = useResources<History>(keys, pathOf, EVERY_MS);
  const kept = useKept(loaded);
  const protocols = useMemo(() => filter.filter(({ field }) => field === "protocol"), [filter]);
  const isOthers = kept.kind === "ready" && kept.data.length !== keys.length;
  return (
    <Panel title={t`Traffic over time`} isWide>
      <div class="filters">
        <Segments
          label={t`Group by`}
          value={by}
          options={isUnscoped() ? ALL_GROUPINGS : OWN_GROUPINGS}
          onChange={(next) => setQuery({ by: next === "protocol" ? null : next, only: null })}
        />
        {!isPart(by) && (
          <Segments
            label={t`Direction`}
            value={direction}
            options={DIRECTIONS}
            onChange={(next) => setQuery({ direction: next })}
          />
        )}
        <Segments
          label={t`Unit`}
          value={unit}
          options={by === "protocol" || isPart(by) ? UNITS.slice(0, 2) : UNITS}
          onChange={(next) => setQuery({ unit: next })}
        />
        <Segments
          label={t`Form`}
          value={isStacked ? "stacked" : "lines"}
          options={FORMS}
          onChange={(form) => setQuery({ form: form === "stacked" ? null : form })}
        />
        <ChoiceField
          label={t`Compare with`}
          value={comparison}
          options={COMPARISONS}
          onChange={(next) => setQuery({ compare: next === "none" ? null : next })}
        />
      </div>
      <NameChoice by={by} only={only} direction={direction} />
      {names.length === 0 ? (
        <Empty title={t`Nothing is chosen`}>{t`Choose one above, or “The busiest”.`}</Empty>
      ) : (
        <Show loaded={isOthers ? { kind: "loading" } : kept} what={t`history of rates`} onRetry={refresh}>
          {(histories) =>
            histories.some(({ available }) => !available) ? (
              <StorageOff what={t`history`} />
            ) : (
              <ExplorerChart
                exploration={chosen}
                names={names}
                histories={histories}
                attacks={attacks}
                protocols={protocols}
              />
            )
          }
        </Show>
      )}
      <p class="muted">{tx`Tinted: attacks of the range and filter${newest !== null && t`, the newest ${wholeNumber(newest)}`}. Drag across the chart to choose a time range.`}</p>
      <NotApplied terms={ignoredTerms(by, filter)} />
    </Panel>
  );
}
