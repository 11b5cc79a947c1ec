/**
 * A source block: packets from one source to one victim are dropped until a given time
 * (docs/interface.md#source-block).
 */
import { ADMINISTRATOR, type Holder } from "../access/shares.ts";
import type { IpAddress } from "../net/address.ts";

export interface Pair {
  /** The sender whose packets are dropped. */
  readonly source: IpAddress;
  readonly victim: IpAddress;
}

/** Dry run is not a property of a block: in dry run all blocks are virtual, otherwise none is. */
export interface SourceBlock extends Pair {
  /** Wall clock, ms. A refresh does not change it. */
  readonly createdAt: number;
  readonly expiresAt: number;
  /** Text of the last operator; may be empty. */
  readonly reason: string;
  /** The token and the tenant whose share it takes; absent: the administrator's. */
  readonly operator?: string;
  readonly tenant?: string;
}

/** An operator's request. */
export interface BlockRequest extends Pair {
  readonly ttlSeconds: number;
  readonly reason: string;
  /** Absent: the administrator. */
  readonly by?: Holder;
}

export function holderOf({ operator, tenant }: Pick<SourceBlock, "operator" | "tenant">): Holder {
  return { operator: operator ?? "", tenant: tenant ?? null };
}

/** In whose share a block is: the administrator's stays so. @param existing the live block of the same pair. */
export function nextHolder(by: Holder, existing: SourceBlock | null): Holder {
  return existing !== null && existing.tenant === undefined ? ADMINISTRATOR : by;
}

/** A unique name, also used in the audit trail (docs/interface.md#audit-target). */
export function pairName({ source, victim }: Pair): string {
  return `${source}->${victim}`;
}

export function isLive({ expiresAt }: SourceBlock, wallMs: number): boolean {
  return wallMs < expiresAt;
}

/** @param existing the live block of the same pair. */
export function blockOf(
  { source, victim, ttlSeconds, reason, by = ADMINISTRATOR }: BlockRequest,
  existing: SourceBlock | null,
  wallMs: number,
): SourceBlock {
  const createdAt = existing?.createdAt ?? wallMs;
  const { operator, tenant } = nextHolder(by, existing);
  const share = tenant === null ? {} : { operator, tenant };
  return { source, victim, createdAt, expiresAt: wallMs + ttlSeconds * 1000, reason, ...share };
}

/** The inverse of pairName(). */
export function pairOfName(name: string): Pair {
  const [source = "", victim = ""] = name.split("->") as IpAddress[];
  return { source: source as IpAddress, victim: victim as IpAddress };
}
