/**
 * The display for a wall: the situation, the attacks and the total traffic, in large type and without controls. It
 * refreshes by itself, and needs no more than a viewer's token.
 */
import { useEffect, useState } from "preact/hooks";
import type { AttackWire } from "../src/http/wire/attack.ts";
import type { BanWire } from "../src/http/wire/ban.ts";
import { useAttacksIn } from "./api/attacks-in.ts";
import { attacks, bans } from "./api/live.ts";
import { groupRates } from "./api/running.ts";
import { trace } from "./api/traffic-trace.ts";
import { LostContact } from "./banners.tsx";
import { t, tx } from "./language.ts";
import { Badge } from "./parts/badge.tsx";
import { now, Since } from "./parts/moment.tsx";
import { linkTo } from "./router.ts";
import { passedMark } from "./text/attack-size.ts";
import { bitRate, packetRate, plusMinus, rateOf, scaled } from "./text/format/numbers.ts";
import { FIRST_RANGE } from "./text/format/ranges.ts";
import { zonedTime } from "./text/format/times.ts";
import { vectorName } from "./text/format/vectors.ts";
import { counted } from "./text/format/words.ts";
import { attackSubject, banOf, byUrgency, customerText } from "./text/mitigation.ts";
import { standingOf } from "./text/standing.ts";
import { useSituation } from "./views/overview/situation-line.tsx";
import { HourChart, nowTitle, useTotalHistory } from "./views/overview/traffic-now.tsx";

/** More do not fit in large type. */
const SHOWN_MAX = 5;

export function Wall() {
  useEffect(() => {
    document.title = t`Wall display – Floodwall`;
    const onKey = ({ key }: KeyboardEvent) => {
      if (key === "Escape") location.hash = linkTo([]);
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, []);
  return (
    <main class="wall">
      <LostContact />
      <h1 class="unseen">{t`Wall display`}</h1>
      <ul class="wall-situation" aria-label={t`Situation`}>
        {useSituation().map(({ name, tone, text }) => (
          <li key={name}>
            <Badge tone={tone}>{text}</Badge>
          </li>
        ))}
        <li>
          <time class="number">{zonedTime(now.value)}</time>
        </li>
      </ul>
      <WallAttacks />
      <WallTraffic />
    </main>
  );
}

function WallAttacks() {
  const { value } = attacks;
  // The situation line says that nothing was read yet, or that there is no attack.
  if (value.kind !== "ready" || value.data.active.length === 0) return null;
  const held = bans.value.kind === "ready" ? bans.value.data : [];
  const urgent = value.data.active.toSorted(byUrgency);
  return (
    <section aria-label={t`Attacks in progress`}>
      <ul class="wall-attacks">
        {urgent.slice(0, SHOWN_MAX).map((attack) => (
          <WallAttack key={attack.id} attack={attack} ban={banOf(attack, held)} />
        ))}
      </ul>
      {urgent.length > SHOWN_MAX && <p>{t`${counted(urgent.length - SHOWN_MAX, "more attack")}, less urgent`}</p>}
    </section>
  );
}

function WallAttack({ attack, ban }: { readonly attack: AttackWire; readonly ban: BanWire | undefined }) {
  const { classification, metric, rate, rates, sampling_error: error, started_at: begin, volume } = attack;
  const { tone, text } = standingOf(attack, ban);
  const of = metric === "mbps" ? error?.mbps : metric === "pps" ? error?.pps : undefined;
  return (
    <li>
      <span>
        <strong>{attackSubject(attack)}</strong>
        <small>{customerText(attack)}</small>
      </span>
      <span>
        {classification === undefined ? t`Kind not known yet` : vectorName(classification.type)}
        <small>{tx`for ${<Since at={begin} />}`}</small>
      </span>
      <span class="number">
        {rateOf(metric, rate) + plusMinus(of)}
        <small>{metric.endsWith("mbps") ? packetRate(rates.pps) : bitRate(rates.mbps)}</small>
      </span>
      <span>
        <Badge tone={tone}>{text}</Badge>
        <small>
          {volume?.passed_packets === undefined
            ? t`passed here: not known`
            : t`passed here: ${passedMark(volume) + scaled(volume.passed_packets)} packets`}
        </small>
      </span>
    </li>
  );
}

/** In units of the wall's font: the title above the chart and the legend below it. */
const AROUND_EM = 4;
const CHART_PX_MIN = 120;

function WallTraffic() {
  const { incoming } = useTotalHistory(FIRST_RANGE);
  const { known } = useAttacksIn(FIRST_RANGE);
  const [heightPx, box] = useRoom();
  const { value } = groupRates.state;
  if (value.kind !== "ready" || !value.data.available) return null;
  if (incoming.kind === "ready" && incoming.data.available) {
    return (
      <section class="wall-traffic" aria-label={t`Total traffic`} ref={box}>
        <h2 class="unseen">{t`Total traffic`}</h2>
        {heightPx !== null && (
          <HourChart
            direction="incoming"
            unit="mbps"
            recorded={incoming.data}
            range={FIRST_RANGE}
            known={known}
            wallPx={heightPx}
          />
        )}
      </section>
    );
  }
  return <h2 class="number">{nowTitle(trace.value.at(-1), { direction: "incoming", unit: "mbps" })}</h2>;
}

/** The height that a chart may have in its element, which fills what the attacks leave; null: not measured yet. */
function useRoom(): [number | null, (element: HTMLElement | null) => void] {
  const [heightPx, setHeightPx] = useState<number | null>(null);
  const [element, setElement] = useState<HTMLElement | null>(null);
  useEffect(() => {
    if (element === null) return undefined;
    const observer = new ResizeObserver(() => {
      const around = AROUND_EM * Number.parseFloat(getComputedStyle(element).fontSize);
      setHeightPx(Math.max(CHART_PX_MIN, Math.floor(element.clientHeight - around)));
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, [element]);
  return [heightPx, setElement];
}
