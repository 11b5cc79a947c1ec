/** The ban engine's view of the configuration: what may be banned, how many at most, and by which terms. */
import { type Callers, callersOf } from "../access/shares.ts";
import { CarpetBounds, type PrefixRefusal } from "../detection/carpet/carpet-bounds.ts";
import type { IpAddress } from "../net/address.ts";
import { addressesIn, hostPrefix, type Prefix } from "../net/prefix.ts";
import type { Direction } from "../traffic/rates.ts";
import type { AdmissionPolicy } from "./admission.ts";
import type { Ban } from "./ban.ts";
import { isOneAddress } from "./ban-subject.ts";
import type { BanTerms } from "./circumstances.ts";
import { type EnclosedBan, EnclosingBounds, type EnclosingRefusal, notAnnounced } from "./enclosing.ts";
import type { MaintenanceWindows } from "./maintenance/maintenance-windows.ts";
import type { MitigationSections } from "./mitigation-config.ts";
import { areOfOthers, type OrderPolicy, orderPolicy } from "./order/order-policy.ts";
import { type Chosen, NOTHING_CHOSEN } from "./protection/chosen-prefixes.ts";
import type { ScrubConfig } from "./scrub/scrub-config.ts";

export interface MitigationPolicy extends AdmissionPolicy {
  /**
   * Why a wider prefix is not announced for the ban in it; null: it may be.
   * @param tenant who ordered the ban; null: others, or an attack is in progress
   */
  enclosingRefusal(prefix: Prefix, ban: EnclosedBan, tenant: string | null): EnclosingRefusal | null;
  readonly dryRun: boolean;
  /** Whether a hook diverts prefixes. */
  readonly isHooked: boolean;
  /** Whether bans of attacks in this direction are virtual; of the prefix's hostgroup. */
  isDryRun(prefix: Prefix, direction: Direction): boolean;
  /** Whether a maintenance window is open in which attacks there are only watched. Bans by hand are not concerned. */
  isWatched(prefix: Prefix): boolean;
  /** How long rules wait for the first classification of an attack; 0: attacks are not classified. */
  readonly evidenceWaitMs: number;
  /** The callers that may give orders. */
  readonly callers: Callers;
  /** The owner of all addresses of the prefix; null: no tenant is. */
  tenantOf(prefix: Prefix): string | null;
  /** The same object for all addresses of one hostgroup, and of one choice. */
  termsOf(target: IpAddress): BanTerms;
  /** null: attacks spread over a prefix only alert. */
  readonly spread: SpreadPolicy | null;
  /** Bans by hand. */
  readonly orders: OrderPolicy;
}

/** Bans of prefixes that are more than one address. */
export interface SpreadPolicy {
  /** null: the prefix may be banned. */
  refusalOf(prefix: Prefix): PrefixRefusal | null;
  /** The same object for all prefixes of one hostgroup, and of one choice. */
  termsOf(prefix: Prefix): BanTerms;
}

export function termsFor(policy: MitigationPolicy, prefix: Prefix): BanTerms {
  const { spread } = policy;
  return spread === null || isOneAddress(prefix) ? policy.termsOf(prefix.address) : spread.termsOf(prefix);
}

/** The same for a ban, which an operator may have ordered. */
export function termsOfBan(policy: MitigationPolicy, { prefix, ordered }: Pick<Ban, "prefix" | "ordered">): BanTerms {
  return ordered === undefined ? termsFor(policy, prefix) : policy.orders.termsOf(prefix, ordered);
}

/** Whether bans of such prefixes are enabled. */
export function areBanned({ spread }: MitigationPolicy, prefix: Prefix): boolean {
  return isOneAddress(prefix) || spread !== null;
}

/** How long FlowSpec rules wait for the first classification of an attack. */
const EVIDENCE_WAIT_MS = 1000;

const NO_WINDOWS = { isWatchOnly: () => false };

