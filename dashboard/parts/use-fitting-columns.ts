/** Which columns of a table its frame has room for, as measured: how wide texts are depends on language and data. */
import type { RefObject } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

interface Sized {
  readonly key: string;
  readonly width?: "medium" | "wide" | "wider" | "widest";
}

/** The first to go first; columns without a width stay. */
const WIDTHS = ["widest", "wider", "wide", "medium"] as const;

/** Texts become shorter too: after this time all columns are tried again. */
const AGAIN_MS = 10_000;

/**
 * Columns go one by one, of those of one width the last first, until the rest fits. They are tried again when the frame
 * changes, and now and then with other rows; all of it before anything is painted.
 * @param rows measured again when they change
 */
export function useFittingColumns<Column extends Sized>(
  frame: RefObject<HTMLElement | null>,
  columns: readonly Column[],
  rows: unknown,
): readonly Column[] {
  const [dropped, setDropped] = useState(0);
  const triedMs = useRef(performance.now());
  const optional = WIDTHS.flatMap((width) => columns.filter((column) => column.width === width).reverse());
  useLayoutEffect(() => {
    const { current } = frame;
    if (current === null) return;
    if (current.scrollWidth > current.clientWidth) setDropped(Math.min(dropped + 1, optional.length));
    else if (dropped > 0 && performance.now() - triedMs.current > AGAIN_MS) {
      triedMs.current = performance.now();
      setDropped(0);
    }
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
