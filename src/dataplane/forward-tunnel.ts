/** The plan for passed packets, in the form of the addon. */
import { ADDRESS_BYTES, addressToBytes } from "../net/address.ts";
import { mappedLength, type Prefix } from "../net/prefix.ts";
import type { Tunnel } from "./dataplane-config.ts";
import type { TunnelOptions } from "./native.d.ts";

const MAC_BYTES = 6;

export interface ForwardPlan {
  readonly tunnels: readonly Tunnel[];
}

/** null: the kernel forwards. */
export function forwardPlan({ forward, tunnels }: ForwardPlan & { readonly forward: string }): ForwardPlan | null {
  return forward === "redirect" ? { tunnels } : null;
}

export function nativeTunnel({ kind, networks, local, remote, key, port, mac, mtu, mss }: Tunnel): TunnelOptions {
  return {
    kind,
    local: addressToBytes(local),
    remote: addressToBytes(remote),
    ...{ key, port, mtu },
    mac:
      mac === null ? new Uint8Array(MAC_BYTES) : Uint8Array.from(mac.split(":"), (part) => Number.parseInt(part, 16)),
    mss4: mss[4],
    mss6: mss[6],
    addresses: prefixBytes(networks),
    lengths: Uint8Array.from(networks, mappedLength),
  };
}

/** 16 bytes for each. */
export function prefixBytes(prefixes: readonly Prefix[]): Uint8Array {
  const bytes = new Uint8Array(prefixes.length * ADDRESS_BYTES);
  for (const [i, { address }] of prefixes.entries()) bytes.set(addressToBytes(address), i * ADDRESS_BYTES);
  return bytes;
}
