/** The operator's rules for the data plane, in the order in which they are tried, and the prefix sets that they name. */
import type { Static } from "@sinclair/typebox";
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import type { FilterRulesWire } from "../../../src/http/wire/filter-rule.ts";
import type { PrefixSetsWire, PrefixSetWire } from "../../../src/http/wire/prefix-set.ts";
import { useResource } from "../../api/resource.ts";
import { hasDataplane } from "../../api/running.ts";
import { t, tx } from "../../language.ts";
import { Badge } from "../../parts/badge.tsx";
import { Empty } from "../../parts/callout.tsx";
import { numberColumn, textColumn } from "../../parts/columns.tsx";
import { CutText } from "../../parts/cut-text.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { OrderRuleButton, RemoveRuleButton } from "../../parts/filter-rule-actions.tsx";
import { Moment } from "../../parts/moment.tsx";
import { Panel } from "../../parts/panel.tsx";
import { SearchedTable } from "../../parts/searched-table.tsx";
import { Show } from "../../parts/show.tsx";
import {
  actionText,
  droppedText,
  FILTER_RULES_PATH,
  type FilterRuleWire,
  ruleText,
  ruleWhenText,
} from "../../text/filter-rules.ts";
import { scaled, wholeNumber } from "../../text/format/numbers.ts";
import { duration } from "../../text/format/times.ts";
import { NoDataplane } from "./holders.tsx";

const RULES_MS = 3000;
const SETS_MS = 10_000;

interface FilterRulesProps {
  readonly title: string;
  /** The buttons that choose between this list and those of measures. */
  readonly choice: ComponentChildren;
}

export function FilterRules({ title, choice }: FilterRulesProps) {
  const rules = useResource<Static<typeof FilterRulesWire>>(FILTER_RULES_PATH, RULES_MS);
  const sets = useResource<Static<typeof PrefixSetsWire>>("/api/v1/prefix-sets", SETS_MS);
  const { value: read } = sets.state;
  const names = read.kind === "ready" ? read.data.prefix_sets.map(({ name }) => name) : [];
  const onChanged = () => void rules.refresh();
  const actions = (
    <div class="panel-actions">
      {choice}
      {hasDataplane() && <OrderRuleButton sets={names} onChanged={onChanged} />}
    </div>
  );
  return (
    <>
      <Panel title={title} actions={actions}>
        {!hasDataplane() && <NoDataplane />}
        <Show loaded={rules.state.value} what={t`filter rules`} onRetry={onChanged}>
          {(all) => <Rules rules={all.rules} onChanged={onChanged} />}
        </Show>
      </Panel>
      <Panel title={t`Prefix sets`}>
        <Show loaded={read} what={t`prefix sets`}>
          {({ prefix_sets: known }) => <Sets sets={known} />}
        </Show>
      </Panel>
    </>
  );
}

interface RulesProps {
  readonly rules: readonly FilterRuleWire[];
  readonly onChanged: () => void;
}

function Rules({ rules, onChanged }: RulesProps) {
  const columns = useMemo(() => [...COLUMNS, actionColumn(onChanged), REASON], []);
  if (rules.length === 0 && !hasDataplane()) return null;
  if (rules.length === 0) {
    return (
      <Empty
        title={t`There are no rules of your own`}
      >{tx`Add one, or write it into ${<code>filter_rules</code>}.`}</Empty>
    );
  }
  return (
    <SearchedTable
      label={t`Filter rules`}
      what={t`rule`}
      placeholder={t`name, port, drop, attacked, order`}
      isCounted
      columns={columns}
      rows={rules}
      rowKey={({ name }) => name}
      textOf={ruleText}
    />
  );
}

const COLUMNS: readonly Column<FilterRuleWire>[] = [
  { key: "name", title: t`Rule`, cell: ({ name }) => name },
  {
    key: "match",
    title: t`Matches`,
    cell: ({ match }) => (
      <span class="cut" title={match}>
        {match}
      </span>
    ),
  },
  { key: "does", title: t`Does`, cell: (rule) => <Effect rule={rule} /> },
  unordered(numberColumn(t`Matched`, ({ packets }) => packets, { format: scaled, width: "wide" })),
  { key: t`Dropped`, title: t`Dropped`, cell: (rule) => droppedText(rule) ?? "–", isNumber: true },
  {
    key: "while",
    title: t`In force`,
    cell: ({ expires_at: at }) => (at === undefined ? t`configuration` : tx`until ${<Moment at={at} />}`),
    width: "medium",
  },
];

const REASON: Column<FilterRuleWire> = {
  key: "reason",
  title: t`Reason`,
  cell: ({ reason = "" }) => <CutText text={reason} />,
  width: "medium",
};

/** Their order is that in which they are tried. */
function unordered<Row>({ key, title, cell, ...rest }: Column<Row>): Column<Row> {
  const { isNumber, width } = rest;
  return {
    ...{ key, title, cell },
    ...(isNumber === undefined ? {} : { isNumber }),
    ...(width === undefined ? {} : { width }),
  };
}

function Effect({ rule }: { readonly rule: FilterRuleWire }) {
  const { dry_run: isDry, hidden_by: by } = rule;
  return (
    <>
      {actionText(rule)} {ruleWhenText(rule)} {isDry && <Badge tone="info">{t`only counts`}</Badge>}
      {by !== undefined && <Badge tone="warn">{t`never matches: behind ${by}`}</Badge>}
    </>
  );
}

function actionColumn(onChanged: () => void): Column<FilterRuleWire> {
  return {
    key: "actions",
    title: t`Actions`,
    isTitleUnseen: true,
    cell: ({ name, origin }) => (origin === "order" ? <RemoveRuleButton {...{ name, onChanged }} /> : null),
  };
}

function Sets({ sets }: { readonly sets: readonly PrefixSetWire[] }) {
  if (sets.length === 0) {
    return (
      <Empty
        title={t`There are no prefix sets`}
      >{tx`Name block lists, countries and autonomous systems in ${<code>prefix_sets</code>}.`}</Empty>
    );
  }
  return <DataTable label={t`Prefix sets`} columns={SET_COLUMNS} rows={sets} rowKey={({ name }) => name} />;
}

const KINDS = { list: t`list`, mmdb: "MMDB", builtin: t`built in` } as const;

const SET_COLUMNS: readonly Column<PrefixSetWire>[] = [
  unordered(textColumn(t`Set`, ({ name }) => name)),
  unordered(textColumn(t`Kind`, ({ kind }) => KINDS[kind])),
  unordered(numberColumn(t`Prefixes`, ({ prefixes }) => prefixes, { format: wholeNumber })),
  unordered(numberColumn(t`Age`, ({ age_seconds: age }) => age, { format: duration })),
  unordered(textColumn(t`File`, ({ file }) => file, "medium")),
  unordered(textColumn(t`Of`, originsText, "wide")),
  {
    key: "state",
    title: t`State`,
    cell: ({ error }) =>
      error === undefined ? (
        t`up to date`
      ) : (
        <>
          <Badge tone="warn">{t`old prefixes`}</Badge> {error}
        </>
      ),
  },
];

function originsText({ countries = [], autonomous_systems: systems = [] }: PrefixSetWire): string | undefined {
  const all = [...countries, ...systems.map((system) => `AS${system}`)];
  return all.length === 0 ? undefined : all.join(" ");
}
