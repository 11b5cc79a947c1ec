/**
 * Typed calls to GoBGP 3.x over gRPC, each with a deadline. One client is one connection: after a failure it is closed
 * and another one made. Knows nothing of what the routes are for.
 */
import { connect as connectSocket } from "node:net";
import { create } from "@bufbuild/protobuf";
import { type Client, Code, ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";
import {
  AddPathStreamRequestSchema,
  type Family,
  type Global,
  GobgpApi,
  type Path,
  type Peer,
  TableLookupPrefix_Type,
  TableType,
} from "./proto/gobgp3/gobgp_pb.ts";
import { SpeakerFault } from "./speaker-fault.ts";

export type SpeakerTarget =
  | { readonly kind: "unix"; readonly path: string }
  | { readonly kind: "tcp"; readonly host: string; readonly port: number };

export interface GobgpClientOptions {
  readonly target: SpeakerTarget;
  readonly deadlineMs: number;
}

/** Bun's HTTP/2 stalls on more client-stream bytes under way than about 48 KiB: two messages of half of it each. */
export const STREAM_MESSAGE_BYTES_MAX = 24 * 1024;
const STREAM_MESSAGES_AT_ONCE = 2;

/** As in the config: a socket path, or host:port. */
export function parseSpeakerTarget(text: string): SpeakerTarget {
  if (text.startsWith("/")) return { kind: "unix", path: text };
  const colon = text.lastIndexOf(":");
  return { kind: "tcp", host: text.slice(0, colon).replace(/^\[(.*)\]$/, "$1"), port: Number(text.slice(colon + 1)) };
}

export function targetText(target: SpeakerTarget): string {
  return target.kind === "unix" ? target.path : `${target.host}:${target.port}`;
}

export class GobgpClient {
  readonly #session: Http2SessionManager;
  readonly #api: Client<typeof GobgpApi>;
  readonly #target: SpeakerTarget;
  /** Ends streams that have no deadline of their own. */
  readonly #closed = new AbortController();

  constructor({ target, deadlineMs }: GobgpClientOptions) {
    this.#target = target;
    // No pings: GoBGP's gRPC server closes a connection that pings more than it likes.
    const baseUrl = "http://gobgp";
    const createConnection = () =>
      target.kind === "unix" ? connectSocket(target.path) : connectSocket(target.port, target.host);
    this.#session = new Http2SessionManager(baseUrl, {}, { createConnection });
    const transport = createGrpcTransport({ baseUrl, sessionManager: this.#session, defaultTimeoutMs: deadlineMs });
    this.#api = createClient(GobgpApi, transport);
  }

  /** null while the speaker is up and not yet configured. */
  async getGlobal(): Promise<Global | null> {
    const { global } = await this.#call("GetBgp", this.#api.getBgp({}));
    return global === undefined || global.asn === 0 ? null : global;
  }

  async listPeers(): Promise<readonly Peer[]> {
    const peers: Peer[] = [];
    const collect = async () => {
      for await (const { peer } of this.#api.listPeer({})) if (peer !== undefined) peers.push(peer);
    };
    await this.#call("ListPeer", collect());
    return peers;
  }

  async addPeer(peer: Peer): Promise<void> {
    await this.#call("AddPeer", this.#api.addPeer({ peer }));
  }

  async deletePeer(address: string): Promise<void> {
    await this.#call("DeletePeer", this.#api.deletePeer({ address }));
  }

  /**
   * Adds each path, or replaces the one of the same family, prefix and identifier; withdraws that one where isWithdraw
   * is set, and one that is not there is no error. The API's own deletion is not used: with a field left out it deletes
   * every route of the speaker. The speaker is at work on the first paths before the last ones are asked for; no prefix
   * may come twice, since messages overtake each other.
   */
  async sendPaths(paths: Iterable<Path>): Promise<void> {
    const underWay: Promise<unknown>[] = [];
    for (const part of streamMessages(paths)) {
      if (underWay.length === STREAM_MESSAGES_AT_ONCE) await underWay.shift();
      const request = create(AddPathStreamRequestSchema, { tableType: TableType.GLOBAL, paths: part });
      const call = this.#call("AddPath", this.#api.addPathStream(oneMessage(request)));
      // Its failure is told when it is waited for, or goes under in that of an earlier one.
      call.catch(() => {});
      underWay.push(call);
    }
    await Promise.all(underWay);
  }

  /** All paths of the table that every peer's routes come together in. */
  listGlobal(family: Family): Promise<readonly Path[]> {
    return this.#listPaths({ tableType: TableType.GLOBAL, name: "", family, prefixes: [] });
  }

  /** What goes out to a neighbor; `prefixes` empty: all of it. GoBGP knows single prefixes of unicast families only. */
  listAdjOut(options: { neighbor: string; family: Family; prefixes: readonly string[] }): Promise<readonly Path[]> {
    const { neighbor, family, prefixes } = options;
    return this.#listPaths({ tableType: TableType.ADJ_OUT, name: neighbor, family, prefixes });
  }

  async #listPaths(options: {
    tableType: TableType;
    name: string;
    family: Family;
    prefixes: readonly string[];
  }): Promise<readonly Path[]> {
    const prefixes = options.prefixes.map((prefix) => ({ prefix, type: TableLookupPrefix_Type.EXACT }));
    const paths: Path[] = [];
    const collect = async () => {
      for await (const { destination } of this.#api.listPath({ ...options, prefixes })) {
        if (destination !== undefined) paths.push(...destination.paths);
      }
    };
    await this.#call("ListPath", collect());
    return paths;
  }

  /** Calls back at every change of a peer's session. Resolves or throws when the stream ends; the client is done then. */
  async watchPeers(onChange: () => void): Promise<void> {
    const watch = async () => {
      const stream = this.#api.watchEvent({ peer: {} }, { timeoutMs: 0, signal: this.#closed.signal });
      for await (const _event of stream) onChange();
    };
    await this.#call("WatchEvent", watch());
  }

  /** Calls under way fail. Twice is fine. */
  close(): void {
    this.#closed.abort();
    this.#session.abort();
  }

  async #call<T>(operation: string, promise: Promise<T>): Promise<T> {
    try {
      return await promise;
    } catch (cause) {
      throw asFault({ operation, target: targetText(this.#target), cause });
    }
  }
}

async function* oneMessage<T>(message: T): AsyncIterable<T> {
  yield message;
}

/** The paths in order, in parts that fit a message. */
export function* streamMessages(paths: Iterable<Path>): Iterable<Path[]> {
  let part: Path[] = [];
  let bytes = 0;
  for (const path of paths) {
    const size = encodedBytesMax(path);
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

/** Of a path of ours in a message; encoding each to see how long it becomes would cost as much as sending it. */
function encodedBytesMax({ nlri, pattrs }: Path): number {
  // Tag and length of the path, its family, identifier and whether it is withdrawn.
  let bytes = 24;
  for (const any of nlri === undefined ? pattrs : [nlri, ...pattrs]) {
    // Tag and length of the whole and of its two fields.
    bytes += any.typeUrl.length + any.value.length + 9;
  }
  return bytes;
}

function asFault({ operation, target, cause }: { operation: string; target: string; cause: unknown }): SpeakerFault {
  if (!(cause instanceof ConnectError)) {
    return new SpeakerFault(operation, `${target}: ${cause instanceof Error ? cause.message : String(cause)}`);
  }
  switch (cause.code) {
    case Code.Unimplemented:
      return new SpeakerFault(
        operation,
        `${target} does not offer the API of GoBGP 3 (GoBGP 4 has another one): run gobgpd 3.x there, as in Debian 12`,
      );
    case Code.DeadlineExceeded:
      return new SpeakerFault(operation, `${target} does not answer`, "silent");
    case Code.Canceled:
    case Code.Unavailable:
    case Code.Aborted:
    case Code.Internal:
      return new SpeakerFault(operation, `${target} is not reachable`, "unreachable");
    default:
      return new SpeakerFault(operation, `${target} refused: ${cause.rawMessage}`);
  }
}
