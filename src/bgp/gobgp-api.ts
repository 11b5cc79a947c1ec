/**
 * GoBGP's API in one of its versions, for what we ask of it: the calls, which have the same names and fields in both, and
 * how our plain values become messages of that version and back. An adapter decides nothing.
 */
import type { CallOptions, Transport } from "@connectrpc/connect";
import type { EncodedMessage } from "./encoded-message.ts";
import type { PeerMessage } from "./peer-message.ts";
import type { FamilyNumbers, RouteFamily } from "./route-family.ts";
import type {
  ApiVersion,
  ListedName,
  PathAttributes,
  PathChange,
  SpeakerGlobal,
  SpeakerPeer,
} from "./speaker-client.ts";

/** Path, Peer and AddPaths are messages of the version. */
export interface GobgpApi<Path, Peer, AddPaths> {
  readonly version: ApiVersion;
  /** Of the gRPC service, with its package. */
  readonly name: string;
  /** Numbers of the kinds of tables, and of a lookup of one prefix alone. */
  readonly tables: { readonly global: number; readonly adjOut: number };
  readonly exactLookup: number;
  readonly service: (transport: Transport) => GobgpService<Path, Peer, AddPaths>;
  /** Changes the global table. */
  readonly addPathsRequest: (paths: readonly EncodedMessage[]) => AddPaths;
  readonly encodePath: (change: PathChange) => EncodedMessage;
  /** null: of a kind that we do not send. */
  readonly toListedName: (path: Path, family: RouteFamily) => ListedName | null;
  readonly toAttributes: (path: Path) => PathAttributes;
  readonly toSpeakerPeer: (peer: Peer) => SpeakerPeer;
}

/** The calls that we make. */
export interface GobgpService<Path, Peer, AddPaths> {
  getBgp(request: object): Promise<{ global?: SpeakerGlobal | undefined }>;
  listPeer(request: object): AsyncIterable<{ peer?: Peer | undefined }>;
  addPeer(request: { peer: PeerMessage }): Promise<unknown>;
  deletePeer(request: { address: string }): Promise<unknown>;
  addPathStream(request: AsyncIterable<AddPaths>): Promise<unknown>;
  listPath(request: ListPathRequest): AsyncIterable<{ destination?: { paths: readonly Path[] } | undefined }>;
  watchEvent(request: { peer: object }, options: CallOptions): AsyncIterable<unknown>;
}

export interface ListPathRequest {
  readonly tableType: number;
  /** Of the neighbor whose table it is; empty for the global one. */
  readonly name: string;
  readonly family: FamilyNumbers;
  readonly prefixes: { prefix: string; type: number }[];
}
