/**
 * One version of GoBGP's API: the calls that we use, which have the same names and fields in both versions, and the
 * conversion between our plain values and its messages. An adapter contains no decisions.
 */
import type { CallOptions, Transport } from "@connectrpc/connect";
import type { EncodedMessage } from "../encoded-message.ts";
import type { FamilyNumbers, RouteFamily } from "../route-family.ts";
import type { PeerMessage } from "../speaker/peer-message.ts";
import type {
  ApiVersion,
  ListedName,
  PathAttributes,
  PathChange,
  SpeakerGlobal,
  SpeakerPeer,
} from "../speaker/speaker-client.ts";
import type { PoliciesRequest, PolicyNumbers } from "./export-policy.ts";

/** Path, Peer and AddPaths are message types of the version. */
export interface GobgpApi<Path, Peer, AddPaths> {
  readonly version: ApiVersion;
  /** Name of the gRPC service, with its package. */
  readonly name: string;
  /** Numbers of the kinds of tables and of the lookup type for single prefixes. */
  readonly tables: { readonly global: number; readonly adjOut: number };
  readonly exactLookup: number;
  /** Number of the direction of a soft reset that sends all routes again. */
  readonly outward: number;
  readonly policy: PolicyNumbers;
  readonly service: (transport: Transport) => GobgpService<Path, Peer, AddPaths>;
  /** A request that changes the global table. */
  readonly addPathsRequest: (paths: readonly EncodedMessage[]) => AddPaths;
  readonly encodePath: (change: PathChange) => EncodedMessage;
  /** null: a kind of route that we do not send. */
  readonly toListedName: (path: Path, family: RouteFamily) => ListedName | null;
  readonly toAttributes: (path: Path) => PathAttributes;
  readonly toSpeakerPeer: (peer: Peer) => SpeakerPeer;
}

/** The calls that we use. */
export interface GobgpService<Path, Peer, AddPaths> {
  getBgp(request: object): Promise<{ global?: SpeakerGlobal | undefined }>;
  listPeer(request: object): AsyncIterable<{ peer?: Peer | undefined }>;
  addPeer(request: { peer: PeerMessage }): Promise<unknown>;
  deletePeer(request: { address: string }): Promise<unknown>;
  disablePeer(request: { address: string; communication: string }): Promise<unknown>;
  resetPeer(request: { address: string; soft: true; direction: number }): Promise<unknown>;
  setPolicies(request: PoliciesRequest): Promise<unknown>;
  addPathStream(request: AsyncIterable<AddPaths>): Promise<unknown>;
  listPath(request: ListPathRequest): AsyncIterable<{ destination?: { paths: readonly Path[] } | undefined }>;
  watchEvent(request: { peer: object }, options: CallOptions): AsyncIterable<unknown>;
}

interface ListPathRequest {
  readonly tableType: number;
  /** The neighbor of the table; empty for the global one. */
  readonly name: string;
  readonly family: FamilyNumbers;
  readonly prefixes: { prefix: string; type: number }[];
}
