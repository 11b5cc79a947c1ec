/** Parts that the lists and views of scrub and edge nodes have in common. */
import type { ComponentChildren } from "preact";
import { t, tx } from "../language.ts";
import { linkTo } from "../router.ts";
import { duration } from "../text/format/times.ts";
import { type Presence, presenceOrder, presenceWord } from "../text/nodes.ts";
import { Badge } from "./badge.tsx";
import { Callout, Empty } from "./callout.tsx";
import { textColumn } from "./columns.tsx";
import type { Column } from "./data-table.tsx";
import { Ago } from "./moment.tsx";

interface Node extends Presence {
  readonly name: string;
  /** A poll is parked now. */
  readonly holding: boolean;
  readonly report?: { readonly dry_run?: boolean; readonly version?: string };
}

export const NODES_FIRST_SORT = { key: "state", isDescending: false };

export function nameColumn<N extends Node>(...path: readonly string[]): Column<N> {
  const cell = ({ name }: N) => <a href={linkTo([...path, name])}>{name}</a>;
  return { key: "name", title: t`Node`, cell, order: ({ name }) => name };
}

export function stateColumn<N extends Node>(cell: (node: N) => ComponentChildren): Column<N> {
  return { key: "state", title: t`State`, cell, order: presenceOrder };
}

export function lastPollColumn<N extends Node>(): Column<N> {
  const order = ({ last_seen: at }: N) => at ?? "";
  return { key: "seen", title: t`Last poll`, cell: (node) => <LastPoll node={node} />, order, width: "medium" };
}

export const versionColumn = <N extends Node>() => textColumn<N>(t`Version`, ({ report }) => report?.version, "wide");

/** @param children between its presence and its dry run */
export function NodeBadges({ node, children }: { readonly node: Node; readonly children?: ComponentChildren }) {
  const { tone, text } = presenceWord(node);
  return (
    <span class="badges">
      <Badge tone={tone}>{text}</Badge>
      {children}
      {node.report?.dry_run === true && <Badge tone="warn">{t`dry run`}</Badge>}
    </span>
  );
}

export function LastPoll({ node: { holding, last_seen: at } }: { readonly node: Node }) {
  if (holding) return <>{t`connected`}</>;
  return at === undefined ? t`never` : <Ago at={at} />;
}

interface NotPollingProps {
  readonly node: Node;
  /** A node is lost after this time without a poll. */
  readonly staleSeconds: number;
  readonly children: ComponentChildren;
}

/** Checks to make, for a node that is not alive. */
export function NotPolling({ node, staleSeconds, children }: NotPollingProps) {
  if (node.alive) return null;
  return (
    <Callout
      tone="danger"
      title={node.last_seen === undefined ? t`It has not polled yet` : t`It is lost`}
    >{tx`No poll for ${duration(staleSeconds)}. ${children}`}</Callout>
  );
}

/** Shown for a name that the configuration does not have. */
export function NoSuchNode({
  what,
  name,
  list,
}: {
  readonly what: string;
  readonly name: string;
  readonly list: string;
}) {
  return <Empty title={t`No ${what} ${name}`}>{tx`${<code>{list}</code>} does not name it, or no more.`}</Empty>;
}
