/** Diversions by a hook: a prefix that a program or a web service of others diverts, as bans and the API see them. */
import { ADMINISTRATOR, type Holder } from "../access/shares.ts";
import type { Prefix } from "../net/prefix.ts";
import type { RouteState } from "./announcer.ts";
import { type Ban, holderOf, wantedDiversion } from "./ban.ts";

/**
 * `beginning`: the hook is called to divert the prefix. `confirming`: it was, and is called until it confirms that.
 * `failed`: it did not divert it, and its bans act otherwise. `ending`: it is called to end it, until it has.
 */
export const DIVERSION_PHASES = ["beginning", "confirming", "diverted", "failed", "ending"] as const;
export type DiversionPhase = (typeof DIVERSION_PHASES)[number];

/** As it is kept on disk. */
export interface Diversion {
  /** A UUID, the same in all requests for it. */
  readonly id: string;
  /** A UUID, the same in all attempts of one request. */
  readonly requestId: string;
  readonly prefix: string;
  /** It was begun in dry run, and is confirmed and ended so. Absent: it is a real one. */
  readonly isDryRun?: true;
  readonly phase: DiversionPhase;
  /** When the phase began. Wall clock, ms. */
  readonly since: number;
  /** Failed attempts of the present request. */
  readonly attempts: number;
  /** The error of the last one, or why it was lost; null: none has failed. */
  readonly error: string | null;
  /** When it was first requested. Wall clock, ms; absent in files of older builds. */
  readonly begunAt?: number;
  /** It was confirmed, and then was not any more: it is requested again. Absent: false. */
  readonly isLost?: true;
  /** The tenant's caller that wants it, or did last; absent: the administrator. */
  readonly holder?: Holder;
}

/** As callers see it. */
export interface DiversionView extends Diversion {
  /** The prefixes of the bans that want it. Empty: none does. */
  readonly bans: readonly string[];
  /** When the last of these bans ends if nothing prolongs it; null: none wants it. Wall clock, ms. */
  readonly wantedUntil: number | null;
}

/** Why the hook does not divert a prefix for now, also once it has ended what it began. */
export interface DiversionFault {
  readonly prefix: string;
  readonly cause: string;
  /** It was diverted, and was not any more. */
  readonly isLost: boolean;
}

export interface WantedDiversion {
  readonly prefix: Prefix;
  /** The prefixes of the bans that want it. */
  readonly bans: readonly string[];
  /** The caller that ordered it; the administrator, where a ban of an attack wants it too. */
  readonly holder: Holder;
}

/** The part of the hook that bans know. */
export interface DiversionSource {
  /** Why the prefix is not diverted by it for now; null: it is, or may be. @param holder see diverterOf */
  faultOf(prefix: Prefix, holder: Holder): string | null;
  /** Whether that is since it was diverted and is not any more: where nothing takes its place it is to be begun again. */
  isLost(prefix: Prefix): boolean;
  stateOf(prefix: Prefix): RouteState;
}

export interface Diverter extends DiversionSource {
  /** Replaces the wanted set. Returns at once. */
  want(diversions: readonly WantedDiversion[]): void;
}

/** No hook is configured. */
export const NO_HOOK: Diverter = {
  faultOf: () => null,
  isLost: () => false,
  stateOf: () => ({ kind: "pending" }),
  want: () => {},
};

/** The caller whose share a ban's diversion takes; the administrator, where attacks keep the ban in force. */
export function diverterOf(ban: Pick<Ban, "heldBy" | "manual" | "operator" | "tenant">): Holder {
  return ban.heldBy.length > 0 ? ADMINISTRATOR : (holderOf(ban) ?? ADMINISTRATOR);
}

/** The prefixes that bans want diverted by the hook, each once, also until another measure has taken its place. */
export function wantedDiversions(bans: Iterable<Ban>): readonly WantedDiversion[] {
  const wanted = new Map<string, { readonly prefix: Prefix; readonly bans: string[]; holder: Holder }>();
  for (const ban of bans) {
    const holder = diverterOf(ban);
    const prefixes = [wantedDiversion(ban), ban.retiringDiversion ?? null];
    for (const prefix of prefixes) {
      if (prefix === null) continue;
      const known = wanted.get(prefix.text) ?? { prefix, bans: [], holder };
      if (holder.tenant === null) known.holder = holder;
      if (known.bans.at(-1) !== ban.prefix.text) known.bans.push(ban.prefix.text);
      wanted.set(prefix.text, known);
    }
  }
  return [...wanted.values()];
}
