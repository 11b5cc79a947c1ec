/** The rules of a ban for neighbors whose policy does not let them have all: found again within what their routers match. */
import { NO_NEIGHBOR_RULES, type RulesAtNeighbors, type RulesForReaders } from "../mitigation/circumstances.ts";
import type { NeighborRules } from "../mitigation/measure.ts";
import { isAnyRules, supportText, unsupported } from "../mitigation/rules/flowspec-support.ts";
import { ReaderRuleFinder, type RuleReader } from "../mitigation/rules/reader-rules.ts";
import type { Rule } from "../mitigation/rules/rule.ts";
import type { BgpConfig } from "./bgp-config.ts";

interface ReadingNeighbors extends RuleReader {
  readonly neighbors: readonly string[];
}

export class NeighborRuleFinder {
  readonly #finder = new ReaderRuleFinder();
  /** Neighbors with equal limits together. */
  #limited: readonly ReadingNeighbors[] = [];
  /** Some neighbor takes all rules. */
  #isAnyUnlimited = false;

  constructor(config: Pick<BgpConfig, "speaker" | "neighbors">) {
    this.reload(config);
  }

  reload({ speaker, neighbors }: Pick<BgpConfig, "speaker" | "neighbors">): void {
    const taking = neighbors.filter(
      ({ dryRun, policy }) => dryRun !== true && policy?.methods.includes("flowspec") !== false,
    );
    const limited = taking.filter(({ policy }) => policy !== undefined && !isAnyRules(policy.flowspec));
    this.#isAnyUnlimited = speaker === "external" || limited.length < taking.length;
    const bySupport = Map.groupBy(limited, ({ policy }) => (policy === undefined ? "" : supportText(policy.flowspec)));
    this.#limited = [...bySupport].flatMap(([text, alike]) => {
      const support = alike[0]?.policy?.flowspec;
      if (support === undefined) return [];
      const addresses = alike.map(({ address }) => address);
      return {
        key: `${text} ${addresses.join()}`,
        neighbors: addresses,
        concerning: (rules: readonly Rule[]) => rules,
        canExpress: (rule: Rule) => unsupported(rule, support) === null,
        rulesMax: support.rulesPerBan,
        hasOwnAlways: true,
      };
    });
  }

  /** See ReaderRuleFinder. */
  tick(): void {
    this.#finder.tick();
  }

  rulesFor(request: RulesForReaders<NeighborRules>): RulesAtNeighbors {
    if (this.#limited.length === 0 || request.rules.length === 0) return NO_NEIGHBOR_RULES;
    const found = this.#finder.rulesFor(this.#limited, request);
    const areOwn = found === request.present;
    const rules = areOwn ? request.present : found.map((each) => this.#withNeighbors(each, request.present));
    const isNone =
      !this.#isAnyUnlimited && rules.length === this.#limited.length && rules.every((each) => each.rules.length === 0);
    return { rules, isNone };
  }

  #withNeighbors(
    found: NeighborRules | Omit<NeighborRules, "neighbors">,
    present: readonly NeighborRules[],
  ): NeighborRules {
    const known = present.find((each) => each === found);
    return known ?? { ...found, neighbors: this.#limited.find(({ key }) => key === found.support)?.neighbors ?? [] };
  }
}
