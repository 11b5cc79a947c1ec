/** The host list, which the service searches, sorts and pages, and the view of one host. */
import { useState } from "preact/hooks";
import type { HostsWire, HostWire } from "../../../src/http/wire/traffic/host.ts";
import { bans } from "../../api/live.ts";
import { type Loaded, useKept, useResource } from "../../api/resource.ts";
import { groupRates } from "../../api/running.ts";
import { t, tx } from "../../language.ts";
import { Badge } from "../../parts/badge.tsx";
import { Button } from "../../parts/button.tsx";
import { Empty, WrongFilter } from "../../parts/callout.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { ChoiceField } from "../../parts/field.tsx";
import { Panel } from "../../parts/panel.tsx";
import { SearchField } from "../../parts/search-field.tsx";
import { Show } from "../../parts/show.tsx";
import { linkTo, place, setQuery } from "../../router.ts";
import { bitRate, flowRate, metricName, packetRate, plusMinus, wholeNumber } from "../../text/format/numbers.ts";
import { searchFault } from "../../text/host-search.ts";
import type { Sort } from "../../text/table-order.ts";
import type { ViewProps } from "../../view.ts";
import { HostDetail } from "./host-detail.tsx";

export function Hosts({ steps }: ViewProps) {
  const [target] = steps;
  return target === undefined ? <HostList /> : <HostDetail key={target} target={target} />;
}

const EVERY_MS = 2000;
const PAGE_ROWS = 50;
const FIRST_SORT = "-pps";
const SORTS = ["target", "pps", "mbps", "flows_per_sec"];

function HostList() {
  const { query } = place.value;
  const search = query.get("q") ?? "";
  const group = query.get("group") ?? "";
  const sort = sortOf(query.get("sort"));
  const filter = { ...(search !== "" && { q: search }), ...(group !== "" && { group }), sort: sortText(sort) };
  const { pager, cursor } = usePages(JSON.stringify(filter));
  const asked = { ...filter, limit: String(PAGE_ROWS), ...(cursor !== null && { after: cursor }) };
  const page = useResource<HostsWire>(`/api/v1/hosts?${new URLSearchParams(asked)}`, EVERY_MS);
  const loaded = useKept(page.state.value);
  const [isWrong, setWrong] = useState(false);
  return (
    <Panel title={t`Live host traffic`}>
      <div class="filters">
        <SearchField
          label={t`Address`}
          value={search}
          onSearch={(q) => setQuery({ q })}
          placeholder="203.0.113.0/24"
          faultOf={searchFault}
          onWrong={setWrong}
        />
        <GroupChoice group={group} />
      </div>
      <Show loaded={loaded} what={t`hosts`} onRetry={() => void page.refresh()}>
        {({ hosts, total = hosts.length, next }) =>
          isWrong ? (
            <WrongFilter what={t`hosts`} />
          ) : hosts.length === 0 && cursor === null ? (
            <NoHosts search={search} group={group} />
          ) : (
            <>
              <DataTable
                label={t`Hosts`}
                columns={COLUMNS}
                rows={hosts}
                rowKey={({ target }) => target}
                sort={sort}
                onSort={(chosen) => setQuery({ sort: sortText(chosen) })}
                total={total}
              />
              <Pager pager={pager} shown={hosts.length} total={total} next={next ?? null} />
            </>
          )
        }
      </Show>
    </Panel>
  );
}

const COLUMNS: readonly Column<HostWire>[] = [
  {
    key: "target",
    title: t`Address`,
    cell: ({ target }) => <a href={linkTo(["hosts", target])}>{target}</a>,
    isSortable: true,
  },
  { key: "state", title: t`State`, cell: (host) => <HostState host={host} /> },
  {
    key: "pps",
    title: t`Packets in`,
    cell: ({ rates, sampling_error: error }) => packetRate(rates.pps) + plusMinus(error?.pps),
    isNumber: true,
    isSortable: true,
  },
  {
    key: "mbps",
    title: t`Bits in`,
    cell: ({ rates, sampling_error: error }) => bitRate(rates.mbps) + plusMinus(error?.mbps),
    isNumber: true,
    isSortable: true,
    width: "medium",
  },
  {
    key: "flows_per_sec",
    title: t`New flows in`,
    cell: ({ rates }) => flowRate(rates.flows_per_sec),
    isNumber: true,
    isSortable: true,
    width: "wide",
  },
  {
    key: "normal",
    title: t`Normal`,
    cell: ({ baseline }) => (baseline === undefined ? "–" : packetRate(baseline.pps)),
    isNumber: true,
    width: "wide",
  },
  {
    key: "out",
    title: t`Packets out`,
    cell: ({ rates_out: out }) => packetRate(out.pps),
    isNumber: true,
    width: "wide",
  },
  { key: "group", title: t`Hostgroup`, cell: ({ group }) => group, width: "medium" },
];

