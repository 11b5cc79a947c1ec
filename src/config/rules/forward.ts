/** Rules for the tunnels of `dataplane`, of the service and of a scrub node. */
import type { Static } from "@sinclair/typebox";

import { addressFamily, type IpAddress, parseAddress } from "../../net/address.ts";
import { parsePrefix } from "../../net/prefix.ts";
import type { Finding, Pruned } from "../../schema/shape.ts";
import { isLoopback } from "../../schema/text-forms.ts";
import type { DataplaneSection } from "../sections/dataplane.ts";

/** Every link takes at least this for IPv6 (RFC 8200, 5), bytes. */
const IPV6_MTU_MIN = 1280;

type File = { readonly dataplane?: Pick<Pruned<Static<typeof DataplaneSection>>, "forward" | "tunnels"> | undefined };
type Tunnel = NonNullable<NonNullable<NonNullable<File["dataplane"]>["tunnels"]>[number]>;

const RULES = [endsFit, keysGoWithTheirKind, mtuFitsIpv6] as const;

export function* tunnelsFit({ dataplane }: File): Generator<Finding> {
  const tunnels = dataplane?.tunnels ?? [];
  if (tunnels.length > 0 && dataplane?.forward === "kernel") {
    const rule = "must be redirect with dataplane.tunnels, which the routing of the kernel knows nothing of";
    yield { path: ["dataplane", "forward"], rule };
  }
  for (const [i, tunnel] of tunnels.entries()) {
    if (tunnel === undefined) continue;
    for (const rule of RULES) {
      for (const { path, rule: text } of rule(tunnel)) yield { path: ["dataplane", "tunnels", i, ...path], rule: text };
    }
  }
  yield* networksAreInOneTunnel(tunnels);
}

function* networksAreInOneTunnel(tunnels: readonly (Tunnel | undefined)[]): Generator<Finding> {
  const first = new Map<string, string>();
  for (const [i, tunnel] of tunnels.entries()) {
    for (const [j, network] of (tunnel?.networks ?? []).entries()) {
      const text = network === undefined ? undefined : parsePrefix(network)?.text;
      if (text === undefined) continue;
      const path = `dataplane.tunnels[${i}].networks[${j}]`;
      const other = first.get(text);
      if (other === undefined) first.set(text, path);
      else {
        const rule = `${text} is there already, as ${other}: remove one of them`;
        yield { path: ["dataplane", "tunnels", i, "networks", j], rule };
      }
    }
  }
}

function* endsFit({ local, remote }: Tunnel): Generator<Finding> {
  const ends = { local: addressIn(local), remote: addressIn(remote) };
  for (const end of ["local", "remote"] as const) {
    const address = ends[end];
    if (address === null || !isNoEnd(address)) continue;
    yield { path: [end], rule: `must be the address of one machine, which ${address} is not` };
  }
  if (ends.local === null || ends.remote === null) return;
  if (ends.local === ends.remote) yield { path: ["remote"], rule: "must be another address than local" };
  const family = addressFamily(ends.local);
  if (family === addressFamily(ends.remote)) return;
  yield { path: ["remote"], rule: `must be an IPv${family} address, as local is: the outer header has both` };
}

function addressIn(text: string | undefined): IpAddress | null {
  return text === undefined ? null : parseAddress(text);
}

function isNoEnd(address: IpAddress): boolean {
  const first = Number(address.split(".")[0]);
  const isMulticast = addressFamily(address) === 6 ? address.startsWith("ff") : first >= 224 || first === 0;
  return isMulticast || isLoopback(address) || address === "::";
}

function* keysGoWithTheirKind(tunnel: Tunnel): Generator<Finding> {
  const { type } = tunnel;
  if (type === undefined) return;
  if (tunnel.key !== undefined && type !== "gre")
    yield { path: ["key"], rule: `goes with gre alone, not with ${type}` };
  for (const key of ["vni", "port", "mac"] as const) {
    if (tunnel[key] !== undefined && type !== "vxlan") {
      yield { path: [key], rule: `goes with vxlan alone, not with ${type}` };
    }
  }
  if (type !== "vxlan") return;
  if (tunnel.vni === undefined) yield { path: ["type"], rule: "vxlan needs vni, the number of its network: add it" };
  if (tunnel.mac === undefined) {
    yield { path: ["type"], rule: "vxlan needs mac, the MAC address of the far end's VXLAN interface: add it" };
  }
}

/** RFC 8200, 5. */
function* mtuFitsIpv6({ networks, mtu }: Tunnel): Generator<Finding> {
  if (mtu === undefined || mtu >= IPV6_MTU_MIN) return;
  const network = networks?.find((text) => text?.includes(":"));
  if (network === undefined) return;
  yield { path: ["mtu"], rule: `must be at least ${IPV6_MTU_MIN} for ${network}: every link of IPv6 takes as much` };
}
