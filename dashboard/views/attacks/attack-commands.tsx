/** The commands about an attack: the rows of the audit trail on its victim in its time. */
import { useMemo } from "preact/hooks";
import type { AttackWire } from "../../../src/http/wire/attack.ts";
import type { TimelineWire } from "../../../src/http/wire/attack-series.ts";
import type { AuditWire } from "../../../src/http/wire/audit.ts";
import type { BanWire } from "../../../src/http/wire/ban.ts";
import { type Resource, useResource } from "../../api/resource.ts";
import { isUnscoped } from "../../api/session.ts";
import { t } from "../../language.ts";
import { Empty, StorageOff } from "../../parts/callout.tsx";
import { CutText } from "../../parts/cut-text.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { Moment } from "../../parts/moment.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Show } from "../../parts/show.tsx";
import { linkTo } from "../../router.ts";
import { auditSpan, auditTarget } from "../../text/attack-audit.ts";
import { type Deed, deedsOf } from "../../text/attack-deeds.ts";
import { auditPath } from "../../text/audit.ts";
import { stoppedShare, stoppedText } from "../../text/standing.ts";

const EVERY_MS = 10_000;

interface Row {
  readonly deed: Deed;
  readonly number: number;
}

const COLUMNS: readonly Column<Row>[] = [
  { key: "time", title: t`Time`, cell: ({ deed }) => <Moment at={new Date(deed.atMs).toISOString()} /> },
  { key: "what", title: t`What`, cell: ({ deed }) => deed.what },
  { key: "by", title: t`By`, cell: ({ deed }) => deed.by },
  { key: "target", title: t`Target`, cell: ({ deed }) => deed.target || "–", width: "wide" },
  { key: "reason", title: t`Reason`, cell: ({ deed }) => <CutText text={deed.reason} />, width: "medium" },
];

interface AttackCommandsProps {
  readonly attack: AttackWire;
  readonly ban: BanWire | undefined;
  readonly timeline: Resource<TimelineWire>;
}

export function AttackCommands(props: AttackCommandsProps) {
  const target = auditTarget(props.attack);
  return target === null ? null : <Commands {...props} target={target} />;
}

function Commands({ attack, ban, timeline, target }: AttackCommandsProps & { readonly target: string }) {
  const { id, ended_at: end } = attack;
  const span = useMemo(() => auditSpan(attack), [id, end]);
  const path = useMemo(() => auditPath({ action: null, target, span }, Date.now()), [target, span]);
  const trail = useResource<AuditWire>(path, EVERY_MS);
  const query = { target, range: "own", from: span.from, ...(span.to !== null && { to: span.to }) };
  const isTenant = !isUnscoped();
  return (
    <Panel title={t`Who did what`} isWide actions={<a href={linkTo(["audit"], query)}>{t`In the audit trail`}</a>}>
      <Show loaded={trail.state.value} what={t`audit trail`} onRetry={() => void trail.refresh()}>
        {({ available, events }) => {
          if (!available && !isTenant) return <StorageOff what={t`audit trail`} />;
          return (
            <Show loaded={timeline.state.value} what={t`timeline`}>
              {({ entries }) => <Deeds attack={attack} deeds={deedsOf({ events, entries, ban, isTenant })} />}
            </Show>
          );
        }}
      </Show>
    </Panel>
  );
}

function Deeds({ attack, deeds }: { readonly attack: AttackWire; readonly deeds: readonly Deed[] }) {
  if (deeds.length > 0) {
    const rows = deeds.map((deed, number) => ({ deed, number }));
    return <DataTable label={t`Who did what`} columns={COLUMNS} rows={rows} rowKey={({ number }) => String(number)} />;
  }
  const share = stoppedShare(attack) ?? 0;
  if (share > 0) {
    return (
      <Empty
        title={t`No order was given for it: ${stoppedText(share, attack)} of it is stopped here`}
      >{t`Filter rules, source blocks and limits that were in force before do that.`}</Empty>
    );
  }
  return attack.ban_state === undefined ? (
    <Empty title={t`Nothing was done about it: no order was given, and no ban was placed`} />
  ) : (
    <Empty title={t`No operator acted on it`} />
  );
}
