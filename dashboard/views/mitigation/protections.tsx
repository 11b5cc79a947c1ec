/** The protection profiles that were chosen for prefixes, and what the configuration says of each hostgroup. */
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import type { ProtectionsWire, ProtectionWire } from "../../../src/http/wire/protection.ts";
import { useResource } from "../../api/resource.ts";
import { hasDataplane } from "../../api/running.ts";
import { isUnscoped } from "../../api/session.ts";
import { t } from "../../language.ts";
import { Badge } from "../../parts/badge.tsx";
import { Empty } from "../../parts/callout.tsx";
import { momentColumn, textColumn } from "../../parts/columns.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { Panel } from "../../parts/panel.tsx";
import { ProtectButton, UnprotectButton } from "../../parts/protection-actions.tsx";
import { SearchedTable } from "../../parts/searched-table.tsx";
import { Show } from "../../parts/show.tsx";
import { subjectOrder } from "../../text/format/subject-order.ts";
import { choiceText, chooserText, filterFacts, PROTECTION_PATH, profileText, whenText } from "../../text/protection.ts";
import { said } from "../../text/service-words.ts";
import { NoDataplane } from "./holders.tsx";

const EVERY_MS = 5000;
const FIRST_SORT = { key: "prefix", isDescending: false };
type Group = ProtectionsWire["hostgroups"][number];

interface ProtectionsProps {
  readonly title: string;
  /** The buttons that choose between this list and those of measures. */
  readonly choice: ComponentChildren;
}

export function Protections({ title, choice }: ProtectionsProps) {
  const read = useResource<ProtectionsWire>(PROTECTION_PATH, EVERY_MS);
  const onChanged = () => void read.refresh();
  const actions = (
    <div class="panel-actions">
      {choice}
      <ProtectButton onChanged={onChanged} />
    </div>
  );
  return (
    <>
      <Panel title={title} actions={actions}>
        {!hasDataplane() && <NoDataplane />}
        <Show loaded={read.state.value} what={t`protection`} onRetry={onChanged}>
          {({ protections }) => <Chosen protections={protections} onChanged={onChanged} />}
        </Show>
      </Panel>
      <Panel title={t`By configuration`}>
        <Show loaded={read.state.value} what={t`protection`}>
          {({ hostgroups }) => (
            <DataTable
              label={t`Protection by hostgroup`}
              columns={GROUP_COLUMNS}
              rows={hostgroups}
              rowKey={({ name }) => name}
            />
          )}
        </Show>
      </Panel>
    </>
  );
}

interface ChosenProps {
  readonly protections: readonly ProtectionWire[];
  readonly onChanged: () => void;
}

function Chosen({ protections, onChanged }: ChosenProps) {
  const columns = useMemo(() => [...COLUMNS, actionColumn(onChanged)], []);
  if (protections.length === 0) {
    return <Empty title={t`Nothing is chosen`}>{t`The configuration decides about all addresses.`}</Empty>;
  }
  return (
    <SearchedTable
      label={t`Chosen protection`}
      what={t`choice`}
      placeholder={t`prefix, profile, note, who`}
      isCounted
      columns={columns}
      rows={protections}
      rowKey={({ prefix }) => prefix}
      textOf={choiceText}
      firstSort={FIRST_SORT}
    />
  );
}

const COLUMNS: readonly Column<ProtectionWire>[] = [
  { key: "prefix", title: t`Prefix`, cell: ({ prefix }) => prefix, order: ({ prefix }) => subjectOrder(prefix) },
  textColumn(t`Profile`, ({ choice }) => choice?.profile),
  {
    key: "applies",
    title: t`Applies`,
    cell: (row) =>
      row.choice?.active === false ? (
        <>
          <Badge tone="warn">{t`without effect`}</Badge> {said(row.choice.cause ?? "")}
        </>
      ) : (
        whenText(row)
      ),
    order: (row) => (row.choice?.active === false ? "" : whenText(row)),
  },
  textColumn(t`Hostgroup`, ({ hostgroup }) => hostgroup, "medium"),
  textColumn(t`By`, ({ choice }) => (choice === undefined ? undefined : chooserText(choice)), "medium"),
  textColumn(t`Note`, ({ choice }) => choice?.note, "wide"),
  momentColumn(t`Chosen`, ({ choice }) => choice?.chosen_at, "wide"),
];

function actionColumn(onChanged: () => void): Column<ProtectionWire> {
  return {
    key: "actions",
    title: t`Actions`,
    isTitleUnseen: true,
    cell: ({ prefix, choice }) =>
      choice?.chosen_by === "operator" && !isUnscoped() ? null : (
        <div class="panel-actions">
          <ProtectButton {...{ prefix, choice, onChanged }} />
          <UnprotectButton {...{ prefix, onChanged }} />
        </div>
      ),
  };
}

const GROUP_COLUMNS: readonly Column<Group>[] = [
  { key: "name", title: t`Hostgroup`, cell: ({ name }) => name },
  { key: "profile", title: t`Profile`, cell: ({ setting }) => profileText(setting) },
  { key: "when", title: t`Always`, cell: ({ setting }) => (setting.always ? t`yes` : t`no`) },
  { key: "passes", title: t`Passes`, cell: ({ setting }) => filterFacts(setting.filter)[0]?.[1], width: "medium" },
];
