/** Rules between the keys of `bgp`. */
import { addressFamily, parseAddress } from "../../net/address.ts";
import { communityText, isBeyondPolicies, POLICY_BEGINNINGS, parseCommunity } from "../../net/community.ts";
import type { Finding, Pruned } from "../../schema/shape.ts";
import { parseListen } from "../../schema/text-forms.ts";
import type { ConfigFile } from "../sections/schema.ts";
import { repeated } from "./repeated.ts";

type File = Pruned<ConfigFile>;

export function* grpcGoesWithExternal({ bgp }: File): Generator<Finding> {
  if (bgp?.speaker === "external" && !("grpc" in bgp)) {
    yield { path: ["bgp", "grpc"], rule: "is required with speaker external: the socket or host:port of its gRPC" };
  }
  if (bgp?.speaker === "managed" && "grpc" in bgp) {
    yield { path: ["bgp", "grpc"], rule: "goes with speaker external only: remove it" };
  }
}

export function* listenGoesWithManaged({ bgp }: File): Generator<Finding> {
  if (bgp?.speaker === "external" && "listen" in bgp) {
    yield {
      path: ["bgp", "listen"],
      rule: "goes with speaker managed only: an external speaker listens where it likes",
    };
  }
}

export function* listenAddressesFit({ bgp }: File): Generator<Finding> {
  const texts = Array.isArray(bgp?.listen) ? bgp.listen : [];
  const first = new Map<string, number>();
  let port: number | null = null;
  for (const [i, text] of texts.entries()) {
    const parsed = text === undefined ? null : parseListen(text);
    if (parsed === null) continue;
    const path = ["bgp", "listen", i];
    const other = first.get(parsed.host);
    port ??= parsed.port;
    if (other !== undefined)
      yield { path, rule: `${parsed.host} is the address of listen[${other}] already: remove one` };
    else if (parsed.port !== port) yield { path, rule: `must have the port of the first address, ${port}` };
    first.set(parsed.host, other ?? i);
  }
}

export function* managedSpeakerHasNeighbors({ bgp }: File): Generator<Finding> {
  if (bgp?.speaker === "managed" && bgp.neighbors?.length === 0) {
    yield { path: ["bgp", "neighbors"], rule: "must have at least one neighbor with speaker managed" };
  }
}

export function* neighborsAreUnique({ bgp }: File): Generator<Finding> {
  for (const [address, i, other] of repeated(bgp?.neighbors?.map((one) => parseAddress(one?.address ?? "")))) {
    const rule = `${address} is the address of neighbors[${other}] already: remove one of them`;
    yield { path: ["bgp", "neighbors", i, "address"], rule };
  }
}

export function* communitiesAreUnique({ bgp }: File): Generator<Finding> {
  const seen = new Set<string>();
  for (const [i, text] of (bgp?.communities ?? []).entries()) {
    const parsed = text === undefined ? null : parseCommunity(text);
    if (parsed === null) continue;
    const community = communityText(parsed);
    const path = ["bgp", "communities", i];
    if (seen.has(community)) yield { path, rule: `${community} is in the list already: remove one of them` };
    seen.add(community);
  }
}

export function* neighborKeysAgree({ bgp }: File): Generator<Finding> {
  for (const [i, neighbor] of (bgp?.neighbors ?? []).entries()) {
    const path = (key: string) => ["bgp", "neighbors", i, key];
    const { address, source_address: source, hold_seconds: hold = 90, keepalive_seconds: keepalive } = neighbor ?? {};
    if (neighbor?.password_file !== undefined && neighbor.password_env !== undefined)
      yield { path: path("password_file"), rule: "takes the place of password_env: remove one of them" };
    if (neighbor?.gtsm_hops !== undefined && (neighbor.multihop_ttl ?? 0) > 0)
      yield { path: path("gtsm_hops"), rule: "goes without multihop_ttl: it has a TTL of its own" };
    if (keepalive !== undefined && 3 * keepalive > hold)
      yield { path: path("keepalive_seconds"), rule: `must be at most a third of hold_seconds, ${hold}` };
    const [at, from] = [address, source].map((each) => (each === undefined ? null : parseAddress(each)));
    if (at != null && from != null && addressFamily(at) !== addressFamily(from))
      yield { path: path("source_address"), rule: `must be of the family of ${at}` };
  }
}

export function* policiesAreKnown({ bgp }: File): Generator<Finding> {
  const names = new Set<string>();
  for (const [i, policy] of (bgp?.policies ?? []).entries()) {
    if (policy?.name === undefined) continue;
    const path = ["bgp", "policies", i, "name"];
    if (names.has(policy.name))
      yield { path, rule: `${policy.name} is the name of another policy already: rename one` };
    names.add(policy.name);
  }
  for (const [i, neighbor] of (bgp?.neighbors ?? []).entries()) {
    const name = neighbor?.policy;
    if (name === undefined || names.has(name)) continue;
    const known = names.size === 0 ? "there is none" : `there are ${[...names].join(", ")}`;
    yield { path: ["bgp", "neighbors", i, "policy"], rule: `${name} is no name in bgp.policies: ${known}` };
  }
}

