/**
 * The display for a wall: the situation, the attacks and the total traffic, in large type and without controls. It
 * refreshes by itself, and needs no more than a viewer's token.
 */
import { useEffect } from "preact/hooks";
import { attacks, bans } from "./api/live.ts";
import { groupRates } from "./api/running.ts";
import { trace } from "./api/traffic-trace.ts";
import { LostContact } from "./banners.tsx";
import { Badge } from "./parts/badge.tsx";
import { now } from "./parts/moment.tsx";
import { linkTo } from "./router.ts";
import { rateOf } from "./text/format/numbers.ts";
import { zonedTime } from "./text/format/times.ts";
import { counted, vectorName } from "./text/format/words.ts";
import { attackSubject, banOf, byUrgency, effectOf } from "./text/mitigation.ts";
import { useSituation } from "./views/overview/situation-line.tsx";
import { HourChart, nowTitle, useAttacksOf, useTotalHistory } from "./views/overview/traffic-now.tsx";

/** More do not fit in large type. */
const SHOWN_MAX = 5;

export function Wall() {
  useEffect(() => {
    document.title = "Wall display – Floodwall";
    const onKey = ({ key }: KeyboardEvent) => {
      if (key === "Escape") location.hash = linkTo([]);
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, []);
  return (
    <main class="wall">
      <LostContact />
      <h1 class="unseen">Wall display</h1>
      <ul class="wall-situation" aria-label="Situation">
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
    <section aria-label="Attacks in progress">
      <ul class="wall-attacks">
        {urgent.slice(0, SHOWN_MAX).map((attack) => {
          const { tone, title } = effectOf(attack, banOf(attack, held));
          const { classification, metric, rate } = attack;
          return (
            <li key={attack.id}>
              <strong>{attackSubject(attack)}</strong>
              <span>{classification === undefined ? "Kind not known yet" : vectorName(classification.type)}</span>
              <span class="number">{rateOf(metric, rate)}</span>
              <Badge tone={tone}>{title}</Badge>
            </li>
          );
        })}
      </ul>
      {urgent.length > SHOWN_MAX && <p>{counted(urgent.length - SHOWN_MAX, "more attack")}, less urgent</p>}
    </section>
  );
}

function WallTraffic() {
  const { incoming } = useTotalHistory(null);
  const { known } = useAttacksOf(null);
  const { value } = groupRates.state;
  if (value.kind !== "ready" || !value.data.available) return null;
  if (incoming.kind === "ready" && incoming.data.available) {
    return (
      <section aria-label="Total traffic">
        <h2 class="unseen">Total traffic</h2>
        <HourChart direction="incoming" unit="mbps" recorded={incoming.data} chosen={null} known={known} look="wall" />
      </section>
    );
  }
  return <h2 class="number">{nowTitle(trace.value.at(-1), { direction: "incoming", unit: "mbps" })}</h2>;
}
