/**
 * Typed calls to GoBGP over gRPC, in the API version of the speaker. One client is one connection: after a failure it
 * is closed and replaced. Independent of the purpose of routes.
 */
import { parseCommunity } from "../../net/community.ts";
import { type EncodedMessage, encodedBytes } from "../encoded-message.ts";
import type { ExportTerms } from "../export-terms.ts";
import { familyNumbers, type RouteFamily } from "../route-family.ts";
import { peerMessage } from "../speaker/peer-message.ts";
import type {
  AdjOutQuery,
  ApiVersion,
  ListedName,
  ListedPath,
  PathChange,
  PeerSettings,
  SpeakerClient,
  SpeakerGlobal,
  SpeakerPeer,
} from "../speaker/speaker-client.ts";
import { SpeakerFault } from "../speaker/speaker-fault.ts";
import { policiesRequest } from "./export-policy.ts";
import type { GobgpApi, GobgpService } from "./gobgp-api.ts";
import { type ConnectionOptions, GobgpConnection } from "./gobgp-connection.ts";
import { gobgp3Api } from "./gobgp3-api.ts";
import { gobgp4Api } from "./gobgp4-api.ts";

/**
 * Bun's HTTP/2 stalls with more than about 48 KiB of client-stream bytes in flight: so at most two messages of half
 * that size.
 */
export const STREAM_MESSAGE_BYTES_MAX = 24 * 1024;
const STREAM_MESSAGES_AT_ONCE = 2;

/**
 * A client of a running and configured speaker. If another GoBGP version replaces it, calls fail as "unknown_call", and
 * a new connection detects the API again.
 */
export async function connectGobgp(options: ConnectionOptions): Promise<SpeakerClient> {
  const connection = new GobgpConnection(options);
  try {
    const client = (await clientOf(connection, gobgp4Api)) ?? (await clientOf(connection, gobgp3Api));
    if (client !== null) return client;
    const known = [gobgp4Api, gobgp3Api].map(({ name, version }) => `${name} (gobgpd ${version}.x)`).join(" nor ");
    throw new SpeakerFault("GetBgp", `${connection.target} is a gRPC server with neither ${known}: run gobgpd there`);
  } catch (fault) {
    connection.close();
    throw fault;
  }
}

/** null: the speaker does not offer this API. */
async function clientOf<Path, Peer, AddPaths>(
  connection: GobgpConnection,
  api: GobgpApi<Path, Peer, AddPaths>,
): Promise<SpeakerClient | null> {
  const service = api.service(connection.transport);
  try {
    const { global } = await connection.call("GetBgp", service.getBgp({}));
    if (global !== undefined && global.asn !== 0) {
      prepareCodec(api);
      return new GobgpClient({ connection, api, service, global });
    }
  } catch (fault) {
    if (fault instanceof SpeakerFault && fault.kind === "unknown_call") return null;
    throw fault;
  }
  throw new SpeakerFault("GetBgp", `${connection.target} is up, but not configured yet`, "unconfigured");
}

/** The codec makes its tables at the first message of each kind, in some milliseconds that the first attack must not pay. */
function prepareCodec({
  encodePath,
  addPathsRequest,
}: Pick<GobgpApi<never, never, unknown>, "encodePath" | "addPathsRequest">): void {
  const communities = ["1:1", "rt:1:1", "1:1:1"].flatMap((text) => parseCommunity(text) ?? []);
  const attributes = { nextHop: "192.0.2.1", communities, marks: [], localPref: 1, rates: [0] };
  const components = [
    { type: 1, prefix: "192.0.2.1/32" },
    { type: 3, items: [[1, 17]] },
  ] as const;
  const paths = [
    { family: "ipv4-unicast", nlri: { kind: "prefix", address: "192.0.2.1", length: 32 } },
    { family: "ipv4-flowspec", nlri: { kind: "flowspec", components } },
  ] as const;
  addPathsRequest(paths.map((path) => encodePath({ ...path, identifier: 1, attributes })));
}

interface GobgpClientParts<Path, Peer, AddPaths> {
  readonly connection: GobgpConnection;
  readonly api: GobgpApi<Path, Peer, AddPaths>;
  readonly service: GobgpService<Path, Peer, AddPaths>;
  readonly global: SpeakerGlobal;
}

class GobgpClient<Path, Peer, AddPaths> implements SpeakerClient {
  readonly #connection: GobgpConnection;
  readonly #api: GobgpApi<Path, Peer, AddPaths>;
  readonly #service: GobgpService<Path, Peer, AddPaths>;
  readonly global: SpeakerGlobal;

  constructor({ connection, api, service, global }: GobgpClientParts<Path, Peer, AddPaths>) {
    this.#connection = connection;
    this.#api = api;
    this.#service = service;
    this.global = global;
  }

