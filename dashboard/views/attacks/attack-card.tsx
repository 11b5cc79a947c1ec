/** One attack in progress: victim, strength, mitigation, and links to details and actions. */
import type { AttackWire } from "../../../src/http/wire/attack.ts";
import type { BanWire } from "../../../src/http/wire/ban.ts";
import { BanButton, UnbanButton } from "../../parts/ban-actions.tsx";
import { EffectLine } from "../../parts/effect-line.tsx";
import { Since } from "../../parts/moment.tsx";
import { RateMeter } from "../../parts/rate-meter.tsx";
import { linkTo } from "../../router.ts";
import { bitRate, metricName, packetRate } from "../../text/format/numbers.ts";
import { DIRECTION_NAMES, vectorName } from "../../text/format/words.ts";
import { attackSubject, banOf } from "../../text/mitigation.ts";

export interface AttackCardProps {
  readonly attack: AttackWire;
  readonly bans: readonly BanWire[];
}

export function AttackCard({ attack, bans }: AttackCardProps) {
  const ban = banOf(attack, bans);
  const { classification, direction, metric, rates, target, tenant, group } = attack;
  return (
    <li class="card">
      <div class="card-head">
        <h3>
          <a href={linkTo(["attacks", attack.id])}>{attackSubject(attack)}</a>
        </h3>
        <span>
          <Since at={attack.started_at} />
        </span>
      </div>
      <p class="card-kind">
        <strong>{classification === undefined ? "Kind not known yet" : vectorName(classification.type)}</strong>
        {direction === "outgoing" && `, ${DIRECTION_NAMES[direction].toLowerCase()}`}
        {attack.prefix !== undefined && `, over ${attack.hosts ?? "many"} hosts`}
        <span class="muted">
          {" "}
          · {group}
          {tenant !== undefined && ` · tenant ${tenant}`}
        </span>
      </p>
      <RateMeter metric={metric} rate={attack.rate} threshold={attack.threshold} />
      <p class="muted number">
        {metricName(metric)} · {packetRate(rates.pps)} · {bitRate(rates.mbps)}
      </p>
      <EffectLine attack={attack} ban={ban} />
      <div class="card-actions">
        {ban?.state === "active" ? <UnbanButton ban={ban} /> : target !== undefined && <BanButton target={target} />}
      </div>
    </li>
  );
}

/**
 * Attacks without mitigation first, then by how far they exceed the threshold, in steps of a factor of two, so that
 * cards do not change places with every reading.
 */
export function byUrgency(a: AttackWire, b: AttackWire): number {
  const isHeld = (attack: AttackWire) => (attack.ban_state === "active" ? 1 : 0);
  const doublings = ({ rate, threshold }: AttackWire) => Math.round(Math.log2(Math.max(1, rate / threshold)));
  return isHeld(a) - isHeld(b) || doublings(b) - doublings(a) || (a.started_at + a.id < b.started_at + b.id ? -1 : 1);
}
