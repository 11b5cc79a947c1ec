/** Commands about an attack, with their operators: the rows of the audit trail on its victim in its time. */
import { useMemo } from "preact/hooks";
import type { AttackWire } from "../../../src/http/wire/attack.ts";
import type { AuditEventWire, AuditWire } from "../../../src/http/wire/audit.ts";
import { useResource } from "../../api/resource.ts";
import { Empty, StorageOff } from "../../parts/callout.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { Moment } from "../../parts/moment.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Show } from "../../parts/show.tsx";
import { linkTo } from "../../router.ts";
import { auditSpan, auditTarget } from "../../text/attack-audit.ts";
import { AUDIT_ACTIONS, actorText, auditPath, eventMs } from "../../text/audit.ts";

const EVERY_MS = 10_000;

interface Row {
  readonly event: AuditEventWire;
  readonly number: number;
}

const COLUMNS: readonly Column<Row>[] = [
  { key: "time", title: "Time", cell: ({ event }) => <Moment at={new Date(eventMs(event)).toISOString()} /> },
  { key: "what", title: "What", cell: ({ event }) => `${AUDIT_ACTIONS[event.action]}: ${event.result}` },
  { key: "by", title: "By", cell: ({ event }) => actorText(event) },
  { key: "target", title: "Target", cell: ({ event }) => event.target.replace("->", " → "), width: "medium" },
  { key: "reason", title: "Reason", cell: ({ event }) => event.reason || "–", width: "wide" },
];

export function AttackCommands({ attack }: { readonly attack: AttackWire }) {
  const target = auditTarget(attack);
  return target === null ? null : <Commands attack={attack} target={target} />;
}

function Commands({ attack, target }: { readonly attack: AttackWire; readonly target: string }) {
  const { id, ended_at: end } = attack;
  const span = useMemo(() => auditSpan(attack), [id, end]);
  const path = useMemo(() => auditPath({ action: null, target, span }, Date.now()), [target, span]);
  const trail = useResource<AuditWire>(path, EVERY_MS);
  const query = { target, range: "own", from: span.from, ...(span.to !== null && { to: span.to }) };
  return (
    <Panel title="Who did what" isWide actions={<a href={linkTo(["audit"], query)}>In the audit trail</a>}>
      <Show loaded={trail.state.value} what="audit trail" onRetry={() => void trail.refresh()}>
        {({ available, events }) => {
          if (!available) return <StorageOff what="audit trail" />;
          if (events.length === 0) return <Empty title="No operator acted on it, and no ban was placed" />;
          const rows = events.map((event, number) => ({ event, number }));
          return (
            <DataTable label="Who did what" columns={COLUMNS} rows={rows} rowKey={({ number }) => String(number)} />
          );
        }}
      </Show>
    </Panel>
  );
}