export function* policiesGoWithManaged({ bgp }: File): Generator<Finding> {
  if (bgp?.speaker !== "external") return;
  const rule = "goes with speaker managed only: an external speaker has an export policy of its own";
  if ((bgp.policies?.length ?? 0) > 0) yield { path: ["bgp", "policies"], rule };
  for (const key of ["announce_v4", "announce_v6"] as const) if (key in bgp) yield { path: ["bgp", key], rule };
  for (const [i, neighbor] of (bgp.neighbors ?? []).entries()) {
    if (neighbor?.dry_run === true) yield { path: ["bgp", "neighbors", i, "dry_run"], rule };
  }
}

export function* policiesFit({ bgp }: File): Generator<Finding> {
  for (const [i, policy] of (bgp?.policies ?? []).entries()) {
    const path = ["bgp", "policies", i];
    const families = policy?.families;
    const isWithoutRules = families !== undefined && !families.some((family) => family?.endsWith("flowspec"));
    if (policy?.methods?.includes("flowspec") === true && isWithoutRules)
      yield { path: [...path, "methods"], rule: "flowspec needs a FlowSpec family in families, such as ipv4-flowspec" };
  }
}

/** GoBGP's policy has no form for others, and would leave an empty attribute behind if it took all of them away. */
export function* extendedCommunitiesFit({ bgp, scrubbing, hostgroups }: File): Generator<Finding> {
  const extended = (texts: readonly (string | undefined)[] = []) => texts.filter((each) => kindOf(each) === "extended");
  const isExtended = {
    blackhole: [bgp?.communities, ...(hostgroups ?? []).map((group) => group?.bgp?.communities)],
    divert: [scrubbing?.communities, ...(hostgroups ?? []).map((group) => group?.scrubbing?.communities)],
  };
  for (const [i, policy] of (bgp?.policies ?? []).entries()) {
    const path = (method: string) => ["bgp", "policies", i, method, "communities"];
    for (const method of ["blackhole", "divert"] as const) {
      const isTaken = policy?.methods?.includes(method) ?? true;
      const own = isTaken ? policy?.[method]?.communities : undefined;
      const octets = own?.findIndex((each) => each !== undefined && isBeyondPolicies(each)) ?? -1;
      if (octets >= 0)
        yield {
          path: [...path(method), octets],
          rule: NOT_IN_POLICIES,
        };
      if (
        own !== undefined &&
        extended(own).length === 0 &&
        isExtended[method].some((each) => extended(each).length > 0)
      )
        yield {
          path: path(method),
          rule: `must have an extended community, since routes of the method ${method} have one: it cannot be taken away for a neighbor`,
        };
    }
    for (const [j, each] of (policy?.flowspec?.communities ?? []).entries()) {
      if (kindOf(each) === "extended")
        yield {
          path: [...path("flowspec"), j],
          rule: "must be standard or large: by neighbor, rules have no other extended communities",
        };
    }
  }
}

/** Each is a statement of the speaker's policy, which it tries for every route and neighbor. */
const COMMUNITIES_AT_MAX = 256;

export function* communitiesAtFit({ bgp, scrubbing, hostgroups = [] }: File): Generator<Finding> {
  const names = new Set((bgp?.policies ?? []).map((policy) => policy?.name));
  const groups = hostgroups.flatMap((group, i) => [
    { path: ["hostgroups", i, "bgp"], terms: group?.bgp },
    { path: ["hostgroups", i, "scrubbing"], terms: group?.scrubbing },
  ]);
  const seen = new Set<string>();
  for (const { path, terms } of [{ path: ["bgp"], terms: bgp }, { path: ["scrubbing"], terms: scrubbing }, ...groups]) {
    for (const [i, at] of (terms?.communities_at ?? []).entries()) {
      const here = [...path, "communities_at", i];
      if (at?.policy !== undefined && !names.has(at.policy))
        yield { path: [...here, "policy"], rule: `${at.policy} is no name in bgp.policies` };
      const own = at?.communities ?? [];
      const octets = own.findIndex((each) => each !== undefined && isBeyondPolicies(each));
      if (octets >= 0) yield { path: [...here, "communities", octets], rule: NOT_IN_POLICIES };
      const isExtended = [bgp?.communities, scrubbing?.communities, terms?.communities].some((texts) =>
        texts?.some((each) => kindOf(each) === "extended"),
      );
      if (isExtended && !own.some((each) => kindOf(each) === "extended"))
        yield {
          path: [...here, "communities"],
          rule: "must have an extended community, since routes have one: it cannot be taken away for a neighbor",
        };
      seen.add(`${at?.policy} ${own.join()}`);
    }
  }
  if (seen.size > COMMUNITIES_AT_MAX)
    yield {
      path: ["bgp", "policies"],
      rule: `have ${seen.size} different communities_at, of which there may be ${COMMUNITIES_AT_MAX}`,
    };
}

const NOT_IN_POLICIES = `must have another form: by neighbor, extended ones begin with ${POLICY_BEGINNINGS}`;

function kindOf(text: string | undefined) {
  return text === undefined ? null : (parseCommunity(text)?.kind ?? null);
}
