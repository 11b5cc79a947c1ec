/** One ban with all its details, and the attack that it mitigates. */
import type { BanWire } from "../../../src/http/wire/ban.ts";
import { serviceNow } from "../../api/contact.ts";
import { attacks, bans } from "../../api/live.ts";
import { t, tx } from "../../language.ts";
import { Badge } from "../../parts/badge.tsx";
import { UnbanButton } from "../../parts/ban-actions.tsx";
import { Empty } from "../../parts/callout.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Show } from "../../parts/show.tsx";
import { linkTo } from "../../router.ts";
import { attacksDuring } from "../../text/audit-links.ts";
import { attacksOf, BAN_STATES, banSubject } from "../../text/bans.ts";
import { vectorName } from "../../text/format/vectors.ts";
import { BanDetail, BanRules } from "./ban-detail.tsx";

export function BanPage({ prefix, startedAt }: { readonly prefix: string; readonly startedAt: string }) {
  return (
    <>
      <p>
        <a href={linkTo(["mitigation"])}>{t`All measures`}</a>
      </p>
      <Show loaded={bans.value} what={t`ban`}>
        {(all) => {
          const ban = all.find((one) => one.prefix === prefix && one.started_at === startedAt);
          return ban === undefined ? <Gone prefix={prefix} /> : <Found ban={ban} />;
        }}
      </Show>
    </>
  );
}

function Gone({ prefix }: { readonly prefix: string }) {
  return (
    <Empty
      title={t`This ban of ${prefix} is not in the list any more`}
    >{tx`It ended long ago, or it is another tenant's. ${<a href={linkTo(["mitigation"], { q: prefix })}>{t`Look for others of it`}</a>}, or see the ${<a href={linkTo(["audit"], { target: prefix.replace(/\/.*/, "") })}>{t`audit trail`}</a>}.`}</Empty>
  );
}

function Found({ ban }: { readonly ban: BanWire }) {
  const { flowspec, state } = ban;
  return (
    <div class="overview">
      <Panel title={banSubject(ban)} isWide actions={<UnbanButton ban={ban} />}>
        <p class="effect">
          <Badge tone={state === "active" ? "info" : "none"}>{BAN_STATES[state]}</Badge>
          {ban.manual ? t`ordered by an operator` : t`placed by detection`}
          {ban.dry_run && t`, in dry run`}
          <Held ban={ban} />
        </p>
      </Panel>
      <BanDetail ban={ban} />
      {flowspec !== undefined && <BanRules ban={ban} rules={flowspec} />}
    </div>
  );
}

/** The active attack that has this ban; of a ban that has ended, the attacks of its time. */
function Held({ ban }: { readonly ban: BanWire }) {
  const { value } = attacks;
  if (value.kind !== "ready") return null;
  const [attack] = attacksOf(ban, value.data.active);
  if (attack === undefined) {
    return ban.state === "active" || ban.manual ? null : (
      <a href={linkTo(["attacks"], attacksDuring(ban, serviceNow()))}>{t`Attacks of that time`}</a>
    );
  }
  const { classification } = attack;
  return (
    <a href={linkTo(["attacks", attack.id])}>
      {classification === undefined ? t`Attack in progress` : t`${vectorName(classification.type)} in progress`}
    </a>
  );
}
