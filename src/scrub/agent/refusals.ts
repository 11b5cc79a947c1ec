/**
 * The bans that this node refuses, for its report (docs/interface.md#scrub-report), its log and its metrics; and what
 * it enforces in their place.
 */

import { REMEDIES } from "../../mitigation/rules/room-limit.ts";
import type { Limiter } from "../../observability/limiter.ts";
import type { Log } from "../../observability/log.ts";
import { REFUSAL_CHARACTERS_MAX, REFUSAL_REASONS_MAX, REFUSED_BANS_LISTED_MAX } from "../enforced-report.ts";
import type { BanWithoutRoom, HeldBan } from "./enforcement.ts";
import type { RefusalCause, RefusedBan } from "./rule-document.ts";

interface RefusalsWire {
  readonly refused_bans: readonly { readonly reason: string; readonly prefixes: readonly string[] }[];
  readonly refused_bans_total: number;
}

/** In groups by reason, as far as the bounds of a report allow; more are only counted. */
export function refusalsToWire(refused: readonly RefusedBan[]): RefusalsWire {
  const groups = new Map<string, string[]>();
  let listed = 0;
  for (const { prefix, reason } of refused) {
    if (prefix === null || listed >= REFUSED_BANS_LISTED_MAX) continue;
    const short = reason.slice(0, REFUSAL_CHARACTERS_MAX);
    const key = groups.has(short) || groups.size < REFUSAL_REASONS_MAX - 1 ? short : OTHER_REASONS;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [prefix.text]);
    else group.push(prefix.text);
    listed++;
  }
  return {
    refused_bans: [...groups].map(([reason, prefixes]) => ({ reason, prefixes })),
    refused_bans_total: refused.length,
  };
}

const OTHER_REASONS = "for various reasons: see the log of the node";

/**
 * The rules of a ban from before it was refused stay in force until its own expiry: these rules were accepted, and
 * without them the attack would pass.
 */
export function withLastGood(
  held: readonly HeldBan[],
  refused: readonly RefusedBan[],
  before: readonly HeldBan[],
): readonly HeldBan[] {
  const prefixes = new Set(refused.filter(({ isVirtual }) => !isVirtual).map(({ prefix }) => prefix?.text));
  const kept = before.filter(({ prefix }) => prefixes.has(prefix.text));
  return kept.length === 0 ? held : [...held, ...kept];
}

interface RefusalsOptions {
  readonly log: Pick<Log, "warn">;
  readonly limiter: Limiter;
  readonly metrics: { refusedBan(cause: RefusalCause): void };
}

/** Those of the present document. Each is counted once while it lasts, and logged once for each reason. */
export class Refusals {
  readonly #options: RefusalsOptions;
  #known: ReadonlySet<string> = new Set();
  #present: readonly RefusedBan[] = [];

  constructor(options: RefusalsOptions) {
    this.#options = options;
  }

  get present(): readonly RefusedBan[] {
    return this.#present;
  }

  /** @param withoutRoom bans of which the kernel holds nothing */
  take(refused: readonly RefusedBan[], withoutRoom: readonly BanWithoutRoom[]): void {
    const { log, limiter, metrics } = this.#options;
    const before = this.#known;
    this.#present = [...refused, ...withoutRoomOf(withoutRoom)];
    this.#known = new Set(this.#present.flatMap((ban) => [keyOf(ban), keyWithReason(ban)]));
    for (const ban of this.#present) {
      const { prefix, cause, reason } = ban;
      if (!before.has(keyOf(ban))) metrics.refusedBan(cause);
      if (before.has(keyWithReason(ban))) continue;
      limiter.pass(`ban ${cause}`, (suppressed) =>
        log.warn(
          { ban: prefix?.text ?? "unreadable", reason, suppressed },
          "a ban of the rule document is refused, the others are in force",
        ),
      );
    }
  }
}

/** @param bans of which the kernel holds nothing */
export function withoutRoomOf(bans: readonly BanWithoutRoom[]): readonly RefusedBan[] {
  return bans.map(({ prefix, limit }) => ({
    ...{ prefix, isVirtual: false, cause: "no_room" },
    reason: `no room: ${REMEDIES[limit]}`,
  }));
}

function keyOf({ prefix, cause }: RefusedBan): string {
  return `${prefix?.text ?? ""} ${cause}`;
}

function keyWithReason(ban: RefusedBan): string {
  return `${keyOf(ban)} ${ban.reason}`;
}
