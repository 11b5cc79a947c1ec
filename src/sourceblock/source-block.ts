/**
 * A source block: packets from one source to one victim are dropped until a given time
 * (docs/interface.md#source-block).
 */
import type { IpAddress } from "../net/address.ts";

export interface Pair {
  /** Whose packets are dropped. */
  readonly source: IpAddress;
  readonly victim: IpAddress;
}

/** Whether it is virtual is no part of it: all are while the service runs dry, and none is else. */
export interface SourceBlock extends Pair {
  /** Wall clock, ms. A refresh keeps it. */
  readonly createdAt: number;
  readonly expiresAt: number;
  /** In the words of who ordered it last; may be empty. */
  readonly reason: string;
}

/** What an operator orders. */
export interface BlockOrder extends Pair {
  readonly ttlSeconds: number;
  readonly reason: string;
}

/** Unique to the pair, and its name in the audit trail (docs/interface.md#audit-target). */
export function pairName({ source, victim }: Pair): string {
  return `${source}->${victim}`;
}

export function isLive({ expiresAt }: SourceBlock, wallMs: number): boolean {
  return wallMs < expiresAt;
}

/** @param existing of the same pair, and live. */
export function blockOf(
  { source, victim, ttlSeconds, reason }: BlockOrder,
  existing: SourceBlock | null,
  wallMs: number,
): SourceBlock {
  const createdAt = existing?.createdAt ?? wallMs;
  return { source, victim, createdAt, expiresAt: wallMs + ttlSeconds * 1000, reason };
}
