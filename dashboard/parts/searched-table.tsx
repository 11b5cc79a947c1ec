/** A table with a search over all its rows, which the address of the page keeps. */

import { useMemo } from "preact/hooks";
import { t } from "../language.ts";
import { hasWords } from "../text/bans.ts";
import { wholeNumber } from "../text/format/numbers.ts";
import { Empty } from "./callout.tsx";
import { DataTable, type DataTableProps } from "./data-table.tsx";
import { FindField, searched } from "./find-field.tsx";

interface SearchedTableProps<Row> extends DataTableProps<Row> {
  /** One of the rows: `ban`. */
  readonly what: string;
  readonly placeholder: string;
  /** The text by which a search finds a row. */
  readonly textOf: (row: Row) => string;
  /** Shows how many rows there are. */
  readonly isCounted?: boolean;
}

export function SearchedTable<Row>({ what, placeholder, textOf, isCounted, ...table }: SearchedTableProps<Row>) {
  const search = searched();
  const { rows: all } = table;
  const rows = useMemo(() => all.filter((row) => hasWords(textOf(row), search)), [all, search]);
  const count = rows.length === all.length ? t`in all` : t`of ${wholeNumber(all.length)}`;
  return (
    <>
      <div class="filters">
        <FindField placeholder={placeholder} />
        {isCounted === true && (
          <p class="muted" role="status">
            {wholeNumber(rows.length)} {count}
          </p>
        )}
      </div>
      {rows.length === 0 ? (
        <Empty title={t`No ${what} matches`}>{t`Make the search shorter.`}</Empty>
      ) : (
        <DataTable {...table} rows={rows} />
      )}
    </>
  );
}
