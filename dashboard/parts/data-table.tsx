/**
 * A table that stays fast with any number of rows: only the visible rows of a long table are in the page. All rows have
 * the same height. In a narrow frame, columns are hidden by their `width`, and further ones until the rest fits, so the
 * first cell must have the most important value.
 */
import { elementScroll, observeElementOffset, observeElementRect, Virtualizer } from "@tanstack/virtual-core";
import type { ComponentChildren, RefObject } from "preact";
import { useLayoutEffect, useMemo, useReducer, useRef, useState } from "preact/hooks";
import { t } from "../language.ts";
import type { Sort } from "../text/table-order.ts";
import { useFittingColumns } from "./use-fitting-columns.ts";
import { useOrder } from "./use-order.ts";

export interface Column<Row> {
  readonly key: string;
  readonly title: string;
  readonly cell: (row: Row) => ComponentChildren;
  /** Numbers are aligned to the right. */
  readonly isNumber?: boolean;
  /** The narrowest frame of the table in which the column is shown; default: any. */
  readonly width?: "medium" | "wide" | "wider" | "widest";
  /** The value by which the table sorts itself; absent: rows arrive sorted by `isSortable` columns. */
  readonly order?: (row: Row) => number | string;
  readonly isSortable?: boolean;
  /** The title is for screen readers only, as for a column of buttons. */
  readonly isTitleUnseen?: true;
}

export interface DataTableProps<Row> {
  /** The name of the rows, for screen readers. */
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly rowKey: (row: Row) => string;
  /** From then on the address of the page has the order, by the label. */
  readonly firstSort?: Sort;
  /** Or kept by the caller, for rows that arrive sorted. */
  readonly sort?: Sort;
  readonly onSort?: (sort: Sort) => void;
  /** Set if there are more rows than those given here. */
  readonly total?: number;
  /** Whether a row is marked as the current one of the view. */
  readonly isCurrent?: (row: Row) => boolean;
  /** Called with the row that is pointed at or has the focus; null: none. */
  readonly onPoint?: (row: Row | null) => void;
  /** Called when the last row becomes visible. */
  readonly onEnd?: () => void;
}

const UNSORTED: Sort = { key: "", isDescending: false };
/** The same value as in the style sheet. */
const ROW_PX = 34;
/** Tables with fewer rows are rendered whole. */
const WINDOWED_FROM = 80;

export function DataTable<Row>(props: DataTableProps<Row>) {
  const { label, rowKey, total, firstSort } = props;
  const own = useOrder(label, firstSort ?? UNSORTED, props.columns);
  const { sort, onSort } = firstSort === undefined ? props : own;
  const rows = useMemo(() => sorted(props.rows, props.columns, sort), [props.rows, props.columns, sort]);
  const frame = useRef<HTMLDivElement>(null);
  const columns = useFittingColumns(frame, props.columns, rows);
  const isWindowed = rows.length > WINDOWED_FROM;
  const { first, end, before, after } = useWindow(frame, isWindowed ? rows.length : 0);
  const shown = isWindowed ? rows.slice(first, end) : rows;
  useEnd(isWindowed ? end : rows.length, rows.length, props.onEnd);
  return (
    <section
      ref={frame}
      class={`table-frame${isWindowed ? " table-long" : ""}`}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling area must be reachable by the keyboard
      tabIndex={0}
      aria-label={t`${label}: table`}
    >
      <table aria-rowcount={(total ?? rows.length) + 1}>
        <thead>
          <tr>
            {columns.map((column) => (
              <Head key={column.key} column={column} sort={sort} onSort={onSort} />
            ))}
          </tr>
        </thead>
        <Spacer height={before} span={columns.length} />
        <tbody>
          {shown.map((row, i) => (
            <tr
              key={rowKey(row)}
              aria-rowindex={(isWindowed ? first : 0) + i + 2}
              aria-current={props.isCurrent?.(row) === true ? "true" : undefined}
              {...pointing(row, props.onPoint)}
            >
              {columns.map((column, at) => (
                <Cell key={column.key} column={column} row={row} isFirst={at === 0} />
              ))}
            </tr>
          ))}
        </tbody>
        <Spacer height={after} span={columns.length} />
      </table>
    </section>
  );
}

