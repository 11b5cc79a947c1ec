/** Reads our routes in the speaker's tables: its global one, and what it sends to each neighbor. */
import { ROUTE_FAMILIES, type RouteFamily } from "./route-family.ts";
import { familyOfKey, keyOfPath, type OwnPath, type RouteKey, toOwnPath } from "./route-path.ts";
import type { Session } from "./speaker/neighbor.ts";
import type { ListedName, SpeakerClient } from "./speaker/speaker-client.ts";

/**
 * Up to this number, unicast prefixes are looked up one by one; beyond, reading a neighbor's whole Adj-RIB-Out is
 * cheaper. GoBGP cannot look up single FlowSpec routes.
 */
const SINGLE_LOOKUPS_MAX = 16;

/** Paths of all Floodwall services. */
export async function listOwnPaths(client: SpeakerClient): Promise<readonly OwnPath[]> {
  const tables = await Promise.all(ROUTE_FAMILIES.map((family) => client.listGlobal(family)));
  return tables.flat().flatMap((path) => toOwnPath(path) ?? []);
}

/** Our routes in a neighbor's Adj-RIB-Out, at least the requested ones. */
export async function listOut(options: {
  client: SpeakerClient;
  session: Session;
  keys: readonly RouteKey[];
  isOut: (path: ListedName) => boolean;
}): Promise<ReadonlySet<RouteKey>> {
  const { client, session, keys, isOut } = options;
  const keysByFamily = Map.groupBy(keys, familyOfKey);
  // The speaker also lists families that the neighbor does not support.
  const lookups = session.families.map(async (family) => {
    const ofFamily = keysByFamily.get(family) ?? [];
    if (ofFamily.length === 0) return [];
    const prefixes = canLookUpSingly(family, ofFamily) ? ofFamily : [];
    return client.listAdjOut({ neighbor: session.address, family, prefixes });
  });
  const paths = (await Promise.all(lookups)).flat();
  return new Set(paths.filter(isOut).flatMap((path) => keyOfPath(path) ?? []));
}

function canLookUpSingly(family: RouteFamily, keys: readonly RouteKey[]): boolean {
  return family.endsWith("unicast") && keys.length <= SINGLE_LOOKUPS_MAX;
}
