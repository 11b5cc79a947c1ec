/** A ban in full: route and rules, expiry, current and next rung. */
import type { BanWire } from "../../../src/http/wire/ban.ts";
import { attackOfBan } from "../../api/attack-of-ban.ts";
import { serviceNow } from "../../api/contact.ts";
import { formFor, t, tx } from "../../language.ts";
import { Badge } from "../../parts/badge.tsx";
import { BanEnds } from "../../parts/ban-end.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { Moment, Until } from "../../parts/moment.tsx";
import { Facts, Panel } from "../../parts/panel.tsx";
import { linkTo } from "../../router.ts";
import { auditPlace } from "../../text/audit-links.ts";
import { banMethodText } from "../../text/bans.ts";
import { duration } from "../../text/format/times.ts";
import { capital, methodName } from "../../text/format/words.ts";
import { type RungView, rungsOf } from "../../text/ladder.ts";
import { droppedAmount } from "../../text/mitigation.ts";
import { actionText, matchText } from "../../text/rule.ts";
import { maybeInvalidText, usersSparedText } from "../../text/separability.ts";
import { said } from "../../text/service-words.ts";
import { movesWithText } from "../../text/wider-prefix.ts";
import { RouteState } from "./bans-panel.tsx";

type Rule = NonNullable<BanWire["flowspec"]>[number];

export function BanDetail({ ban }: { readonly ban: BanWire }) {
  const { state } = ban;
  const dropped = droppedAmount(ban, attackOfBan(ban)?.volume);
  const [usersSpared, maybeInvalid, moved] = [usersSparedText(ban), maybeInvalidText(ban), movesWithText(ban)];
  return (
    <>
      <Panel title={capital(formFor(1, "ban|bans"))}>
        <Facts
          facts={[
            [t`Method`, banMethodText(ban)],
            [t`Route`, <RouteState ban={ban} />],
            ban.sent_to === undefined ? null : [t`Neighbors that have it`, ban.sent_to.join(", ")],
            ...(ban.missing_at ?? []).map(({ neighbor, cause }) => [t`Not at ${neighbor}`, said(cause)] as const),
            moved === null ? null : [t`Moves with it`, moved],
            ban.not_announced === undefined ? null : [t`Not announced`, said(ban.not_announced)],
            maybeInvalid === null ? null : [t`May be invalid at`, maybeInvalid],
            ban.retiring === undefined ? null : [t`Being withdrawn`, ban.retiring.join("; ")],
            usersSpared === null ? null : [t`Users spared`, usersSpared],
            ban.next_hop === undefined ? null : [t`Next hop`, ban.next_hop],
            ban.community === undefined ? null : [t`Community`, ban.community],
            ban.local_pref === undefined ? null : [t`Local preference`, ban.local_pref],
            ban.node === undefined ? null : [t`Scrub node`, ban.node],
            ban.left_out_rules === undefined ? null : [t`Rules that the node does not get`, ban.left_out_rules],
            ...(ban.refused_by ?? []).map(({ node, reason }) => [t`Not enforced by ${node}`, said(reason)] as const),
            [t`Began`, <Moment at={ban.started_at} />],
            state === "active" ? [t`Ends`, <BanEnds ban={ban} />] : null,
            ban.withdrawn_at === undefined ? null : [t`Withdrawn`, <Moment at={ban.withdrawn_at} />],
            ban.reason === undefined ? null : [t`Why`, said(ban.reason)],
            ban.fallback === undefined ? null : [t`Not as planned`, said(ban.fallback)],
            ban.announce_error === undefined ? null : [t`Speaker`, said(ban.announce_error)],
            ban.repeat === undefined ? null : [t`Bans shortly before`, ban.repeat],
            dropped === null ? null : [t`Dropped here`, dropped],
            ban.operator === undefined ? null : [t`Ordered by`, ban.operator],
            ban.order_reason === undefined ? null : [t`Reason`, ban.order_reason],
            ban.ended_by === undefined && ban.end_reason === undefined
              ? null
              : [t`Ended by`, [ban.ended_by, ban.end_reason].filter(Boolean).join(": ")],
            [t`Orders and refusals`, <AuditLink ban={ban} />],
          ]}
        />
      </Panel>
      <Ladder ban={ban} />
    </>
  );
}

function AuditLink({ ban: { target, started_at: from, withdrawn_at: to } }: { readonly ban: BanWire }) {
  return <a href={linkTo(["audit"], auditPlace({ target, from, to }, serviceNow()))}>{t`Audit trail of that time`}</a>;
}

export function BanRules({ ban, rules }: { readonly ban: BanWire; readonly rules: readonly Rule[] }) {
  return (
    <Panel title={t`Rules`} isWide>
      {ban.matches_all === true && <p>{t`Nothing narrower was found than all traffic of the victim.`}</p>}
      <DataTable label={t`Rules`} columns={RULE_COLUMNS} rows={rules} rowKey={(rule) => JSON.stringify(rule)} />
    </Panel>
  );
}

const RULE_COLUMNS: readonly Column<Rule>[] = [
  { key: "match", title: t`Matches`, cell: matchText },
  { key: "action", title: t`Action`, cell: actionText },
];

function Ladder({ ban }: { readonly ban: BanWire }) {
  const rungs = rungsOf(ban);
  if (rungs.length === 0) return null;
  return (
    <Panel title={t`Escalation`}>
      <ol class="ladder">
        {rungs.map((rung) => (
          <li key={rung.action} aria-current={rung.state === "now" ? "step" : undefined}>
            <span>{methodName(rung.action)}</span>
            <RungTime rung={rung} />
          </li>
        ))}
      </ol>
    </Panel>
  );
}

function RungTime({ rung: { state, at, afterSeconds, isIfUnheld } }: { readonly rung: RungView }) {
  if (state === "now") return <Badge tone="info">{t`now`}</Badge>;
  if (state === "ahead" && isIfUnheld) return <span class="muted">{t`if the attack is not stopped by then`}</span>;
  if (at !== null) {
    return <span>{tx`in ${<Until at={at} />}`}</span>;
  }
  return <span class="muted">{state === "past" ? t`done` : t`after ${duration(afterSeconds)}`}</span>;
}
