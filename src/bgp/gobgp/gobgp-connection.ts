/**
 * A connection to a gRPC server that is expected to be GoBGP: calls with a deadline, and the classification of
 * failures.
 */
import { connect as connectSocket } from "node:net";
import { Code, ConnectError, type Transport } from "@connectrpc/connect";
import { createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";
import { messageOf } from "../../system/error-message.ts";
import { SpeakerFault } from "../speaker/speaker-fault.ts";

type SpeakerTarget =
  | { readonly kind: "unix"; readonly path: string }
  | { readonly kind: "tcp"; readonly host: string; readonly port: number };

/** As in the configuration: a socket path, or host:port. */
export function parseSpeakerTarget(text: string): SpeakerTarget {
  if (text.startsWith("/")) return { kind: "unix", path: text };
  const colon = text.lastIndexOf(":");
  return { kind: "tcp", host: text.slice(0, colon).replace(/^\[(.*)\]$/, "$1"), port: Number(text.slice(colon + 1)) };
}

function targetText(target: SpeakerTarget): string {
  return target.kind === "unix" ? target.path : `${target.host}:${target.port}`;
}

export interface ConnectionOptions {
  readonly target: SpeakerTarget;
  readonly deadlineMs: number;
}

export class GobgpConnection {
  readonly transport: Transport;
  /** For logs and error texts. */
  readonly target: string;
  readonly #session: Http2SessionManager;
  /** Ends streams, which have no deadline. */
  readonly #closed = new AbortController();

  constructor({ target, deadlineMs }: ConnectionOptions) {
    this.target = targetText(target);
    // No pings: GoBGP's gRPC server closes connections that ping too often.
    const baseUrl = "http://gobgp";
    const createConnection = () =>
      target.kind === "unix" ? connectSocket(target.path) : connectSocket(target.port, target.host);
    this.#session = new Http2SessionManager(baseUrl, {}, { createConnection });
    this.transport = createGrpcTransport({ baseUrl, sessionManager: this.#session, defaultTimeoutMs: deadlineMs });
  }

  get closed(): AbortSignal {
    return this.#closed.signal;
  }

  /** Throws a SpeakerFault when the call fails. */
  async call<T>(operation: string, promise: Promise<T>): Promise<T> {
    try {
      return await promise;
    } catch (cause) {
      throw asFault({ operation, target: this.target, cause });
    }
  }

  /** Fails calls in progress. May be called twice. */
  close(): void {
    this.#closed.abort();
    this.#session.abort();
  }
}

function asFault({ operation, target, cause }: { operation: string; target: string; cause: unknown }): SpeakerFault {
  if (!(cause instanceof ConnectError)) {
    return new SpeakerFault(operation, `${target}: ${messageOf(cause)}`);
  }
  if (isOtherProtocol(cause)) {
    return new SpeakerFault(operation, `${target} answers, but not as a gRPC server: give the address of gobgpd's API`);
  }
  switch (cause.code) {
    case Code.Unimplemented:
      return new SpeakerFault(operation, `${target} does not know the call: ${cause.rawMessage}`, "unknown_call");
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

/** The answer was not HTTP/2, or was a web page. */
function isOtherProtocol({ cause, rawMessage }: ConnectError): boolean {
  if (rawMessage.startsWith("unsupported content type")) return true;
  return cause instanceof Error && "code" in cause && cause.code === "ERR_HTTP2_ERROR";
}
