/** The first look at an attack: how large, since when, whose, whether it is held and by whom, and what to do now. */
import { useMemo } from "preact/hooks";
import type { AttackWire, EndedAttacksWire } from "../../../src/http/wire/attack.ts";
import type { BanWire } from "../../../src/http/wire/ban.ts";
import { serviceNow } from "../../api/contact.ts";
import { attacks } from "../../api/live.ts";
import { useResource } from "../../api/resource.ts";
import { t, tx } from "../../language.ts";
import { EffectLine } from "../../parts/effect-line.tsx";
import { Moment, Since } from "../../parts/moment.tsx";
import { Facts } from "../../parts/panel.tsx";
import { RateMeter } from "../../parts/rate-meter.tsx";
import { linkTo } from "../../router.ts";
import type { Advice } from "../../text/attack-advice.ts";
import { volumeFacts } from "../../text/attack-size.ts";
import { summaryText } from "../../text/attack-summary.ts";
import { calmText } from "../../text/bans.ts";
import { customerOf, customerSteps } from "../../text/customers.ts";
import { bitRate, newFlowRate, packetRate, plusMinus } from "../../text/format/numbers.ts";
import { duration } from "../../text/format/times.ts";
import { counted, DIRECTION_NAMES } from "../../text/format/words.ts";
import { standingOf } from "../../text/standing.ts";
import { AdviceLine } from "./advice-line.tsx";
import type { Sources } from "./attack-sources.tsx";

interface AttackHeadProps {
  readonly attack: AttackWire;
  readonly ban: BanWire | undefined;
  /** null: not known. */
  readonly sources: Sources | null;
  readonly advice: Advice;
}

export function AttackHead({ attack, ban, sources, advice }: AttackHeadProps) {
  const { target, active } = attack;
  return (
    <>
      <p class="attack-summary">{summaryText(attack, sources)}</p>
      {active && <RateMeter {...attack} error={attack.sampling_error} />}
      <EffectLine attack={attack} ban={ban} />
      <AdviceLine advice={advice} />
      <p class="choices">
        {target !== undefined && <a href={linkTo(["hosts", target])}>{t`Host ${target}`}</a>}
        {attack.incident !== undefined && <a href={linkTo(["incidents", attack.incident])}>{t`Its incident`}</a>}
        <a href={linkTo(customerSteps(customerOf(attack)))}>{t`Incidents of the customer`}</a>
        {ban !== undefined && <a href={linkTo(["bans", ban.prefix, ban.started_at])}>{t`Its ban`}</a>}
      </p>
      <div class="columns">
        <Facts facts={timeFacts(attack)} />
        <Facts facts={[...sizeFacts(attack)]} />
        <Facts
          facts={[
            [t`Stopped`, standingOf(attack, ban).text],
            [t`Customer`, <Customer attack={attack} />],
            target === undefined ? null : [t`Attacked before`, <Earlier attack={attack} target={target} />],
            attack.hosts === undefined ? null : [t`Hosts attacked`, attack.hosts],
            [t`Direction`, DIRECTION_NAMES[attack.direction]],
          ]}
        />
      </div>
    </>
  );
}

function timeFacts(attack: AttackWire) {
  const { started_at: begin, ended_at: end, volume } = attack;
  const calm = calmText(attack);
  const lasted = end === undefined ? null : (Date.parse(end) - Date.parse(begin)) / 1000;
  return [
    volume === undefined ? null : ([t`Began`, <Moment at={volume.began_at} />] as const),
    [t`Detected`, <Moment at={begin} />] as const,
    end === undefined ? ([t`Duration`, <Since at={begin} />] as const) : ([t`Ended`, <Moment at={end} />] as const),
    calm === null ? null : ([t`Near its end`, t`${calm}, then it is over`] as const),
    lasted === null ? null : ([t`Duration`, duration(lasted)] as const),
  ];
}

function sizeFacts({ volume, scope, active, rates, sampling_error: error }: AttackWire) {
  const size: (readonly [string, string])[] =
    volume === undefined ? [[t`Size`, t`not known`]] : [...volumeFacts(volume, serviceNow(), scope)];
  const packets = packetRate(rates.pps) + plusMinus(error?.pps);
  const bits = bitRate(rates.mbps) + plusMinus(error?.mbps);
  return active
    ? [...size, [t`Now`, `${packets}, ${bits}, ${newFlowRate(rates.flows_per_sec, error !== undefined)}`] as const]
    : size;
}

function Customer({ attack: { group, tenant } }: { readonly attack: AttackWire }) {
  const hostgroup = <a href={linkTo(["settings", group])}>{group}</a>;
  if (tenant === group) return hostgroup;
  return <>{tenant === undefined ? tx`– (hostgroup ${hostgroup})` : tx`${tenant}, hostgroup ${hostgroup}`}</>;
}

/** The history answers at most 31 days at once. */
const DAYS = 30;

interface EarlierProps {
  readonly attack: AttackWire;
  readonly target: string;
}

function Earlier({ attack, target }: EarlierProps) {
  const path = useMemo(() => {
    const from = new Date(serviceNow() - DAYS * 86_400_000).toISOString();
    return `/api/v1/attacks/history?${new URLSearchParams({ target, from })}`;
  }, [target]);
  const { value: found } = useResource<EndedAttacksWire>(path, 0).state;
  const { value: live } = attacks;
  const history = <a href={linkTo(["attacks"], { which: "history", target, range: `${DAYS}d` })}>{t`history`}</a>;
  if (found.kind === "loading") return <>{t`reading …`}</>;
  // Without a history only the last ended attacks are known.
  const isStored = found.kind === "ready" && found.data.available;
  const ended = isStored ? found.data.attacks : live.kind === "ready" ? live.data.recent : [];
  const { length: times } = ended.filter(
    (other) => other.id !== attack.id && other.target === target && other.started_at < attack.started_at,
  );
  const more = isStored && found.data.next !== undefined ? t`at least ` : "";
  const when = isStored ? t`in the last ${DAYS} days` : t`among the last ended attacks`;
  return (
    <>
      {times === 0 ? t`not` : `${more}${counted(times, "time")}`} {when} {isStored && <>({history})</>}
    </>
  );
}
