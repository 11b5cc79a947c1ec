/** Routes that others put into the speaker beside us, with its own tool or as another service: shown, never touched. */
import { communitiesText } from "../net/community.ts";
import type { Component } from "./flowspec-nlri.ts";
import { withoutSpeakerBits } from "./flowspec-nlri.ts";
import { ROUTE_FAMILIES, type RouteFamily } from "./route-family.ts";
import { instanceOf } from "./route-path.ts";
import type { ListedPath, Nlri, SpeakerClient } from "./speaker/speaker-client.ts";

/** Routes in one answer: an external speaker may hold those of a whole network. */
const FOREIGN_ROUTES_MAX = 500;

interface ForeignRoute {
  readonly family: RouteFamily;
  /** The prefix, or what the rule matches. */
  readonly text: string;
  /** The next hop of a unicast route; "": none. */
  readonly nextHop: string;
  /** Joined by spaces. */
  readonly communities: string;
  /** The rate of a rule, bytes per second; 0 discards; null: another action, or a unicast route. */
  readonly rateBytes: number | null;
  /** The instance of another Floodwall service; null: not of one. */
  readonly instance: number | null;
}

export interface ForeignRoutes {
  readonly routes: readonly ForeignRoute[];
  /** Number of further ones. */
  readonly leftOut: number;
}

type Tables = Pick<SpeakerClient, "listGlobal">;

/** By client: all who ask while it is read get the same reading. */
const READINGS = new WeakMap<Tables, Promise<ForeignRoutes>>();

/** Those that were put in locally; what neighbors sent is left aside. @param own the instance of this service. */
export function foreignRoutes(client: Tables, own: number): Promise<ForeignRoutes> {
  const reading = READINGS.get(client) ?? read(client, own).finally(() => READINGS.delete(client));
  READINGS.set(client, reading);
  return reading;
}

async function read(client: Tables, own: number): Promise<ForeignRoutes> {
  const tables = await Promise.all(
    ROUTE_FAMILIES.map(async (family) =>
      (await client.listGlobal(family)).filter(isLocal).map((path) => ({ family, path })),
    ),
  );
  const foreign = tables.flat().filter(({ path }) => instanceOf(path) !== own);
  const routes = foreign.slice(0, FOREIGN_ROUTES_MAX).map(({ family, path }) => toForeign(family, path));
  return { routes, leftOut: foreign.length - routes.length };
}

/** GoBGP 3 writes "<nil>", GoBGP 4 an empty string. */
function isLocal({ neighborIp }: ListedPath): boolean {
  return neighborIp === "<nil>" || neighborIp === "";
}

function toForeign(family: RouteFamily, path: ListedPath): ForeignRoute {
  const { nextHop, communities, rates } = path.attributes;
  const isUnicast = path.nlri.kind === "prefix";
  return {
    family,
    text: nlriText(path.nlri),
    nextHop: isUnicast ? nextHop : "",
    communities: communitiesText(communities),
    rateBytes: isUnicast ? null : (rates[0] ?? null),
    instance: instanceOf(path),
  };
}

function nlriText(nlri: Nlri): string {
  if (nlri.kind === "prefix") return `${nlri.address}/${nlri.length}`;
  return withoutSpeakerBits(nlri.components).map(componentText).join(" ");
}

/** By the types of RFC 8955, section 4.2.2. */
const TYPE_NAMES: Readonly<Record<number, string>> = {
  1: "dst",
  2: "src",
  3: "proto",
  4: "port",
  5: "dst-port",
  6: "src-port",
  7: "icmp-type",
  8: "icmp-code",
  9: "tcp-flags",
  10: "length",
  11: "dscp",
  12: "fragment",
  13: "flow-label",
};

/** The bits of a numeric operator: AND, less, greater, equal; flags have others, which are shown as they are. */
const [AND, COMPARISONS] = [0x40, ["", "=", ">", ">=", "<", "<=", "!=", "any"]] as const;
const FLAG_TYPES = new Set([9, 12]);

function componentText(component: Component): string {
  const name = TYPE_NAMES[component.type] ?? `type-${component.type}`;
  if ("prefix" in component) return `${name} ${component.prefix}`;
  const items = component.items.map(([operator, value], i) => {
    const joint = i === 0 ? "" : (operator & AND) === 0 ? "," : "&";
    if (FLAG_TYPES.has(component.type)) return `${joint}${(operator & 0x02) === 0 ? "" : "!"}0x${value.toString(16)}`;
    const comparison = COMPARISONS[operator & 0x07] ?? "";
    return `${joint}${comparison === "=" ? "" : comparison}${value}`;
  });
  return `${name} ${items.join("")}`;
}
