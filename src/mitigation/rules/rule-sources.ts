/** The few sources that send most packets. Pure. */
import { addressFamily, type IpAddress } from "../../net/address.ts";
import { enclosingPrefix, type Prefix } from "../../net/prefix.ts";
import { COMMON_PACKETS_MIN } from "./rule-bounds.ts";
import { type WeightedPacket, weightOf, weightsBy } from "./weighted-packet.ts";

const SOURCES_MAX = 4;
const SOURCE_SHARE_MIN = 0.05;
/** Prefix lengths that count as one source, narrowest first. */
const SOURCE_LENGTHS = { 4: [32, 24], 6: [128, 64, 48] } as const;

/** The prefixes that send at least `shareLeast` of the weight, hosts before networks; null: there are none. */
export function sourcesInCommon(packets: readonly WeightedPacket[], shareLeast: number): readonly Prefix[] | null {
  const [first] = packets;
  if (first === undefined || packets.length < COMMON_PACKETS_MIN) return null;
  const family = addressFamily(first.header.destination);
  const total = weightOf(packets);
  for (const length of SOURCE_LENGTHS[family]) {
    const weights = weightsBy(packets, ({ source }) => sourceText(source, family, length));
    const heaviest = [...weights].sort(([, a], [, b]) => b - a).slice(0, SOURCES_MAX);
    const chosen = heaviest.filter(([, weight]) => weight >= total * SOURCE_SHARE_MIN);
    const share = chosen.reduce((sum, [, weight]) => sum + weight, 0) / total;
    if (share >= shareLeast) return chosen.map(([address]) => enclosingPrefix(address, length));
  }
  return null;
}

function sourceText(source: IpAddress, family: 4 | 6, length: number): IpAddress | null {
  return addressFamily(source) === family ? enclosingPrefix(source, length).address : null;
}
