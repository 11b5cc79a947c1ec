/** How large a set is, and whether it changed by more than lists do. Pure. */
import { ADDRESS_BYTES, isMappedAt, MAPPED_BITS } from "../net/address.ts";
import type { PrefixColumns } from "../net/prefix-columns.ts";

/** Prefixes that overlap count twice. */
export interface SetSize {
  readonly prefixes: number;
  /** Addresses of IPv4, and /48s of IPv6. */
  readonly ipv4: number;
  readonly ipv6: number;
}

/** Changes by so much always pass: of a short list each line is a large part. */
const ALWAYS: SetSize = { prefixes: 16, ipv4: 2 ** 16, ipv6: 2 ** 16 };
const WHAT: Readonly<Record<keyof SetSize, string>> = {
  prefixes: "prefixes",
  ipv4: "IPv4 addresses",
  ipv6: "IPv6 /48s",
};
const SITE_BITS = 48;

export function sizeOf({ addresses, lengths }: PrefixColumns): SetSize {
  let [ipv4, ipv6] = [0, 0];
  for (let row = 0; row < lengths.length; row++) {
    const length = lengths[row] ?? 0;
    if (length >= MAPPED_BITS && isMappedAt(addresses, ADDRESS_BYTES * row)) ipv4 += 2 ** (8 * ADDRESS_BYTES - length);
    else ipv6 += 2 ** (SITE_BITS - length);
  }
  return { prefixes: lengths.length, ipv4, ipv6 };
}

/** @param percentMax of the larger of both; 100: any change. null: it may be used. */
export function changeFault(before: SetSize, now: SetSize, percentMax: number): string | null {
  if (percentMax >= 100) return null;
  for (const key of ["prefixes", "ipv4", "ipv6"] as const) {
    const [old, next] = [before[key], now[key]];
    const change = Math.abs(next - old);
    if (change <= ALWAYS[key] || change * 100 <= percentMax * Math.max(old, next)) continue;
    const turn = next > old ? "grew" : "shrank";
    return `${turn} from ${shown(old)} to ${shown(next)} ${WHAT[key]}, more than max_change_percent allows`;
  }
  return null;
}

function shown(count: number): string {
  return String(Math.round(count));
}
