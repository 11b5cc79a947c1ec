/** The interfaces by which a sample's packets came into the network, if exporters say so. Pure. */
import type { Ingress, IngressKey, IngressOf } from "../../traffic/ingress.ts";
import type { SampledPacket, Share } from "./sample-shares.ts";

export interface InterfaceShare extends Ingress, Omit<Share, "key"> {
  /** Share of the packets on the wire that the sampled ones stand for: exporters sample at different rates. 0 to 1. */
  readonly share: number;
}

interface Sum {
  readonly ingress: IngressKey;
  packets: number;
  bytes: number;
  standsFor: number;
}

/** The largest first. */
export function interfacesOf(packets: readonly SampledPacket[], ingressOf: IngressOf, top: number): InterfaceShare[] {
  const sums = new Map<string, Sum>();
  let all = 0;
  for (const { ingress, wireBytes, standsFor } of packets) {
    if (ingress === undefined) continue;
    const key = `${ingress.exporter} ${ingress.input}`;
    const sum = sums.get(key) ?? { ingress, packets: 0, bytes: 0, standsFor: 0 };
    if (sum.packets === 0) sums.set(key, sum);
    sum.packets++;
    sum.bytes += wireBytes;
    sum.standsFor += standsFor;
    all += standsFor;
  }
  return [...sums.values()]
    .sort((a, b) => b.standsFor - a.standsFor)
    .flatMap(({ ingress, packets, bytes, standsFor }) => {
      const known = ingressOf(ingress);
      return known === null ? [] : { ...known, packets, bytes, share: standsFor / all };
    })
    .slice(0, top);
}
