/** Actions of routers on packets that a rule matches, as extended communities (RFC 8955, 7, and the drafts named here). */
import type { RouterAction } from "../mitigation/rules/action.ts";
import { addressFamily, parseAddress } from "../net/address.ts";
import { type ExtendedCommunity, ipv4Number, parseCommunity } from "../net/community.ts";
import type { Prefix } from "../net/prefix.ts";

/** Types with their subtypes. */
const TYPE = {
  packetRate: 0x800c,
  marking: 0x8009,
  /** Redirect to an IPv4 next hop (draft-ietf-idr-flowspec-redirect-ip). */
  nextHop: 0x010c,
} as const;
/** A redirect (0x80, 0x81, 0x82, subtype 8) adds this to the type of a route target with the same administrator. */
const REDIRECT = 0x8008 - 0x0002;
const UINT16 = 2 ** 16;

/** For an action without an actionProblem(). */
export function routerCommunities(action: RouterAction): readonly ExtendedCommunity[] {
  switch (action.kind) {
    case "rate_limit_packets":
      return [extended(TYPE.packetRate, floatBits(action.packetsPerSecond))];
    case "mark":
      return [extended(TYPE.marking, action.dscp)];
    case "redirect":
      return redirectTo(action.to);
    default:
      return action satisfies never;
  }
}

function redirectTo(to: string): readonly ExtendedCommunity[] {
  const hop = parseAddress(to);
  if (hop !== null) return [extended(TYPE.nextHop, ipv4Number(hop) * UINT16)];
  const target = parseCommunity(to);
  return target?.kind === "extended" ? [extended(target.type + REDIRECT, target.value)] : [];
}

/** Why routers cannot do this with packets of the prefix's family; null: they can. */
export function actionProblem(action: RouterAction | undefined, { family }: Pick<Prefix, "family">): string | null {
  const hop = action?.kind === "redirect" ? parseAddress(action.to) : null;
  return hop !== null && addressFamily(hop) !== family ? `IPv${family} rules cannot redirect to ${hop}` : null;
}

function extended(type: number, value: number): ExtendedCommunity {
  return { kind: "extended", type, value };
}

/** IEEE 754, single precision. */
function floatBits(value: number): number {
  const view = new DataView(new ArrayBuffer(4));
  view.setFloat32(0, value);
  return view.getUint32(0);
}
