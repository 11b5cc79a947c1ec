/** Which columns of a table its frame has room for, as measured: how wide texts are depends on language and data. */
import type { RefObject } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";

interface Sized {
  readonly key: string;
  readonly width?: "medium" | "wide" | "wider" | "widest";
}

/** The first to go first; columns without a width stay. */
const WIDTHS = ["widest", "wider", "wide", "medium"] as const;

/**
 * Columns go one by one, of those of one width the last first, until the rest fits, and come back when the frame changes.
 * @param rows measured again when they change
 */
export function useFittingColumns<Column extends Sized>(
  frame: RefObject<HTMLElement | null>,
  columns: readonly Column[],
  rows: unknown,
): readonly Column[] {
  const [dropped, setDropped] = useState(0);
  const optional = WIDTHS.flatMap((width) => columns.filter((column) => column.width === width).reverse());
  useLayoutEffect(() => {
    const { current } = frame;
    if (current === null || dropped >= optional.length) return;
    if (current.scrollWidth > current.clientWidth) setDropped(dropped + 1);
  }, [rows, columns, dropped]);
  useLayoutEffect(() => {
    const { current } = frame;
    if (current === null) return undefined;
    let widthPx = current.clientWidth;
    const observer = new ResizeObserver(() => {
      if (current.clientWidth === widthPx) return;
      widthPx = current.clientWidth;
      setDropped(0);
    });
    observer.observe(current);
    return () => observer.disconnect();
  }, []);
  if (dropped === 0) return columns;
  const left = new Set(optional.slice(0, dropped));
  return columns.filter((column) => !left.has(column));
}
