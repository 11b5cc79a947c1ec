/** The choices in force: of those whose prefix contains an address or a prefix, the longest decides. Pure. */
import type { ScrubConfig } from "../../config/sections/scrub.ts";
import { enclosingPrefix, type Prefix } from "../../net/prefix.ts";
import { PrefixTable } from "../../net/prefix-table.ts";
import type { ActiveChoice } from "./choice.ts";

/** What was chosen at run time, as planning and the data plane see it. */
export interface Chosen {
  /** The filter that was chosen for the whole prefix; null: the configuration decides. The same object until it changes. */
  scrubOf(prefix: Prefix): ScrubConfig | null;
}

export const NOTHING_CHOSEN: Chosen = { scrubOf: () => null };

export class ChosenPrefixes implements Chosen {
  readonly all: readonly ActiveChoice[];
  readonly #table: PrefixTable;

  private constructor(choices: readonly ActiveChoice[], table: PrefixTable) {
    this.all = choices;
    this.#table = table;
  }

  /** One that does not say when it applies does so as the choice around it. */
  static of(choices: readonly ActiveChoice[]): ChosenPrefixes {
    const shortestFirst = choices.toSorted((a, b) => a.prefix.length - b.prefix.length);
    const table = PrefixTable.of(shortestFirst.map(({ prefix }) => prefix));
    const resolved: ActiveChoice[] = [];
    for (const each of shortestFirst) {
      const { address, length } = each.prefix;
      const isOpen = each.choice.always === null && length > 0;
      const around = isOpen ? resolved[table.findAround(enclosingPrefix(address, length - 1))] : undefined;
      const scrub = around === undefined ? each.scrub : { ...each.scrub, isAlways: around.scrub.isAlways };
      resolved.push({ ...each, scrub });
    }
    return new ChosenPrefixes(resolved, table);
  }

  find(prefix: Prefix): ActiveChoice | null {
    return this.all[this.#table.findAround(prefix)] ?? null;
  }

  scrubOf(prefix: Prefix): ScrubConfig | null {
    return this.find(prefix)?.scrub ?? null;
  }
}
