/** The targets of notifications: what waits, whether the last delivery failed, and a test of each. */
import type { Static } from "@sinclair/typebox";
import { useState } from "preact/hooks";
import type { NotifyTargetsWire } from "../../../src/http/wire/notify-target.ts";
import { command } from "../../api/client.ts";
import { useResource } from "../../api/resource.ts";
import { isUnscoped, mayAct } from "../../api/session.ts";
import { t } from "../../language.ts";
import { Button } from "../../parts/button.tsx";
import { momentColumn, textColumn } from "../../parts/columns.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { showOutcome } from "../../parts/outcome.tsx";
import { Panel } from "../../parts/panel.tsx";
import { failureText } from "../../text/failure.ts";
import { TARGET_KINDS, wordOf } from "../../text/interface-words.ts";
import { said } from "../../text/service-words.ts";
import { RouteForm } from "./settings-routes.tsx";

type Targets = Static<typeof NotifyTargetsWire>;
type Target = Targets["targets"][number];

const PATH = "/api/v1/notify/targets";
const EVERY_MS = 5000;

export function TargetsPanel() {
  const resource = useResource<Targets>(PATH, EVERY_MS);
  const { value } = resource.state;
  const refresh = () => void resource.refresh();
  if (value.kind !== "ready" || value.data.targets.length === 0) return null;
  const test = { key: "actions", title: t`Actions`, cell: (target: Target) => <TestButton {...{ target, refresh }} /> };
  const columns: readonly Column<Target>[] = [
    textColumn(t`Target`, ({ name }) => name),
    textColumn(t`Kind`, ({ kind }) => wordOf(TARGET_KINDS, kind), "medium"),
    textColumn(t`Waiting`, ({ waiting }) => String(waiting), "medium"),
    momentColumn(t`Delivered`, ({ delivered_at: at }) => at),
    textColumn(t`Failure`, ({ failure = "" }) => said(failure)),
    ...(mayAct() ? [test] : []),
  ];
  return (
    <Panel title={t`Targets of notifications`} isWide>
      <DataTable
        label={t`Targets of notifications`}
        columns={columns}
        rows={value.data.targets}
        rowKey={({ name }) => name}
      />
      {isUnscoped() && <RouteForm />}
    </Panel>
  );
}

function TestButton({ target: { name }, refresh }: { readonly target: Target; readonly refresh: () => void }) {
  const [isBusy, setBusy] = useState(false);
  const test = async () => {
    setBusy(true);
    const answer = await command(`${PATH}/${encodeURIComponent(name)}/test`);
    setBusy(false);
    if (answer.kind === "answer") showOutcome(t`A test waits for ${name}.`);
    else showOutcome(t`No test: ${failureText(answer)}.`);
    refresh();
  };
  return <Button isBusy={isBusy} label={t`Test ${name}`} onClick={() => void test()}>{t`Test`}</Button>;
}
