/** The choices in force: of those whose prefix contains an address or a prefix, the longest decides. Pure. */
import { enclosingPrefix, type Prefix, prefixCovers } from "../../net/prefix.ts";
import { PrefixTable } from "../../net/prefix-table.ts";
import { isOneAddress } from "../ban-subject.ts";
import type { ScrubConfig } from "../scrub/scrub-config.ts";
import type { ActiveChoice } from "./choice.ts";
import { mildestOf } from "./mildest-filter.ts";

/** The choices made at run time, as planning and the data plane see it. */
export interface Chosen {
  /**
   * The filter for a prefix that has the configured one otherwise: the one that was chosen for all of it, and where
   * others were chosen for parts of it, one as mild as each of them. The same object until a choice changes.
   */
  scrubOf(prefix: Prefix, configured: ScrubConfig): ScrubConfig;
}

export const NOTHING_CHOSEN: Chosen = { scrubOf: (_, configured) => configured };

/** Far more than there are bans of prefixes. */
const MILDEST_MAX = 1024;

export class ChosenPrefixes implements Chosen {
  readonly all: readonly ActiveChoice[];
  readonly #table: PrefixTable;
  /** By prefix. */
  readonly #mildest = new WeakMap<ScrubConfig, Map<string, ScrubConfig>>();

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

  scrubOf(prefix: Prefix, configured: ScrubConfig): ScrubConfig {
    const whole = this.find(prefix)?.scrub ?? configured;
    if (isOneAddress(prefix)) return whole;
    const made = this.#mildest.get(whole) ?? new Map<string, ScrubConfig>();
    this.#mildest.set(whole, made);
    const known = made.get(prefix.text);
    if (known !== undefined) return known;
    const parts = this.all.filter((each) => isWithin(each.prefix, prefix)).map(({ scrub }) => scrub);
    const mildest = mildestOf([whole, ...parts]);
    if (made.size >= MILDEST_MAX) made.clear();
    made.set(prefix.text, mildest);
    return mildest;
  }
}

/** And is longer. */
function isWithin(part: Prefix, prefix: Prefix): boolean {
  return part.length > prefix.length && prefixCovers(prefix, part);
}
