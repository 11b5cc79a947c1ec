/** One attack in progress: victim, strength, mitigation, and links to details and actions. */
import type { AttackWire } from "../../../src/http/wire/attack.ts";
import type { BanWire } from "../../../src/http/wire/ban.ts";
import { t } from "../../language.ts";
import { BanButton, UnbanButton } from "../../parts/ban-actions.tsx";
import { EffectLine } from "../../parts/effect-line.tsx";
import { Since } from "../../parts/moment.tsx";
import { RateMeter } from "../../parts/rate-meter.tsx";
import { linkTo } from "../../router.ts";
import { amountText } from "../../text/attack-size.ts";
import { bitRate, metricName, packetRate, plusMinus } from "../../text/format/numbers.ts";
import { vectorName } from "../../text/format/vectors.ts";
import { DIRECTION_NAMES } from "../../text/format/words.ts";
import { attackSubject, banOf, customerText, isSpared } from "../../text/mitigation.ts";

interface AttackCardProps {
  readonly attack: AttackWire;
  readonly bans: readonly BanWire[];
}

export function AttackCard({ attack, bans }: AttackCardProps) {
  const ban = banOf(attack, bans);
  const { classification, direction, metric, rates, target, sampling_error: error } = attack;
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
        <strong>{classification === undefined ? t`Kind not known yet` : vectorName(classification.type)}</strong>
        {direction === "outgoing" && `, ${DIRECTION_NAMES[direction].toLowerCase()}`}
        {attack.prefix !== undefined && t`, over ${attack.hosts ?? t`many`} hosts`}
        <span class="muted"> · {customerText(attack)}</span>
      </p>
      <RateMeter {...attack} error={error} />
      <p class="muted number">
        {[
          metricName(metric),
          ...(metric === "pps" ? [] : [packetRate(rates.pps) + plusMinus(error?.pps)]),
          ...(metric === "mbps" ? [] : [bitRate(rates.mbps) + plusMinus(error?.mbps)]),
        ].join(" · ")}
      </p>
      {attack.volume !== undefined && (
        <p class="muted number">{t`peak ${packetRate(attack.volume.peak_pps) + plusMinus(attack.volume.peak_sampling_error)} · ${amountText(attack.volume.packets, attack.volume.bits)} so far`}</p>
      )}
      <EffectLine attack={attack} ban={ban} />
      <div class="card-actions">
        {ban?.state === "active" ? (
          <UnbanButton ban={ban} />
        ) : (
          target !== undefined && !isSpared(ban) && <BanButton target={target} />
        )}
      </div>
    </li>
  );
}
