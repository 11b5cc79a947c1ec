/** All measures in force in one list: found, ordered, selected, and ended together. */
import type { Static } from "@sinclair/typebox";
import type { ComponentChildren } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { AuditWire } from "../../../src/http/wire/audit.ts";
import type { ScrubInventoryWire } from "../../../src/http/wire/scrub-node.ts";
import type { SourceBlocksWire } from "../../../src/http/wire/source-block.ts";
import { serviceNow } from "../../api/contact.ts";
import { bans } from "../../api/live.ts";
import { type Loaded, useResource } from "../../api/resource.ts";
import { hasDataplane } from "../../api/running.ts";
import { isUnscoped, mayAct } from "../../api/session.ts";
import { t } from "../../language.ts";
import { BanButton } from "../../parts/ban-actions.tsx";
import { Button } from "../../parts/button.tsx";
import { Empty, Failed } from "../../parts/callout.tsx";
import { DataTable } from "../../parts/data-table.tsx";
import { ChoiceField } from "../../parts/field.tsx";
import { FindField, searched } from "../../parts/find-field.tsx";
import { useOrdered } from "../../parts/ordered-rows.ts";
import { Panel } from "../../parts/panel.tsx";
import { Show } from "../../parts/show.tsx";
import { BlockButton } from "../../parts/source-block-actions.tsx";
import { useOrder } from "../../parts/use-order.ts";
import { place, setQuery } from "../../router.ts";
import { wordsOf } from "../../text/bans.ts";
import { wholeNumber } from "../../text/format/numbers.ts";
import { searchText } from "../../text/measure-words.ts";
import {
  blockOperators,
  chosenOf,
  isLiftable,
  liftVerb,
  MEASURE_KINDS,
  type Measure,
  measuresOf,
} from "../../text/measures.ts";
import { Holders, NoDataplane } from "./holders.tsx";
import { LiftDialog } from "./lift-dialog.tsx";
import { measureColumns, ORDERS } from "./measure-columns.tsx";

type Inventory = Static<typeof ScrubInventoryWire>;
type Kind = Measure["kind"] | "all";

/** Drop counters and nodes change all the time, and other operators set blocks too. */
const POLL_MS = 3000;
/** Only the names of those who ordered blocks. */
const AUDIT_POLL_MS = 30_000;
/** No block is older than this since it was ordered last. */
const BLOCKS_ORDERED_MS = 25 * 3_600_000;
const FIRST_SORT = { key: "began", isDescending: true };
const LABEL = t`Measures in force`;
const SORTABLE = Object.keys(ORDERS).map((key) => ({ key }));

const KINDS = [["all", t`All`], ...Object.entries(MEASURE_KINDS)] as readonly (readonly [Kind, string])[];

const KINDS_OF_TENANT = KINDS.filter(([kind]) => kind !== "node");

interface MeasuresInForceProps {
  readonly title: string;
  /** The buttons that choose between this list and those of the past. */
  readonly choice: ComponentChildren;
}

export function MeasuresInForce(props: MeasuresInForceProps) {
  return isUnscoped() ? <WithNodes {...props} /> : <InForce {...props} nodes={null} />;
}

function WithNodes(props: MeasuresInForceProps) {
  const nodes = useResource<Inventory>("/api/v1/dataplane/nodes", POLL_MS);
  return <InForce {...props} nodes={nodes.state.value} />;
}

interface InForceProps extends MeasuresInForceProps {
  /** null: a tenant does not see them. */
  readonly nodes: Loaded<Inventory> | null;
}

function InForce({ title, choice, nodes }: InForceProps) {
  const blocks = useResource<SourceBlocksWire>("/api/v1/dataplane/sources", POLL_MS);
  const orders = useResource<AuditWire>(blockOrdersPath, AUDIT_POLL_MS);
  const { value: blocked } = blocks.state;
  const { value: ordered } = orders.state;
  const operators = useMemo(() => blockOperators(ordered.kind === "ready" ? ordered.data.events : []), [ordered]);
  const onBlocksChanged = () => {
    void blocks.refresh();
    void orders.refresh();
  };
  const known = useMemo(
    () => ({
      operators,
      blocks: blocked.kind === "ready" ? blocked.data.sources : [],
      nodes: nodes?.kind === "ready" ? nodes.data.nodes : [],
    }),
    [operators, blocked, nodes],
  );
  const actions = (
    <div class="panel-actions">
      {choice}
      <BanButton />
      {hasDataplane() && <BlockButton onChanged={onBlocksChanged} />}
    </div>
  );
  return (
    <Panel title={title} actions={actions}>
      <Holders />
      {blocked.kind === "failed" && (
        <Failed what={t`source blocks`} failure={blocked.failure} onRetry={onBlocksChanged} />
      )}
      {nodes?.kind === "failed" && <Failed what={t`scrub nodes`} failure={nodes.failure} />}
      <Show loaded={bans.value} what={t`bans`}>
        {(all) => <Listed all={measuresOf({ ...known, bans: all })} onBlocksChanged={onBlocksChanged} />}
      </Show>
    </Panel>
  );
}