function pointing<Row>(row: Row, onPoint: DataTableProps<Row>["onPoint"]) {
  if (onPoint === undefined) return {};
  const [point, leave] = [() => onPoint(row), () => onPoint(null)];
  return { onMouseEnter: point, onMouseLeave: leave, onFocusCapture: point, onBlurCapture: leave };
}

function sorted<Row>(rows: readonly Row[], columns: readonly Column<Row>[], sort: Sort | undefined): readonly Row[] {
  const order = columns.find((column) => column.key === sort?.key)?.order;
  if (order === undefined) return rows;
  const keyed = rows.map((row) => ({ row, by: order(row) }));
  keyed.sort((a, b) => (a.by < b.by ? -1 : a.by > b.by ? 1 : 0));
  if (sort?.isDescending === true) keyed.reverse();
  return keyed.map(({ row }) => row);
}

interface HeadProps<Row> {
  readonly column: Column<Row>;
  readonly sort: Sort | undefined;
  readonly onSort: ((sort: Sort) => void) | undefined;
}

function Head<Row>({ column, sort, onSort }: HeadProps<Row>) {
  const { key, title, isNumber, order, isSortable } = column;
  const isOwn = sort?.key === key;
  const isDescending = isOwn && sort.isDescending;
  const direction = isOwn ? (isDescending ? "descending" : "ascending") : undefined;
  if (onSort === undefined || (order === undefined && isSortable !== true)) {
    return (
      <th scope="col" class={classOf(column)}>
        {column.isTitleUnseen === true ? <span class="unseen">{title}</span> : title}
      </th>
    );
  }
  // Numbers start with the largest.
  const next = isOwn ? !isDescending : isNumber === true;
  return (
    <th scope="col" class={classOf(column)} aria-sort={direction}>
      <button type="button" class="sort" onClick={() => onSort({ key, isDescending: next })}>
        {title}
        <span aria-hidden="true">{isOwn ? (isDescending ? " ↓" : " ↑") : ""}</span>
      </button>
    </th>
  );
}

interface CellProps<Row> {
  readonly column: Column<Row>;
  readonly row: Row;
  readonly isFirst: boolean;
}

function Cell<Row>({ column, row, isFirst }: CellProps<Row>) {
  const content = column.cell(row);
  return isFirst ? (
    <th scope="row" class={classOf(column)}>
      {content}
    </th>
  ) : (
    <td class={classOf(column)}>{content}</td>
  );
}

function classOf<Row>({ isNumber, width }: Column<Row>): string {
  return [isNumber === true ? "number" : "", width === undefined ? "" : `from-${width}`].join(" ").trim();
}

/** Takes the place of the rows that are not rendered. */
function Spacer({ height, span }: { readonly height: number; readonly span: number }) {
  if (height <= 0) return null;
  return (
    <tbody class="spacer" aria-hidden="true">
      <tr>
        <td colSpan={span} style={{ height: `${height}px` }} />
      </tr>
    </tbody>
  );
}

interface Window {
  readonly first: number;
  readonly end: number;
  /** Height in pixels of the rows that are not rendered. */
  readonly before: number;
  readonly after: number;
}

function useWindow(frame: RefObject<HTMLDivElement | null>, count: number): Window {
  const [, redraw] = useReducer((turn: number) => turn + 1, 0);
  const options = {
    count,
    getScrollElement: () => frame.current,
    estimateSize: () => ROW_PX,
    overscan: 15,
    observeElementRect,
    observeElementOffset,
    scrollToFn: elementScroll,
    onChange: () => redraw(undefined),
  };
  const [virtualizer] = useState(() => new Virtualizer<HTMLDivElement, HTMLElement>(options));
  virtualizer.setOptions(options);
  useLayoutEffect(() => virtualizer._didMount(), [virtualizer]);
  useLayoutEffect(() => virtualizer._willUpdate());
  const items = virtualizer.getVirtualItems();
  const [head, tail] = [items[0], items.at(-1)];
  // Used before the first measurement.
  if (head === undefined || tail === undefined) {
    const end = Math.min(count, WINDOWED_FROM);
    return { first: 0, end, before: 0, after: (count - end) * ROW_PX };
  }
  return { first: head.index, end: tail.index + 1, before: head.start, after: virtualizer.getTotalSize() - tail.end };
}

function useEnd(end: number, count: number, onEnd: (() => void) | undefined): void {
  const isAtEnd = count > 0 && end >= count;
  useLayoutEffect(() => {
    if (isAtEnd) onEnd?.();
  }, [isAtEnd, count]);
}
