/** The HTTP interface of a service, as `floodwall ctl` calls it. */
import { readFileSync } from "node:fs";
import { remedyOf } from "../../mitigation/order/remedies.ts";
import { messageOf } from "../../system/error-message.ts";

/** Without an answer in this time the outcome is not known, ms: the service answers an order within 8 s. */
const ANSWER_MS = 15_000;

export type Json = Readonly<Record<string, unknown>>;

/** The service answered that it does not do this; the message is its reason. */
export class Refused extends Error {}

/** No answer, so that the outcome is not known. */
export class Unreachable extends Error {}

/** The options cannot be used. */
export class BadAccess extends Error {}

interface Access {
  readonly url: string;
  /** null: none is sent. */
  readonly token: string | null;
}

interface AccessOptions {
  readonly url?: string | undefined;
  readonly "token-file"?: string | undefined;
}

const DEFAULT_URL = "http://127.0.0.1:8080";

/** Options come before the environment. @throws BadAccess */
export function accessOf(options: AccessOptions, env: Readonly<Record<string, string | undefined>>): Access {
  const text = options.url ?? env["FLOODWALL_URL"] ?? DEFAULT_URL;
  const url = URL.parse(text);
  if (url === null || !["http:", "https:"].includes(url.protocol)) {
    throw new BadAccess(`${text} is not a URL of the service: write for example ${DEFAULT_URL}`);
  }
  const file = options["token-file"] ?? env["FLOODWALL_TOKEN_FILE"];
  return { url: url.origin, token: file === undefined ? env["FLOODWALL_TOKEN"] || null : tokenIn(file) };
}

function tokenIn(file: string): string {
  let token: string;
  try {
    token = readFileSync(file, "utf8").trim();
  } catch (cause) {
    throw new BadAccess(`the token cannot be read: ${messageOf(cause)}`);
  }
  if (/^[\x21-\x7e]+$/.test(token)) return token;
  throw new BadAccess(`${file} is not a token: write one line without spaces`);
}

export class Api {
  readonly #access: Access;

  constructor(access: Access) {
    this.#access = access;
  }

  /** @param query undefined values are left out. */
  get(path: string, query: Readonly<Record<string, string | undefined>> = {}): Promise<Json> {
    return this.#ask("GET", withQuery(path, query));
  }

  /** A page for people. @param query undefined values are left out. */
  async page(path: string, query: Readonly<Record<string, string | undefined>> = {}): Promise<string> {
    const { status, text, request, doubt } = await this.#answer("GET", withQuery(path, query), null);
    if (status < 200 || status >= 300) answered(status, text, { request, doubt });
    return text;
  }

  post(path: string, body: Json | null): Promise<Json> {
    return this.#ask("POST", path, body);
  }

  put(path: string, body: Json): Promise<Json> {
    return this.#ask("PUT", path, body);
  }

  delete(path: string, body: Json): Promise<Json> {
    return this.#ask("DELETE", path, body);
  }

  async #ask(method: string, path: string, body: Json | null = null): Promise<Json> {
    const { status, text, request, doubt } = await this.#answer(method, path, body);
    return answered(status, text, { request, doubt });
  }

  async #answer(method: string, path: string, body: Json | null) {
    const { url, token } = this.#access;
    const headers = new Headers(token === null ? {} : { authorization: `Bearer ${token}` });
    if (method !== "GET") headers.set("content-type", "application/json");
    const doubt = method === "GET" ? "" : "; whether it was carried out is not known: look before you order it again";
    let status: number;
    let text: string;
    try {
      const init = { method, headers, redirect: "error", signal: AbortSignal.timeout(ANSWER_MS) } as const;
      const answer = await fetch(
        `${url}/api/v1${path}`,
        body === null ? init : { ...init, body: JSON.stringify(body) },
      );
      [status, text] = [answer.status, await answer.text()];
    } catch (cause) {
      throw new Unreachable(`no answer of ${url}: ${messageOf(cause)}${doubt}`);
    }
    return { status, text, request: `${method} ${url}/api/v1${path}`, doubt };
  }
}

function withQuery(path: string, query: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(query).filter((pair): pair is [string, string] => pair[1] !== undefined);
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given).toString()}`;
}

/** @param doubt said where the answer is not of the service, but of a proxy before it, say. */
function answered(status: number, text: string, { request, doubt }: { request: string; doubt: string }): Json {
  const body = parsed(text);
  if (status >= 200 && status < 300) {
    if (body === null) throw new Unreachable(`${request} is not answered by Floodwall: the answer is no JSON${doubt}`);
    return body;
  }
  const { error, reason, remedy = remedyOf(String(reason)) } = body ?? {};
  const why = [error, reason].find((each) => typeof each === "string");
  if (why === undefined) throw new Unreachable(`${request} is answered ${status}${doubt}`);
  if (status === 401) throw new Refused(`${why}: give a token by FLOODWALL_TOKEN or --token-file FILE`);
  // An operator who wrote options did not write JSON.
  const said = String(why).replace(/^invalid JSON body: /, "");
  throw new Refused(typeof remedy === "string" ? `${said}: ${remedy}` : said);
}

function parsed(text: string): Json | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Json) : null;
  } catch {
    return null;
  }
}