function blockOrdersPath(): string {
  const from = new Date(serviceNow() - BLOCKS_ORDERED_MS).toISOString();
  return `/api/v1/audit?${new URLSearchParams({ action: "source_block", from })}`;
}

interface ListedProps {
  readonly all: readonly Measure[];
  readonly onBlocksChanged: () => void;
}

function Listed({ all, onBlocksChanged }: ListedProps) {
  const kind = chosenKind();
  const search = searched();
  const { sort, onSort } = useOrder(LABEL, FIRST_SORT, SORTABLE);
  const [picked, setPicked] = useState<ReadonlySet<string>>(new Set());
  const [lifting, setLifting] = useState<readonly Measure[] | null>(null);
  const ordering = useMemo(() => {
    const words = wordsOf(search);
    const keep = (measure: Measure) =>
      (kind === "all" || measure.kind === kind) && words.every((word) => searchText(measure).includes(word));
    return { keep, order: ORDERS[sort.key] ?? null, isDescending: sort.isDescending };
  }, [kind, search, sort]);
  const rows = useOrdered(all, ordering);
  const columns = useMemo(() => {
    const onPick = ({ key }: Measure, isPicked: boolean) =>
      setPicked((before) => new Set(isPicked ? [...before, key] : [...before].filter((other) => other !== key)));
    return measureColumns({ picked: mayAct() ? picked : null, onPick, onUnblocked: onBlocksChanged });
  }, [picked]);
  const chosen = chosenOf(all, picked, ordering.keep);
  return (
    <>
      <div class="filters">
        <ChoiceField
          label={t`Kind`}
          value={kind}
          options={isUnscoped() ? KINDS : KINDS_OF_TENANT}
          onChange={(next) => setQuery({ kind: next })}
        />
        <FindField placeholder={t`address, state, neighbor, reason`} />
        <p class="muted" role="status">
          {wholeNumber(rows.length)} {rows.length === all.length ? t`in all` : t`of ${wholeNumber(all.length)}`}
        </p>
        {mayAct() && rows.some(isLiftable) && (
          <Selection
            chosen={chosen}
            onAll={() => setPicked(new Set(rows.filter(isLiftable).map(({ key }) => key)))}
            onNone={() => setPicked(new Set())}
            onLift={() => setLifting(chosen)}
          />
        )}
      </div>
      {rows.length === 0 ? (
        <Nothing kind={kind} isSearched={all.some((each) => kind === "all" || each.kind === kind)} />
      ) : (
        <div class="measures">
          <DataTable
            label={LABEL}
            columns={columns}
            rows={rows}
            rowKey={({ key }) => key}
            sort={sort}
            onSort={onSort}
          />
        </div>
      )}
      {lifting !== null && (
        <LiftDialog
          measures={lifting}
          onClose={() => {
            setLifting(null);
            setPicked(new Set());
            onBlocksChanged();
          }}
          onCancel={() => setLifting(null)}
        />
      )}
    </>
  );
}

/** Links of before lead to a list of the source blocks alone. */
function chosenKind(): Kind {
  const { steps, query } = place.value;
  const asked = query.get("kind");
  return KINDS.find(([kind]) => kind === asked)?.[0] ?? (steps[0] === "sources" ? "block" : "all");
}

interface SelectionProps {
  readonly chosen: readonly Measure[];
  readonly onAll: () => void;
  readonly onNone: () => void;
  readonly onLift: () => void;
}

function Selection({ chosen, onAll, onNone, onLift }: SelectionProps) {
  return (
    <div class="panel-actions">
      <Button onClick={onAll}>{t`Select all found`}</Button>
      {chosen.length > 0 && (
        <>
          <Button onClick={onNone}>{t`Select none`}</Button>
          <Button look="danger" onClick={onLift}>
            {t`${liftVerb(chosen)} ${wholeNumber(chosen.length)} selected …`}
          </Button>
        </>
      )}
    </div>
  );
}

interface NothingProps {
  readonly kind: Kind;
  /** There are some of the kind, which the search does not find. */
  readonly isSearched: boolean;
}

function Nothing({ kind, isSearched }: NothingProps) {
  if (isSearched) return <Empty title={t`Nothing in force matches`}>{t`Make the search shorter.`}</Empty>;
  switch (kind) {
    case "all":
      return <Empty title={t`Nothing is in force`}>{t`Bans come with attacks, or by hand.`}</Empty>;
    case "ban":
      return <Empty title={t`No ban in force`}>{t`Bans come with attacks, or by hand.`}</Empty>;
    case "rule":
      return <Empty title={t`No FlowSpec rule in force`}>{t`Bans with the method FlowSpec have rules.`}</Empty>;
    case "block":
      if (!hasDataplane()) return <NoDataplane />;
      return (
        <Empty
          title={t`No source is blocked`}
        >{t`A block drops all packets from one source to one victim on this machine.`}</Empty>
      );
    case "node":
      return <Empty title={t`No scrub node`}>{t`Their configuration is explained in the view Scrub nodes.`}</Empty>;
    default:
      return kind satisfies never;
  }
}
