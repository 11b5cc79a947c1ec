/** The choices in force: of those whose prefix contains an address or a prefix, the longest decides. Pure. */
import type { ScrubConfig } from "../../config/sections/scrub.ts";
import type { Prefix } from "../../net/prefix.ts";
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

  constructor(choices: readonly ActiveChoice[]) {
    this.all = choices;
    this.#table = PrefixTable.of(choices.map(({ prefix }) => prefix));
  }

  find(prefix: Prefix): ActiveChoice | null {
    return this.all[this.#table.findAround(prefix)] ?? null;
  }

  scrubOf(prefix: Prefix): ScrubConfig | null {
    return this.find(prefix)?.scrub ?? null;
  }
}
