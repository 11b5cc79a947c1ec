/**
 * The results of a replay as JSON Lines for scripts: one object for each event, with the event names of the webhook and
 * the rows of the API, and a summary as the last line. Without the summary the run was interrupted.
 */
import { Tenancy } from "../access/tenancy.ts";
import type { Config } from "../config/config.ts";
import type { Attack } from "../detection/attack/attack.ts";
import { type AttackWire, attackToWire } from "../http/wire/attack.ts";
import { type BanWire, banToWire } from "../http/wire/ban.ts";
import type { Ban } from "../mitigation/ban.ts";
import { timestamp } from "../schema/timestamp.ts";
import { round } from "../traffic/rates.ts";
import type { BanEvent, PacketTotals, ReplayEvent, ReplayTotals } from "./run.ts";

type ReplayLine =
  | {
      /** `attack_lasts`: the attack is still in progress at the end of the capture. */
      readonly event: "attack_started" | "attack_sampled" | "attack_classified" | "attack_ended" | "attack_lasts";
      readonly at: string;
      readonly attack: AttackWire;
      readonly ban?: BanWire;
    }
  | {
      readonly event: "ban_active" | "ban_changed" | "ban_withdrawn" | "ban_rejected";
      readonly at: string;
      readonly ban: BanWire;
    }
  | {
      readonly event: "summary";
      readonly capture: string;
      /** Absent when the capture has no packets. */
      readonly started_at?: string;
      readonly ended_at?: string;
      readonly packets: PacketsWire;
      readonly attacks: {
        readonly total: number;
        readonly lasting: number;
        readonly refused: number;
        /** Packets of all attacks together. */
        readonly packets: number;
        readonly bits: number;
        /** The highest that one attack had. */
        readonly peak_pps: number;
        readonly peak_mbps: number;
      };
      readonly bans: Readonly<Record<Ban["state"], number>>;
      readonly unjudged_rows: number;
      /** Why the capture ends early. */
      readonly error?: string;
    };

export interface PacketsWire {
  readonly received: number;
  readonly counted: number;
  readonly untracked: number;
  readonly foreign: number;
  readonly parse_errors: Readonly<Record<string, number>>;
  /** The packets of `not_ip`, by Ethernet type; absent if all was IP. */
  readonly ether_types?: Readonly<Record<string, number>>;
}

export class ReplayLines {
  readonly #tenancy: Tenancy;

  constructor(config: Config) {
    this.#tenancy = new Tenancy(config);
  }

  ofEvent(event: ReplayEvent, timeMs: number): ReplayLine[] {
    const at = timestamp(timeMs);
    switch (event.kind) {
      case "attack": {
        const name = event.change === "ended" ? "attack_ended" : "attack_started";
        return [{ event: name, at, ...this.#rows(event.attack, event.ban) }];
      }
      case "ban":
        return [{ event: banEventName(event), at, ban: banToWire({ ban: event.ban, routeState: null }) }];
      case "reading": {
        const { isNewKind, isComplete } = event.reading;
        const rows = this.#rows(event.attack, event.ban);
        if (isNewKind) return [{ event: "attack_classified", at, ...rows }];
        return isComplete ? [{ event: "attack_sampled", at, ...rows }] : [];
      }
      default:
        return event satisfies never;
    }
  }

  ofTotals(totals: ReplayTotals, capture: string): ReplayLine[] {
    const { startedMs, endedMs, lasting, attacks, size, refusedAttacks, bans, unjudgedRows, error } = totals;
    const at = timestamp(endedMs ?? 0);
    return [
      ...lasting.map(({ attack, ban }) => ({ event: "attack_lasts" as const, at, ...this.#rows(attack, ban) })),
      {
        event: "summary",
        capture,
        ...(startedMs === null ? {} : { started_at: timestamp(startedMs), ended_at: at }),
        packets: packetsToWire(totals.packets),
        attacks: {
          total: attacks,
          lasting: lasting.length,
          refused: refusedAttacks,
          packets: Math.round(size.packets),
          bits: Math.round(size.bits),
          peak_pps: round(size.peakPps),
          peak_mbps: round(size.peakBps / 1e6),
        },
        bans,
        unjudged_rows: unjudgedRows,
        ...(error === null ? {} : { error }),
      },
    ];
  }

  #rows(attack: Attack, ban: Ban | null): { readonly attack: AttackWire; readonly ban?: BanWire } {
    const row = attackToWire({ attack, ban }, this.#tenancy.ownerOf(attack));
    return ban === null ? { attack: row } : { attack: row, ban: banToWire({ ban, routeState: null }) };
  }
}

export function packetsToWire({ parseErrors, etherTypes, ...totals }: PacketTotals): PacketsWire {
  const { received, counted, untracked, foreign } = totals;
  return {
    ...{ received, counted, untracked, foreign },
    parse_errors: parseErrors,
    ...(Object.keys(etherTypes).length > 0 && { ether_types: etherTypes }),
  };
}

function banEventName({ change, ban }: BanEvent): "ban_active" | "ban_changed" | "ban_withdrawn" | "ban_rejected" {
  if (ban.state !== "active") return `ban_${ban.state}`;
  return change === "changed" ? "ban_changed" : "ban_active";
}
