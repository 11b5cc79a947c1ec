/**
 * Calls of etcd's JSON gateway with `fetch`: one endpoint at a time, the next one when it fails; signs in with user and
 * password and again when the token is refused. Knows nothing of what the keys mean. All calls made through it are safe
 * to repeat, since a call whose answer was lost is made again at another endpoint.
 */
import { messageOf } from "../../system/error-message.ts";
import type { Timers } from "../../system/timers.ts";
import { EtcdFault, type EtcdFaultKind, isOfMember, kindOfRefusal } from "./etcd-fault.ts";
import type { EtcdSecrets } from "./etcd-secrets.ts";
import { asObject, type Json, textIn } from "./etcd-wire.ts";

/** Over this time an endpoint counts as failed: a member that is frozen still has open connections. */
const ATTEMPT_MS = 1500;
/** Bytes of an answer. etcd refuses requests above 1.5 MiB, so that single records are far below. */
const ANSWER_BYTES_MAX = 8 * 1024 * 1024;
/** Bytes of one message of a watch. */
const MESSAGE_BYTES_MAX = 16 * 1024 * 1024;

interface GatewayObserver {
  /** `fault` null: the call succeeded. */
  called(fault: EtcdFaultKind | null): void;
  movedTo(endpoint: URL, cause: EtcdFault): void;
}

interface GatewayOptions {
  readonly endpoints: readonly URL[];
  readonly secrets: Pick<EtcdSecrets, "tls" | "login">;
  readonly timers: Pick<Timers, "after">;
  readonly observer: GatewayObserver;
  /** How long an endpoint may take for one call; default: ATTEMPT_MS. */
  readonly attemptMs?: number;
}

export interface CallOptions {
  /** Only this endpoint; default: the current one, then each of the others. */
  readonly endpoint?: URL;
}

export class GatewayClient {
  readonly #options: GatewayOptions;
  readonly #open = new Set<AbortController>();
  #current = 0;
  #isClosed = false;
  /** null: not signed in; a promise: signing in. */
  #token: Promise<string | null> | null = null;

  constructor(options: GatewayOptions) {
    this.#options = options;
  }

  /** Where calls go now. */
  get endpoint(): URL {
    return this.#options.endpoints[this.#current] as URL;
  }

  /** Rejects with an EtcdFault: that of the last endpoint. */
  async call(path: string, body: Json, { endpoint }: CallOptions = {}): Promise<Json> {
    const { observer, endpoints } = this.#options;
    for (let attempt = 1; ; attempt++) {
      const target = endpoint ?? this.endpoint;
      try {
        const answer = await this.#signedIn(target, path, body);
        observer.called(null);
        return answer;
      } catch (cause) {
        const fault = faultOf(cause, target, path);
        if (endpoint !== undefined || !isOfMember(fault.kind) || attempt >= endpoints.length) {
          if (endpoint === undefined) this.leave(target, fault);
          observer.called(fault.kind);
          throw fault;
        }
        this.leave(target, fault);
      }
    }
  }

  /**
   * Messages of a stream, until it ends or is aborted: each is handed over before the next is read. Rejects with an
   * EtcdFault.
   */
  async stream(path: string, body: Json, take: (result: Json) => void, abort: AbortController): Promise<void> {
    const target = this.endpoint;
    this.#open.add(abort);
    try {
      const token = await this.#tokenFor(target);
      const response = await this.#post(target, path, body, token, abort);
      if (!response.ok) throw await refusalOf(response);
      for await (const line of linesOf(response)) take(resultOf(line));
    } catch (cause) {
      const fault = faultOf(cause, target, path);
      if (fault.kind === "sign_in") this.#token = null;
      throw fault;
    } finally {
      this.#open.delete(abort);
    }
  }

  /** Calls go to the next endpoint, unless they have left this one already. */
  leave(endpoint: URL, cause: EtcdFault): void {
    const { endpoints, observer } = this.#options;
    if (endpoints.length === 1 || this.endpoint !== endpoint || !isOfMember(cause.kind)) return;
    this.#current = (this.#current + 1) % endpoints.length;
    observer.movedTo(this.endpoint, cause);
  }

