/** A table with a search over all its rows, which the address of the page keeps. */
import { useMemo } from "preact/hooks";
import { place, setQuery } from "../router.ts";
import { hasWords } from "../text/bans.ts";
import { wholeNumber } from "../text/format/numbers.ts";
import { Empty } from "./callout.tsx";
import { DataTable, type DataTableProps } from "./data-table.tsx";
import { TextField } from "./field.tsx";

interface SearchedTableProps<Row> extends DataTableProps<Row> {
  /** One of the rows: `ban`. */
  readonly what: string;
  readonly placeholder: string;
  /** What a search finds a row by. */
  readonly textOf: (row: Row) => string;
  /** Shows how many rows there are. */
  readonly isCounted?: boolean;
}

export function SearchedTable<Row>({ what, placeholder, textOf, isCounted, ...table }: SearchedTableProps<Row>) {
  const search = place.value.query.get("q") ?? "";
  const { rows: all } = table;
  const rows = useMemo(() => all.filter((row) => hasWords(textOf(row), search)), [all, search]);
  const count = rows.length === all.length ? "in all" : `of ${wholeNumber(all.length)}`;
  return (
    <>
      <div class="filters">
        <TextField
          label="Find"
          type="search"
          value={search}
          onInput={(q) => setQuery({ q })}
          placeholder={placeholder}
        />
        {isCounted === true && (
          <p class="muted" role="status">
            {wholeNumber(rows.length)} {count}
          </p>
        )}
      </div>
      {rows.length === 0 ? (
        <Empty title={`No ${what} matches`}>Make the search shorter.</Empty>
      ) : (
        <DataTable {...table} rows={rows} />
      )}
    </>
  );
}
