/** Names that can be searched for, beside addresses and views: customers, rules, nodes. Pure. */
import type { AttackWire } from "../../src/http/wire/attack.ts";
import type { StatusWire } from "../../src/http/wire/status.ts";
import { t } from "../language.ts";
import { sessionWord } from "./bgp-session.ts";
import { customerSteps } from "./customers.ts";
import { toggled } from "./exploration.ts";
import { counted } from "./format/words.ts";

/** The place of something that has a name. */
export interface Named {
  readonly title: string;
  readonly detail: string;
  readonly steps: readonly string[];
  readonly query?: Readonly<Record<string, string>>;
  /** Also found by these: an address, a description. */
  readonly words?: readonly string[];
  /** The address that it has. A search for it offers no host of that address. */
  readonly address?: string;
}

type Neighbor = NonNullable<StatusWire["bgp"]>["neighbors"][number];
interface OfName {
  readonly name: string;
}

/** The parts of what the API answers; empty where the caller may not read them. */
export interface NameLists {
  readonly hostgroups: readonly (OfName & { readonly tenant?: string })[];
  readonly zones: readonly { readonly zone: string }[];
  readonly rules: readonly (OfName & { readonly match: string })[];
  readonly sets: readonly OfName[];
  readonly profiles: readonly OfName[];
  readonly nodes: readonly (OfName & { readonly alive: boolean })[];
  readonly neighbors: readonly Neighbor[];
  readonly attacks: readonly AttackWire[];
  /** Whether the caller sees what concerns the whole service. */
  readonly isUnscoped: boolean;
}

export function namedThings(lists: NameLists): Named[] {
  return [
    ...lists.neighbors.map(neighbor),
    ...tenants(lists.hostgroups),
    ...lists.hostgroups.map(({ name }) => ({
      title: t`Hostgroup ${name}`,
      detail: t`its thresholds and mitigation`,
      steps: ["settings", name],
    })),
    ...systems(lists),
    ...lists.zones.map(({ zone }) => ({
      title: t`Zone ${zone}`,
      detail: t`at the edge`,
      steps: ["edge", "zones", zone],
    })),
    ...lists.rules.map(({ name, match }) => ({
      title: t`Filter rule ${name}`,
      detail: match,
      steps: ["mitigation"],
      query: { which: "rules", q: name },
    })),
    ...lists.sets.map(({ name }) => ({
      title: t`Prefix set ${name}`,
      detail: t`below the filter rules`,
      steps: ["mitigation"],
      query: { which: "rules" },
    })),
    ...lists.nodes.map(({ name, alive }) => ({
      title: t`Scrub node ${name}`,
      detail: alive ? t`alive` : t`lost`,
      steps: ["scrub", name],
    })),
    ...lists.profiles.map(({ name }) => ({
      title: t`Profile ${name}`,
      detail: t`of protection`,
      steps: ["mitigation"],
      query: { which: "protection" },
    })),
    ...parts(lists.isUnscoped),
  ];
}

function neighbor({ address, name, description = "", remote_asn: asn, state }: Neighbor): Named {
  return {
    title: t`BGP neighbor ${name === undefined ? address : `${name} (${address})`}`,
    detail: t`AS${asn}, ${sessionWord(state).text}`,
    steps: [],
    query: { see: "bgp" },
    words: [`AS${asn}`, description],
    address,
  };
}

function tenants(hostgroups: NameLists["hostgroups"]): Named[] {
  const owned = hostgroups.filter(({ tenant }) => tenant !== undefined);
  return [...Map.groupBy(owned, ({ tenant = "" }) => tenant)].map(([name, groups]) => ({
    title: t`Customer ${name}`,
    detail: t`its incidents, and ${counted(groups.length, "hostgroup")}`,
    steps: customerSteps({ kind: "tenant", name }),
  }));
}

/** Autonomous systems from which attacks of the lists came. */
function systems({ attacks, isUnscoped }: NameLists): Named[] {
  const found = attacks.flatMap((attack) => (attack.sample?.top_asns ?? []).map(({ key }) => ({ key, attack })));
  return [...Map.groupBy(found, ({ key }) => key)].map(([key, of]) => ({
    title: key,
    detail: t`source network of ${counted(of.length, "attack")}`,
    ...(isUnscoped
      ? { steps: ["explorer"], query: { by: "asn", only: toggled([], key) ?? "" } }
      : { steps: ["attacks", of[0]?.attack.id ?? ""] }),
  }));
}

/** Lists within views. */
function parts(isUnscoped: boolean): Named[] {
  const list = (which: string, title: string): Named => ({
    title,
    detail: t`list in Mitigation`,
    steps: ["mitigation"],
    query: { which },
  });
  return [list("protection", t`Protection`), ...(isUnscoped ? [list("rules", t`Filter rules and prefix sets`)] : [])];
}
