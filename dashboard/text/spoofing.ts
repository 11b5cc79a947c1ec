/**
 * Whether the source addresses of an attack may be forged: a hint from a sample of its packets, and never a verdict.
 *
 * It cannot distinguish a forger who uses few addresses, or those of real networks, from real sources. A botnet that is large
 * enough has each of its addresses in a sample once, too. Sources with private addresses are not forged where such
 * networks are one's own. Pure.
 */
import type { AttackSourcesWire } from "../../src/http/wire/attack-sources.ts";
import { t } from "../language.ts";
import { percent, wholeNumber } from "./format/numbers.ts";

export interface SpoofingHint {
  readonly kind: "forged" | "reflected" | "no_sign" | "too_few";
  readonly title: string;
  readonly reasons: readonly string[];
}

/** Fewer packets show no shares. */
export const PACKETS_MIN = 256;
/** A few packets with a private address leak from networks of others all the time. */
export const SPECIAL_SHARE_MIN = 0.02;
/** Shares of the packets with different sources, and of these sources that were seen once. */
const DISTINCT_MIN = 0.9;
const ONCE_MIN = 0.9;
/** Number of first octets of unicast addresses. */
const BLOCKS = 223;
const EVEN_MIN = 0.85;

type Counts = Pick<
  AttackSourcesWire,
  "total_packets" | "distinct_sources" | "single_sources" | "ipv4_packets" | "ipv4_blocks" | "special_packets"
>;

/** @param vector of the attack; undefined: not known. */
export function spoofingHint(counts: Counts, vector: string | undefined): SpoofingHint {
  const { total_packets: total } = counts;
  if (total < PACKETS_MIN) {
    const reason = t`The sample has ${wholeNumber(total)} packets: ${PACKETS_MIN} are needed for a hint.`;
    return { kind: "too_few", title: t`Too few packets to say whether the sources are forged`, reasons: [reason] };
  }
  const reasons = [specialReason(counts), spreadReason(counts)].filter((reason) => reason !== null);
  if (reasons.length > 0) {
    return { kind: "forged", title: t`The source addresses may be forged: blocking single ones may not help`, reasons };
  }
  if (vector?.endsWith("_amplification")) {
    const reason = t`They are servers of others that received requests in the victim's name: the senders of these are not seen here.`;
    return { kind: "reflected", title: t`The sources are reflectors, with their real addresses`, reasons: [reason] };
  }
  const reason = t`Sources come again, or from few parts of the address space. Addresses that exist can be forged too.`;
  return { kind: "no_sign", title: t`No sign that the source addresses are forged`, reasons: [reason] };
}

function specialReason({ special_packets: special, total_packets: total }: Counts): string | null {
  if (special / total < SPECIAL_SHARE_MIN) return null;
  return t`${percent(special / total)} of the packets come from addresses that are not in use on the Internet: private, documentation, reserved or multicast.`;
}

function spreadReason(counts: Counts): string | null {
  const { total_packets: total, distinct_sources: distinct, single_sources: once } = counts;
  if (distinct / total < DISTINCT_MIN || once / distinct < ONCE_MIN) return null;
  const { ipv4_packets: ipv4, ipv4_blocks: blocks } = counts;
  if (ipv4 < PACKETS_MIN || blocks < EVEN_MIN * blocksByChance(ipv4)) return null;
  return t`${wholeNumber(distinct)} different addresses in ${wholeNumber(total)} packets, nearly each seen once, spread over ${blocks} of ${BLOCKS} blocks (/8) as evenly as chance does. A very large botnet can look like that too.`;
}

/** The number of different blocks that contain `addresses` addresses, if each is drawn from all blocks. */
function blocksByChance(addresses: number): number {
  return BLOCKS * (1 - (1 - 1 / BLOCKS) ** addresses);
}
