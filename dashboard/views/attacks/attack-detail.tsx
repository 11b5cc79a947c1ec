/** One attack: its strength over time, its cause, its packets, its mitigation and the next step. */
import type { AttackWire } from "../../../src/http/wire/attack.ts";
import type { BanWire } from "../../../src/http/wire/ban.ts";
import type { BanPreviewWire } from "../../../src/http/wire/ban-preview.ts";
import { attacks, bans } from "../../api/live.ts";
import { type Loaded, useResource } from "../../api/resource.ts";
import { useResources } from "../../api/resources.ts";
import { t, tx } from "../../language.ts";
import { BanButton, UnbanButton } from "../../parts/ban-actions.tsx";
import { Facts, Panel } from "../../parts/panel.tsx";
import { Show } from "../../parts/show.tsx";
import { linkTo } from "../../router.ts";
import { type Accepted, acceptedOf, adviceOf } from "../../text/attack-advice.ts";
import { percent } from "../../text/format/numbers.ts";
import { vectorName } from "../../text/format/vectors.ts";
import { attackSubject, banOf, isSpared } from "../../text/mitigation.ts";
import { reasonSentences } from "../../text/reason.ts";
import { BanDetail, BanRules } from "../bans/ban-detail.tsx";
import { AttackCommands } from "./attack-commands.tsx";
import { AttackCourse, useCourse } from "./attack-course.tsx";
import { AttackHead } from "./attack-head.tsx";
import { AttackSample } from "./attack-sample.tsx";
import { AttackSources, useSources } from "./attack-sources.tsx";
import { AttackTakeAway } from "./attack-take-away.tsx";

export function AttackDetail({ id }: { readonly id: string }) {
  const stored = useResource<AttackWire>(`/api/v1/attacks/${encodeURIComponent(id)}`, 0);
  const live = liveAttack(id);
  const loaded: Loaded<AttackWire> =
    live === undefined ? stored.state.value : { kind: "ready", data: live, atMs: Date.now() };
  return (
    <>
      <p>
        <a href={linkTo(["attacks"])}>{t`All attacks`}</a>
      </p>
      <Show loaded={loaded} what={t`attack`} onRetry={() => void stored.refresh()}>
        {(attack) => {
          const held = bans.value.kind === "ready" ? bans.value.data : [];
          return <Detail attack={attack} ban={ownBan(attack, held)} />;
        }}
      </Show>
    </>
  );
}

/** From the live lists, which are more recent than data that was read once. */
function liveAttack(id: string): AttackWire | undefined {
  const { value } = attacks;
  if (value.kind !== "ready") return undefined;
  const isIt = (attack: AttackWire) => attack.id === id;
  return value.data.active.find(isIt) ?? value.data.recent.find(isIt);
}

/** For an ended attack: the ban of its time, not a current one. */
function ownBan(attack: AttackWire, all: readonly BanWire[]): BanWire | undefined {
  if (attack.ban_state === undefined) return undefined;
  const ended = attack.ended_at;
  return banOf(attack, ended === undefined ? all : all.filter(({ started_at }) => started_at <= ended));
}

function Detail({ attack, ban }: { readonly attack: AttackWire; readonly ban: BanWire | undefined }) {
  const { target } = attack;
  const course = useCourse(attack);
  const sources = useSources(attack);
  const accepted = useAccepted(attack);
  const mayBan = target !== undefined && attack.active && (accepted === null ? !isSpared(ban) : accepted.ban === null);
  const advice = adviceOf({ attack, ban, accepted });
  return (
    <div class="overview">
      <Panel
        title={attackSubject(attack)}
        isWide
        actions={
          <div class="choices">
            <AttackTakeAway attack={attack} course={course} sources={sources} />
            {ban?.state === "active"
              ? advice.action?.kind !== "unban" && <UnbanButton ban={ban} />
              : mayBan && advice.action?.kind !== "ban" && <BanButton target={target} />}
          </div>
        }
      >
        <AttackHead attack={attack} ban={ban} sources={sources} advice={advice} />
      </Panel>
      <AttackCourse attack={attack} course={course} />
      <AttackCommands attack={attack} ban={ban} timeline={course.timeline} />
      <AttackSources attack={attack} sources={sources} accepted={accepted} />
      <div class="masonry">
        <Kind attack={attack} />
        <Reason attack={attack} />
        {ban !== undefined && <BanDetail ban={ban} />}
      </div>
      {ban?.flowspec !== undefined && <BanRules ban={ban} rules={ban.flowspec} />}
      <AttackSample sample={attack.sample} />
    </div>
  );
}

/** null: the victim is no single address, the attack is over, or the service has not said yet. */
function useAccepted({ target, active }: AttackWire): Accepted | null {
  const { loaded } = useResources<BanPreviewWire>(
    active && target !== undefined ? [target] : [],
    previewPath,
    ACCEPTED_EVERY_MS,
  );
  const [preview] = loaded.kind === "ready" ? loaded.data : [];
  return preview === undefined ? null : acceptedOf(preview);
}

const ACCEPTED_EVERY_MS = 10_000;

function previewPath(ip: string): string {
  return `/api/v1/bans/preview?${new URLSearchParams({ ip })}`;
}

function Kind({ attack: { classification } }: { readonly attack: AttackWire }) {
  if (classification === undefined) {
    return (
      <Panel title={t`Kind`}>
        <p class="muted">{t`Not classified yet: too few packets were sampled, or samples are off.`}</p>
      </Panel>
    );
  }
  const { type, confidence, src_port: port, parts } = classification;
  return (
    <Panel title={t`Kind`}>
      <p>
        <strong>{vectorName(type)}</strong>
        {tx`${port !== undefined && t` from port ${port}`}: ${percent(confidence)} of its packets look like that.`}
      </p>
      {parts !== undefined && (
        <Facts facts={parts.map((part) => [vectorName(part.type), percent(part.share)] as const)} />
      )}
    </Panel>
  );
}

function Reason({ attack }: { readonly attack: AttackWire }) {
  const { shares, dominant_share_gate: gate } = attack.reason;
  return (
    <Panel title={t`Why it was detected`}>
      {reasonSentences(attack).map((sentence) => (
        <p key={sentence}>{sentence}</p>
      ))}
      {attack.lasting_rise === true && (
        <p>{tx`It has lasted for three hours, below your configured thresholds. If it is legitimate traffic that has grown, lift the ban and raise ${<code>baseline.floor</code>} or ${<code>baseline.factor</code>}.`}</p>
      )}
      <Facts facts={Object.entries(shares).map(([name, share]) => [SHARES[name] ?? name, percent(share)] as const)} />
      <p class="muted">{t`Shares of packets at its begin; a protocol with ${percent(gate)} or more names the attack.`}</p>
    </Panel>
  );
}

const SHARES: Readonly<Record<string, string>> = {
  udp: "UDP",
  syn: "SYN",
  tcp: "TCP",
  icmp: "ICMP",
  frag: t`Fragments`,
};