/** @param chosen at run time, as `windows` read each time. */
export function mitigationPolicy(
  config: MitigationSections,
  chosen: Chosen = NOTHING_CHOSEN,
  windows: Pick<MaintenanceWindows, "isWatchOnly"> = NO_WINDOWS,
): MitigationPolicy {
  const terms = termsByGroup(config);
  const chosenTerms = new ChosenTerms(chosen);
  const global = terms[0] as BanTerms;
  const termsOf = (prefix: Prefix) => terms[config.lookup.group(prefix.address)] ?? global;
  const enclosing = new EnclosingBounds(config);
  const addresses = { 4: addressesOf(config.networks, 4), 6: addressesOf(config.networks, 6) };
  return {
    dryRun: config.dryRun,
    isHooked: config.diversionHook !== null,
    enclosingRefusal: (prefix, { prefix: own, dryRun }, tenant) => {
      const isSpared = ({ group, dryRunDirections }: BanTerms, of: Prefix) =>
        dryRunDirections.includes("incoming") || windows.isWatchOnly({ prefix: of, group, isAnyPart: true });
      const groups = enclosing.groupsIn(prefix);
      const ownTerms = termsOf(own);
      // A ban is real there if it is by hand in a window, or of an attack in a direction that is not in dry run.
      const isOwnSpared = isSpared(ownTerms, own);
      const inIt = groups.map((group) => terms[group] ?? global);
      const others = isOwnSpared ? inIt.filter(({ group }) => group !== ownTerms.group) : inIt;
      // A virtual ban shows what a real one would do.
      const spared = isOwnSpared && dryRun ? undefined : others.find((each) => isSpared(each, prefix));
      const isOfOthers = tenant !== null && areOfOthers(config, groups, tenant);
      const why =
        spared === undefined
          ? isOfOthers && "a tenant ordered the ban, and others have addresses in it"
          : `hostgroup ${spared.group}, which is in dry run or only watched, would move with it`;
      return enclosing.refusalOf(prefix) ?? (why === false ? null : notAnnounced(prefix, why));
    },
    isDryRun: (prefix, direction) => config.dryRun || termsOf(prefix).dryRunDirections.includes(direction),
    isWatched: (prefix) => windows.isWatchOnly({ prefix, group: termsOf(prefix).group }),
    evidenceWaitMs: config.samples.enabled ? EVIDENCE_WAIT_MS : 0,
    maxActiveBans: config.ban.maxActiveBans,
    maxBannedFraction: config.ban.maxBannedFraction,
    addresses: (family) => addresses[family],
    callers: callersOf(config.api.callers),
    tenantOf: (prefix) => config.hostgroups[config.lookup.groupOf(prefix)]?.tenant ?? null,
    spread: spreadPolicy(config, terms, chosenTerms),
    isInNetworks: (target) => config.lookup.holds(target),
    ownRefusal: (target) => config.own.refusalOf(target),
    isWhitelisted: (target) => config.whitelist.find(target) >= 0,
    // An address outside the networks has no group; its ban ends, or is refused.
    termsOf: (target) => chosenTerms.of(hostPrefix(target), termsOf(hostPrefix(target))),
    orders: orderPolicy(config, (prefix) => chosenTerms.of(prefix, termsOf(prefix))),
  };
}

/** The terms of a hostgroup with the filter that was chosen for a prefix: one object for each, while they last. */
class ChosenTerms {
  readonly #chosen: Chosen;
  readonly #made = new WeakMap<BanTerms, WeakMap<ScrubConfig, BanTerms>>();

  constructor(chosen: Chosen) {
    this.#chosen = chosen;
  }

  of(prefix: Prefix, terms: BanTerms): BanTerms {
    const scrub = this.#chosen.scrubOf(prefix, terms.scrub);
    if (scrub === terms.scrub) return terms;
    const made = this.#made.get(terms) ?? new WeakMap<ScrubConfig, BanTerms>();
    const chosen = made.get(scrub) ?? withServices({ ...terms, scrub });
    this.#made.set(terms, made.set(scrub, chosen));
    return chosen;
  }
}

/** Prefix bans have one method, without ladder and fallback. */
function spreadPolicy(
  config: MitigationSections,
  groups: readonly BanTerms[],
  chosen: ChosenTerms,
): SpreadPolicy | null {
  const method = config.carpet?.mitigation ?? "none";
  if (method === "none") return null;
  const bounds = new CarpetBounds(config);
  const ladder = [{ afterSeconds: 0, action: method }];
  const terms = groups.map((group): BanTerms => {
    return { ...group, method, ladder, hasEscalation: false, ban: { ...group.ban, fallback: "none" } };
  });
  return {
    refusalOf: (prefix) => bounds.refusalOf(prefix),
    termsOf: (prefix) => chosen.of(prefix, terms[config.lookup.group(prefix.address)] ?? (terms[0] as BanTerms)),
  };
}

function termsByGroup({ hostgroups, mitigations }: MitigationSections): BanTerms[] {
  return mitigations.map((mitigation, i) => withServices({ ...mitigation, group: hostgroups[i]?.name ?? "global" }));
}

/** Rules are made beside the services that the filter lets through. */
function withServices(terms: BanTerms): BanTerms {
  return { ...terms, flowspec: { ...terms.flowspec, services: terms.scrub.services } };
}

function addressesOf(networks: readonly Prefix[], family: Prefix["family"]): number {
  return networks.reduce((sum, prefix) => sum + (prefix.family === family ? addressesIn(prefix) : 0), 0);
}
