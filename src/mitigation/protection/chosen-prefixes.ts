/** The choices in force: of those whose prefix contains an address or a prefix, the longest decides. Pure. */
import type { ScrubConfig } from "../../config/sections/scrub.ts";
import { enclosingPrefix, type Prefix } from "../../net/prefix.ts";
import type { ActiveChoice } from "./choice.ts";

/** What was chosen at run time, as planning and the data plane see it. */
export interface Chosen {
  /** The filter that was chosen for the whole prefix; null: the configuration decides. The same object until it changes. */
  scrubOf(prefix: Prefix): ScrubConfig | null;
}

export const NOTHING_CHOSEN: Chosen = { scrubOf: () => null };

export class ChosenPrefixes implements Chosen {
  readonly #byText: ReadonlyMap<string, ActiveChoice>;
  /** In use, longest first. */
  readonly #lengths: Readonly<Record<4 | 6, readonly number[]>>;

  constructor(choices: readonly ActiveChoice[]) {
    this.#byText = new Map(choices.map((choice) => [choice.prefix.text, choice]));
    const lengthsOf = (family: 4 | 6) =>
      [...new Set(choices.filter(({ prefix }) => prefix.family === family).map(({ prefix }) => prefix.length))].sort(
        (a, b) => b - a,
      );
    this.#lengths = { 4: lengthsOf(4), 6: lengthsOf(6) };
  }

  get all(): Iterable<ActiveChoice> {
    return this.#byText.values();
  }

  find({ address, length, family }: Prefix): ActiveChoice | null {
    for (const chosen of this.#lengths[family]) {
      if (chosen > length) continue;
      const found = this.#byText.get(enclosingPrefix(address, chosen).text);
      if (found !== undefined) return found;
    }
    return null;
  }

  scrubOf(prefix: Prefix): ScrubConfig | null {
    return this.find(prefix)?.scrub ?? null;
  }
}