  get apiVersion(): ApiVersion {
    return this.#api.version;
  }

  async listPeers(): Promise<readonly SpeakerPeer[]> {
    const peers: SpeakerPeer[] = [];
    const collect = async () => {
      for await (const { peer } of this.#service.listPeer({})) {
        if (peer !== undefined) peers.push(this.#api.toSpeakerPeer(peer));
      }
    };
    await this.#connection.call("ListPeer", collect());
    return peers;
  }

  async addPeer(peer: PeerSettings): Promise<void> {
    await this.#connection.call("AddPeer", this.#service.addPeer({ peer: peerMessage(peer) }));
  }

  async deletePeer(address: string): Promise<void> {
    await this.#connection.call("DeletePeer", this.#service.deletePeer({ address }));
  }

  async disablePeer(address: string): Promise<void> {
    await this.#connection.call("DisablePeer", this.#service.disablePeer({ address, communication: "" }));
  }

  async setExportPolicy(terms: ExportTerms): Promise<void> {
    const request = policiesRequest(terms, this.#api.policy);
    await this.#connection.call("SetPolicies", this.#service.setPolicies(request));
  }

  async resend(address: string): Promise<void> {
    const request = { address, soft: true, direction: this.#api.outward } as const;
    await this.#connection.call("ResetPeer", this.#service.resetPeer(request));
  }

  /** Does not use the deletion call: if a field is missing, it deletes all routes of the speaker. */
  async sendPaths(changes: Iterable<PathChange>): Promise<void> {
    const underWay: Promise<unknown>[] = [];
    for (const part of streamMessages(changes, this.#api.encodePath)) {
      if (underWay.length === STREAM_MESSAGES_AT_ONCE) await underWay.shift();
      const request = oneMessage(this.#api.addPathsRequest(part));
      const call = this.#connection.call("AddPath", this.#service.addPathStream(request));
      // The failure is reported where the call is awaited, or an earlier failure hides it.
      call.catch(() => {});
      underWay.push(call);
    }
    await Promise.all(underWay);
  }

  async listGlobal(family: RouteFamily): Promise<readonly ListedPath[]> {
    const { tables, toListedName, toAttributes } = this.#api;
    return this.#listPaths({ tableType: tables.global, name: "", family, prefixes: [] }, (path) => {
      const name = toListedName(path, family);
      return name === null ? null : { ...name, attributes: toAttributes(path) };
    });
  }

  async listAdjOut({ neighbor, family, prefixes }: AdjOutQuery): Promise<readonly ListedName[]> {
    const { tables, toListedName } = this.#api;
    return this.#listPaths({ tableType: tables.adjOut, name: neighbor, family, prefixes }, (path) =>
      toListedName(path, family),
    );
  }

  async #listPaths<Listed>(
    query: { tableType: number; name: string; family: RouteFamily; prefixes: readonly string[] },
    toListed: (path: Path) => Listed | null,
  ): Promise<readonly Listed[]> {
    const prefixes = query.prefixes.map((prefix) => ({ prefix, type: this.#api.exactLookup }));
    const request = { ...query, family: familyNumbers(query.family), prefixes };
    const listed: Listed[] = [];
    const collect = async () => {
      for await (const { destination } of this.#service.listPath(request)) {
        for (const path of destination?.paths ?? []) {
          const one = toListed(path);
          if (one !== null) listed.push(one);
        }
      }
    };
    await this.#connection.call("ListPath", collect());
    return listed;
  }

  async watchPeers(onChange: () => void): Promise<void> {
    const watch = async () => {
      const options = { timeoutMs: 0, signal: this.#connection.closed };
      for await (const _event of this.#service.watchEvent({ peer: {} }, options)) onChange();
    };
    await this.#connection.call("WatchEvent", watch());
  }

  close(): void {
    this.#connection.close();
  }
}

async function* oneMessage<T>(message: T): AsyncIterable<T> {
  yield message;
}

/** The encoded paths in order, in parts that fit into a message. */
export function* streamMessages(
  changes: Iterable<PathChange>,
  encode: (change: PathChange) => EncodedMessage,
): Iterable<EncodedMessage[]> {
  let part: EncodedMessage[] = [];
  let bytes = 0;
  for (const change of changes) {
    const path = encode(change);
    const size = encodedBytes(path) + FIELD_BYTES_MAX;
    if (part.length > 0 && bytes + size > STREAM_MESSAGE_BYTES_MAX) {
      yield part;
      part = [];
      bytes = 0;
    }
    part.push(path);
    bytes += size;
  }
  if (part.length > 0) yield part;
}

/** Maximum size of a path's tag and length. */
const FIELD_BYTES_MAX = 4;