  close(): void {
    this.#isClosed = true;
    for (const abort of this.#open) abort.abort();
  }

  /**
   * A token that is refused (a member was restarted, or users were changed) is renewed once. One of data that are gone is
   * not even refused: etcd waits until its log is as long as it was then. So no token outlives a call without an answer.
   */
  async #signedIn(target: URL, path: string, body: Json): Promise<Json> {
    const held = this.#token;
    try {
      return await this.#answer(target, path, body, await this.#tokenFor(target));
    } catch (cause) {
      const isSignIn = cause instanceof EtcdFault && cause.kind === "sign_in";
      if (this.#token === held) this.#token = null;
      if (!isSignIn || held === null || this.#options.secrets.login() === null) throw cause;
      return this.#answer(target, path, body, await this.#tokenFor(target));
    }
  }

  /** null: no user is configured, or etcd has no authentication. */
  #tokenFor(target: URL): Promise<string | null> {
    if (this.#token !== null) return this.#token;
    const signingIn = this.#signIn(target);
    this.#token = signingIn;
    signingIn.catch(() => {
      if (this.#token === signingIn) this.#token = null;
    });
    return signingIn;
  }

  async #signIn(target: URL): Promise<string | null> {
    const login = this.#options.secrets.login();
    if (login === null) return null;
    try {
      return textIn(await this.#answer(target, "/v3/auth/authenticate", login, null), "token");
    } catch (cause) {
      if (cause instanceof EtcdFault && cause.message.includes("authentication is not enabled")) return null;
      throw cause;
    }
  }

  async #answer(target: URL, path: string, body: Json, token: string | null): Promise<Json> {
    const abort = new AbortController();
    const { timers, attemptMs = ATTEMPT_MS } = this.#options;
    let isLate = false;
    const cancel = timers.after(attemptMs, () => {
      isLate = true;
      abort.abort();
    });
    this.#open.add(abort);
    try {
      const response = await this.#post(target, path, body, token, abort);
      if (!response.ok) throw await refusalOf(response);
      return asObject(parsed(await boundedText(response, ANSWER_BYTES_MAX)));
    } catch (cause) {
      if (isLate) throw new EtcdFault("unreachable", `no answer within ${attemptMs} ms`);
      throw cause;
    } finally {
      cancel();
      this.#open.delete(abort);
    }
  }

  #post(target: URL, path: string, body: Json, token: string | null, abort: AbortController): Promise<Response> {
    if (this.#isClosed) throw new EtcdFault("closed", "the service is stopping");
    return fetch(new URL(path, target), {
      method: "POST",
      headers: {
        "content-type": "application/json",
        "user-agent": "Floodwall",
        ...(token !== null && { authorization: token }),
      },
      body: JSON.stringify(body),
      signal: abort.signal,
      redirect: "manual",
      decompress: false,
      ...(target.protocol === "https:" && { tls: this.#options.secrets.tls() }),
    });
  }
}

/** `{"error": …, "code": …}`, in newer versions with `message`; texts of other servers are not repeated. */
async function refusalOf(response: Response): Promise<EtcdFault> {
  const text = await boundedText(response, ANSWER_BYTES_MAX).catch(() => "");
  if (text.startsWith("CommonName of client"))
    return new EtcdFault(
      "certificate",
      "it takes no client certificate with a common name while its authentication is on",
    );
  try {
    return refusalIn(JSON.parse(text)) ?? new EtcdFault("unusable", `it answered ${response.status}`);
  } catch {
    return new EtcdFault("unusable", `it answered ${response.status} without JSON`);
  }
}

function refusalIn(body: unknown): EtcdFault | null {
  if (typeof body !== "object" || body === null) return null;
  const { code, error, message } = body as Json;
  const text = typeof message === "string" ? message : error;
  if (typeof text !== "string") return null;
  const words = text.slice(0, 200);
  return new EtcdFault(kindOfRefusal(Number(code), words), words);
}

/** The result in one line of a stream. */
function resultOf(line: string): Json {
  const message = asObject(parsed(line));
  if (message["error"] === undefined) return asObject(message["result"]);
  const { grpc_code: grpcCode, code = grpcCode, message: text } = asObject(message["error"]);
  throw refusalIn({ code, error: text }) ?? new EtcdFault("unusable", "an error that it does not name");
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new EtcdFault("unusable", "the answer is not JSON");
  }
}

async function boundedText(response: Response, bytesMax: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of chunksOf(response)) {
    bytes += chunk.length;
    if (bytes > bytesMax) throw new EtcdFault("unusable", `the answer has more than ${bytesMax} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

async function* linesOf(response: Response): AsyncGenerator<string> {
  let rest: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of chunksOf(response)) {
    let from = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
      yield Buffer.concat([...rest, chunk.subarray(from, end)]).toString("utf8");
      [rest, bytes, from] = [[], 0, end + 1];
    }
    rest.push(Buffer.from(chunk.subarray(from)));
    bytes += chunk.length - from;
    if (bytes > MESSAGE_BYTES_MAX)
      throw new EtcdFault("unusable", `a message has more than ${MESSAGE_BYTES_MAX} bytes`);
  }
}

async function* chunksOf({ body }: Response): AsyncGenerator<Uint8Array> {
  if (body === null) return;
  // Leaving the loop cancels the stream, and with it the connection.
  for await (const chunk of body as unknown as AsyncIterable<Uint8Array>) yield chunk;
}

function faultOf(cause: unknown, endpoint: URL, path: string): EtcdFault {
  const kind = cause instanceof EtcdFault ? cause.kind : "unreachable";
  return new EtcdFault(kind, `etcd ${endpoint.host}: ${path}: ${messageOf(cause)}`, { cause });
}