/** Shows no state for a host without attack and ban. */
function HostState({ host: { target, in_attack: isAttacked, metric, direction } }: { readonly host: HostWire }) {
  const isBanned = isHeld(target);
  return (
    <span class="badges">
      {isAttacked && (
        <Badge tone="danger">
          {direction === "outgoing" ? t`attacks` : t`attacked`}
          {metric === undefined ? "" : `: ${metricName(metric)}`}
        </Badge>
      )}
      {isBanned && <Badge tone="info">{t`banned`}</Badge>}
    </span>
  );
}

function isHeld(target: string): boolean {
  const { value } = bans;
  return value.kind === "ready" && value.data.some((ban) => ban.target === target && ban.state === "active");
}

function GroupChoice({ group }: { readonly group: string }) {
  const { value } = groupRates.state;
  const names = value.kind === "ready" ? value.data.hostgroups.map(({ name }) => name) : [];
  // A link may name a group that was removed: it stays visible, so that the user can clear it.
  const all = group === "" || names.includes(group) ? names : [...names, group];
  return (
    <ChoiceField
      label={t`Hostgroup`}
      value={group}
      options={[["", t`All`], ...all.map((name) => [name, name] as const)]}
      onChange={(chosen) => setQuery({ group: chosen })}
    />
  );
}

function NoHosts({ search, group }: { readonly search: string; readonly group: string }) {
  if (search !== "" || group !== "") {
    return (
      <Empty
        title={t`No host matches`}
      >{tx`A host without traffic is not listed. Make the search shorter${isWholeAddress(search) && <>{tx`, or ${<a href={linkTo(["hosts", search])}>{t`look at the history of ${search}`}</a>}`}</>}.`}</Empty>
    );
  }
  const isCapturing = !isNothingCaptured(groupRates.state.value);
  return isCapturing ? (
    <Empty
      title={t`No host has traffic yet`}
    >{tx`A host appears with its first packet. If there is traffic, check on the overview that the capture runs, and that ${<code>networks</code>} has your prefixes.`}</Empty>
  ) : (
    <Empty
      title={t`Nothing is captured`}
    >{tx`Floodwall runs as a control plane only, and counts no traffic. Name an interface in ${<code>capture.interfaces</code>} and restart it.`}</Empty>
  );
}

function isNothingCaptured(rates: Loaded<{ readonly available: boolean }>): boolean {
  return rates.kind === "ready" && !rates.data.available;
}

interface Pages {
  /** Cursor of the page; null: first page. */
  readonly cursor: string | null;
  readonly pager: Walk;
}

interface Walk {
  /** Number of pages before this one. */
  readonly before: number;
  readonly toFirst: () => void;
  readonly toPrevious: () => void;
  readonly toNext: (cursor: string) => void;
}

/** Another filter starts at its first page. */
function usePages(filter: string): Pages {
  const [walked, setWalked] = useState<{ readonly filter: string; readonly cursors: readonly string[] }>({
    filter,
    cursors: [],
  });
  const cursors = walked.filter === filter ? walked.cursors : [];
  const walk = (next: readonly string[]) => setWalked({ filter, cursors: next });
  return {
    cursor: cursors.at(-1) ?? null,
    pager: {
      before: cursors.length,
      toFirst: () => walk([]),
      toPrevious: () => walk(cursors.slice(0, -1)),
      toNext: (cursor) => walk([...cursors, cursor]),
    },
  };
}

interface PagerProps {
  readonly pager: Walk;
  readonly shown: number;
  readonly total: number;
  /** Cursor of the next page; null: there is none. */
  readonly next: string | null;
}

function Pager({ pager, shown, total, next }: PagerProps) {
  const first = pager.before * PAGE_ROWS;
  return (
    <nav class="pager" aria-label={t`Pages of hosts`}>
      <span class="number">{t`${shown === 0 ? t`None` : t`${wholeNumber(first + 1)} to ${wholeNumber(first + shown)}`} of ${wholeNumber(total)}`}</span>
      {(pager.before > 0 || next !== null) && (
        <>
          <Button onClick={pager.toFirst} isDisabled={pager.before === 0}>{t`First`}</Button>
          <Button onClick={pager.toPrevious} isDisabled={pager.before === 0}>{t`Previous`}</Button>
          <Button onClick={() => next !== null && pager.toNext(next)} isDisabled={next === null}>{t`Next`}</Button>
        </>
      )}
    </nav>
  );
}

function sortOf(text: string | null): Sort {
  const chosen = text !== null && SORTS.includes(text.replace(/^-/, "")) ? text : FIRST_SORT;
  return { key: chosen.replace(/^-/, ""), isDescending: chosen.startsWith("-") };
}

function sortText({ key, isDescending }: Sort): string {
  return isDescending ? `-${key}` : key;
}

function isWholeAddress(text: string): boolean {
  return /^\d{1,3}(\.\d{1,3}){3}$/.test(text) || /^[\da-f]*:[\da-f:]*:[\da-f]*$/i.test(text);
}
