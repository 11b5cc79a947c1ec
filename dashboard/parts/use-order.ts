/** The order of a table, kept in the page's address. */
import { useMemo } from "preact/hooks";
import { place, setQuery } from "../router.ts";
import { orderParameter, type Sort, sortOf, sortText } from "../text/table-order.ts";

interface Order {
  /** The same object as long as it is the same order. */
  readonly sort: Sort;
  readonly onSort: (sort: Sort) => void;
}

/** @param columns those by which the table can be sorted */
export function useOrder(label: string, first: Sort, columns: readonly { readonly key: string }[]): Order {
  const parameter = orderParameter(label);
  const text = place.value.query.get(parameter);
  const keys = columns.map(({ key }) => key).join();
  const sort = useMemo(() => sortOf(text, first, keys.split(",")), [text, first.key, first.isDescending, keys]);
  return { sort, onSort: (next) => setQuery({ [parameter]: sortText(next, first) }) };
}
