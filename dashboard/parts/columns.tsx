/** Columns of a table by the kind of their value, with its order. A value that is missing is a dash. The key is the title. */
import type { Column } from "./data-table.tsx";
import { Moment, Since } from "./moment.tsx";

type Of<Row, Value> = (row: Row) => Value | undefined;
type Width = "medium" | "wide" | "wider" | "widest";

function column<Row>(title: string, width: Width | undefined, rest: Omit<Column<Row>, "key" | "title">): Column<Row> {
  return { key: title, title, ...rest, ...(width === undefined ? {} : { width }) };
}

export function textColumn<Row>(title: string, of: Of<Row, string>, width?: Width): Column<Row> {
  return column(title, width, { cell: (row) => of(row) ?? "–", order: (row) => of(row) ?? "" });
}

export function numberColumn<Row>(
  title: string,
  of: Of<Row, number>,
  { width, format = String }: { readonly width?: Width; readonly format?: (value: number, row: Row) => string } = {},
): Column<Row> {
  const cell = (row: Row) => {
    const value = of(row);
    return value === undefined ? "–" : format(value, row);
  };
  return column(title, width, { cell, order: (row) => of(row) ?? -1, isNumber: true });
}

export function momentColumn<Row>(title: string, of: Of<Row, string>, width?: Width): Column<Row> {
  const cell = (row: Row) => {
    const at = of(row);
    return at === undefined ? "–" : <Moment at={at} />;
  };
  return column(title, width, { cell, order: (row) => of(row) ?? "" });
}

/** The longest first. */
export function sinceColumn<Row>(title: string, of: (row: Row) => string, width?: Width): Column<Row> {
  const order = (row: Row) => -Date.parse(of(row));
  return column(title, width, { cell: (row) => <Since at={of(row)} />, order, isNumber: true });
}
