/**
 * Rows of a long list that changes all the time, filtered and sorted without holding up the page: in slices between two
 * drawings of the browser. Until they are ready, the rows of the change before are shown.
 */
import { useEffect, useRef, useState } from "preact/hooks";
import { inSlices } from "../api/in-slices.ts";
import { type Ordering, ordered } from "../text/ordering.ts";

/** Rows that are sorted at once. */
const AT_ONCE_ROWS = 500;

/** The ordering must be the same object as long as it means the same. */
export function useOrdered<Row>(rows: readonly Row[], ordering: Ordering<Row>): readonly Row[] {
  const [shown, setShown] = useState(() => finish(ordered(rows.slice(0, AT_ONCE_ROWS), ordering)));
  const wanted = useRef({ rows, ordering });
  const isBusy = useRef(false);
  const isGone = useRef(false);
  wanted.current = { rows, ordering };
  const run = async () => {
    isBusy.current = true;
    for (let isStale = true; isStale && !isGone.current; ) {
      const { rows: all, ordering: by } = wanted.current;
      const next = await inSlices(ordered(all, by));
      if (!isGone.current) setShown(next);
      isStale = wanted.current.rows !== all || wanted.current.ordering !== by;
    }
    isBusy.current = false;
  };
  useEffect(() => {
    isGone.current = false;
    return () => {
      isGone.current = true;
    };
  }, []);
  useEffect(() => {
    // A run in progress is completed before the next begins: a list that changes ten times a second is shown too.
    if (!isBusy.current) void run();
  }, [rows, ordering]);
  return shown;
}

function finish<Row>(steps: Generator<void, readonly Row[], void>): readonly Row[] {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}
