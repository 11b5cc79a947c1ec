/** The order of a table in the address of the page: `order.bans=-began`. Pure. */

export interface Sort {
  readonly key: string;
  readonly isDescending: boolean;
}

/** The parameter of the table with this label. */
export function orderParameter(label: string): string {
  return `order.${label.toLowerCase().replaceAll(/[^\p{L}\p{N}]+/gu, "-")}`;
}

/** @param keys of the columns by which it can be sorted; others are ignored. */
export function sortOf(text: string | null, first: Sort, keys: readonly string[]): Sort {
  const [, minus = "", key = ""] = /^(-?)(.*)$/.exec(text ?? "") ?? [];
  return keys.includes(key) ? { key, isDescending: minus === "-" } : first;
}

/** null: the table's own first order, which needs no parameter. */
export function sortText({ key, isDescending }: Sort, first: Sort): string | null {
  if (key === first.key && isDescending === first.isDescending) return null;
  return isDescending ? `-${key}` : key;
}
