/** A ban in full: route and rules, expiry, current and next rung. */
import type { BanWire } from "../../../src/http/wire/ban.ts";
import { serviceNow } from "../../api/contact.ts";
import { Badge } from "../../parts/badge.tsx";
import { BanEnds } from "../../parts/ban-end.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { Moment, Until } from "../../parts/moment.tsx";
import { Facts, Panel } from "../../parts/panel.tsx";
import { linkTo } from "../../router.ts";
import { auditPlace } from "../../text/audit-links.ts";
import { duration } from "../../text/format/times.ts";
import { methodName } from "../../text/format/words.ts";
import { type RungView, rungsOf } from "../../text/ladder.ts";
import { droppedText } from "../../text/mitigation.ts";
import { actionText, matchText } from "../../text/rule.ts";
import { maybeInvalidText, usersSparedText } from "../../text/separability.ts";
import { RouteState } from "./bans-panel.tsx";

type Rule = NonNullable<BanWire["flowspec"]>[number];

export function BanDetail({ ban }: { readonly ban: BanWire }) {
  const { state } = ban;
  const [usersSpared, maybeInvalid] = [usersSparedText(ban), maybeInvalidText(ban)];
  return (
    <>
      <Panel title="Ban">
        <Facts
          facts={[
            ["Method", methodName(ban.method)],
            ["Route", <RouteState ban={ban} />],
            ban.sent_to === undefined ? null : ["Neighbors that have it", ban.sent_to.join(", ")],
            ...(ban.missing_at ?? []).map(({ neighbor, cause }) => [`Not at ${neighbor}`, cause] as const),
            maybeInvalid === null ? null : ["May be invalid at", maybeInvalid],
            ban.retiring === undefined ? null : ["Being withdrawn", ban.retiring.join("; ")],
            usersSpared === null ? null : ["Users spared", usersSpared],
            ban.next_hop === undefined ? null : ["Next hop", ban.next_hop],
            ban.community === undefined ? null : ["Community", ban.community],
            ban.local_pref === undefined ? null : ["Local preference", ban.local_pref],
            ban.node === undefined ? null : ["Scrub node", ban.node],
            ban.left_out_rules === undefined ? null : ["Rules that the node does not get", ban.left_out_rules],
            ...(ban.refused_by ?? []).map(({ node, reason }) => [`Not enforced by ${node}`, reason] as const),
            ["Began", <Moment at={ban.started_at} />],
            state === "active" ? ["Ends", <BanEnds ban={ban} />] : null,
            ban.withdrawn_at === undefined ? null : ["Withdrawn", <Moment at={ban.withdrawn_at} />],
            ban.reason === undefined ? null : ["Why", ban.reason],
            ban.fallback === undefined ? null : ["Not as planned", ban.fallback],
            ban.announce_error === undefined ? null : ["Speaker", ban.announce_error],
            ban.repeat === undefined ? null : ["Bans shortly before", ban.repeat],
            ban.dropped_packets === undefined ? null : ["Dropped here", droppedText(ban)],
            ban.operator === undefined ? null : ["Ordered by", ban.operator],
            ban.order_reason === undefined ? null : ["Reason", ban.order_reason],
            ban.ended_by === undefined && ban.end_reason === undefined
              ? null
              : ["Ended by", [ban.ended_by, ban.end_reason].filter(Boolean).join(": ")],
            ["Orders and refusals", <AuditLink ban={ban} />],
          ]}
        />
      </Panel>
      <Ladder ban={ban} />
    </>
  );
}

function AuditLink({ ban: { target, started_at: from, withdrawn_at: to } }: { readonly ban: BanWire }) {
  return <a href={linkTo(["audit"], auditPlace({ target, from, to }, serviceNow()))}>Audit trail of that time</a>;
}

export function BanRules({ ban, rules }: { readonly ban: BanWire; readonly rules: readonly Rule[] }) {
  return (
    <Panel title="Rules" isWide>
      {ban.matches_all === true && <p>Nothing narrower was found than all traffic of the victim.</p>}
      <DataTable label="Rules" columns={RULE_COLUMNS} rows={rules} rowKey={(rule) => JSON.stringify(rule)} />
    </Panel>
  );
}

const RULE_COLUMNS: readonly Column<Rule>[] = [
  { key: "match", title: "Matches", cell: matchText },
  { key: "action", title: "Action", cell: actionText },
];

function Ladder({ ban }: { readonly ban: BanWire }) {
  const rungs = rungsOf(ban);
  if (rungs.length === 0) return null;
  return (
    <Panel title="Escalation">
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
  if (state === "now") return <Badge tone="info">now</Badge>;
  if (state === "ahead" && isIfUnheld) return <span class="muted">if the attack is not stopped by then</span>;
  if (at !== null) {
    return (
      <span>
        in <Until at={at} />
      </span>
    );
  }
  return <span class="muted">{state === "past" ? "done" : `after ${duration(afterSeconds)}`}</span>;
}
