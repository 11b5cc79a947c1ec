/** Whether what was ordered is in force, by the lists of the service. Pure. */
import type { AuditEventWire } from "../../src/http/wire/audit.ts";
import type { BanWire } from "../../src/http/wire/ban.ts";
import type { SourceBlockWire } from "../../src/http/wire/source-block.ts";
import { eventMs } from "./audit.ts";

/** A ban by hand: one that an attack placed before does not prove it. */
export function isBannedByHand(target: string, bans: readonly BanWire[]): boolean {
  return bans.some((ban) => ban.target === target && ban.state === "active" && ban.manual);
}

/** The ban as it is now; undefined: it is in force no more. */
export function inForce({ prefix, started_at: began }: BanWire, bans: readonly BanWire[]): BanWire | undefined {
  return bans.find((ban) => ban.prefix === prefix && ban.started_at === began && ban.state === "active");
}

type Pair = Pick<SourceBlockWire, "source" | "victim">;

/** @param untilMs the end of the order, as the service's clock has it: an older block of the pair ends before. */
export function isBlocked(pair: Pair, untilMs: number, blocks: readonly SourceBlockWire[]): boolean {
  const found = blockOf(pair, blocks);
  return found !== undefined && Date.parse(found.expires_at) >= untilMs - CLOCK_MS;
}

export function isUnblocked(pair: Pair, blocks: readonly SourceBlockWire[]): boolean {
  return blockOf(pair, blocks) === undefined;
}

/** The clocks are compared by whole seconds, and the order took time to arrive. */
const CLOCK_MS = 5000;

function blockOf({ source, victim }: Pair, blocks: readonly SourceBlockWire[]): SourceBlockWire | undefined {
  return blocks.find((block) => block.source === source.toLowerCase() && block.victim === victim.toLowerCase());
}

/** Whether the audit trail has a row of this action from then on. */
export function isAudited(
  action: AuditEventWire["action"],
  fromMs: number,
  events: readonly AuditEventWire[],
): boolean {
  return events.some((event) => event.action === action && event.result !== "error" && eventMs(event) >= fromMs - 1000);
}
