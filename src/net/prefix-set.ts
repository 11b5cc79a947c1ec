/** Answers whether one of some prefixes is around another. */
import { enclosingPrefix, type Prefix } from "./prefix.ts";
import { PrefixTable } from "./prefix-table.ts";

export class PrefixSet {
  readonly #table: PrefixTable;

  constructor(prefixes: readonly Prefix[]) {
    this.#table = PrefixTable.of(prefixes);
  }

  /** Whether a shorter one is around it. */
  hasAround({ address, length }: Prefix): boolean {
    return length > 0 && this.#table.findAround(enclosingPrefix(address, length - 1)) >= 0;
  }
}
