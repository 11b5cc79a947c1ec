/** What the service tells of its own accord. Values: what becomes of them, and in which words, is each channel's affair. */
import type { Attack } from "../detection/attack/attack.ts";
import type { Ban } from "../mitigation/ban.ts";

export type NotifyEvent = AttackEvent | BanEvent | SessionEvent;

interface Occasion {
  /** The same at each attempt to deliver it. */
  readonly id: string;
  /** Wall clock, ms. */
  readonly atMs: number;
  /** Whether the service announced nothing at all at that moment. */
  readonly dryRun: boolean;
}

export interface AttackEvent extends Occasion {
  readonly kind: "attack_started" | "attack_changed" | "attack_ended";
  readonly attack: Attack;
  /** Changed: it turned into another kind of attack; otherwise it has grown. */
  readonly isNewKind: boolean;
  /** The ban that it has or had. */
  readonly ban: Ban | null;
}

export interface BanEvent extends Occasion {
  readonly kind: "ban_active" | "ban_withdrawn" | "ban_rejected";
  readonly ban: Ban;
}

export interface SessionEvent extends Occasion {
  readonly kind: "bgp_session_lost" | "bgp_session_restored";
  readonly neighbor: Neighbor;
}

export interface Neighbor {
  readonly address: string;
  readonly remoteAsn: number;
  /** Of the session, in the words of RFC 4271, lower case; `unknown` while the speaker does not answer. */
  readonly state: string;
}
