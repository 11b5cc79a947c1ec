/** Rules between the keys of `bgp`. */
import { parseAddress } from "../../net/address.ts";
import { communityText, parseCommunity } from "../../net/community.ts";
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
