/** The notification with which a neighbor ends its session (RFC 4271, 4.5), and what it says about our routes. */
import { familyOfNumbers, familyText, type RouteFamily } from "../route-family.ts";

export interface PeerNotification {
  readonly neighbor: string;
  readonly code: number;
  readonly subcode: number;
  readonly data: Buffer;
}

const CEASE = 6;
const TOO_MANY_PREFIXES = 1;
const OUT_OF_RESOURCES = 8;

/** RFC 4271, 4.5. */
const CODES: Readonly<Record<number, string>> = {
  1: "message header error",
  2: "OPEN message error",
  3: "UPDATE message error",
  4: "hold timer expired",
  5: "finite state machine error",
  6: "cease",
};

/** Subcodes of code 6: RFC 4486, RFC 8538, RFC 9384. */
const CEASE_SUBCODES: Readonly<Record<number, string>> = {
  1: "maximum number of prefixes reached",
  2: "administrative shutdown",
  3: "peer de-configured",
  4: "administrative reset",
  5: "connection rejected",
  6: "other configuration change",
  7: "connection collision resolution",
  8: "out of resources",
  9: "hard reset",
  10: "BFD down",
};

/** The neighbor got more routes than it takes. */
export function isPrefixLimit({ code, subcode }: PeerNotification): boolean {
  return code === CEASE && subcode === TOO_MANY_PREFIXES;
}

/** The number of routes of a family that the neighbor takes at most. */
export interface PrefixLimit {
  readonly family: RouteFamily;
  readonly routes: number;
}

/** The limit that the neighbor names (RFC 4486, 4); null: it names none. */
export function prefixLimit({ data }: PeerNotification): PrefixLimit | null {
  if (data.length < 7) return null;
  const family = familyOfNumbers({ afi: data.readUInt16BE(0), safi: data.readUInt8(2) });
  return family === null ? null : { family, routes: data.readUInt32BE(3) };
}

/** Whether the session may have ended over a route that the neighbor cannot handle. */
export function mayBlameRoute({ code, subcode }: PeerNotification): boolean {
  return code !== CEASE || subcode === OUT_OF_RESOURCES;
}

/** `cease: maximum number of prefixes reached (1000 IPv4 unicast) (BGP notification 6/1)`. */
export function notificationText(notification: PeerNotification): string {
  const { code, subcode } = notification;
  const name = CODES[code] ?? "unknown error";
  const detail = code === CEASE ? CEASE_SUBCODES[subcode] : undefined;
  const limit = isPrefixLimit(notification) ? prefixLimit(notification) : null;
  const most = limit === null ? "" : `, ${limit.routes} of ${familyText(limit.family)}`;
  return `${name}${detail === undefined ? "" : `: ${detail}`}${most} (BGP notification ${code}/${subcode})`;
}
