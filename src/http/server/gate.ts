/**
 * Identifies the caller, and checks that a node-bound token acts as its own node. Logs what looks like a setup error.
 */

import type { SharedLinks } from "../../access/guest-links.ts";
import { ANYONE, mayActAs, type Principal } from "../../access/principal.ts";
import type { SignIn } from "../../access/sign-in.ts";
import type { TokenConfig } from "../../access/token-config.ts";
import { type Secrets, Tokens } from "../../access/tokens.ts";
import type { Refusal } from "../refusal.ts";
import { cookieOf, isOwnPage } from "./browser-cookies.ts";
import { namesThisMachine } from "./own-host.ts";

export interface Gate {
  /** Before anything else of a request is looked at: pages of other sites may not use an open API. */
  refuseForeign(request: Request): Refusal | null;
  admit(request: Request): Principal | Refusal;
  /** The caller with the secret of a shared link in place of a token. */
  admitLink(request: Request): Principal | Refusal;
  /** `node` is the one that the request names; null: none. */
  bind(route: string, principal: Principal, node: string | null): Refusal | null;
}

interface TokenGateOptions {
  /** Tokens of the configuration in force. None: the API is open. */
  readonly tokens: () => readonly TokenConfig[];
  readonly secrets: Secrets;
  readonly links: Pick<SharedLinks, "of">;
  /** Browsers in which a user has signed in. */
  readonly signIn: Pick<SignIn, "config" | "sessions">;
  /** The address on which the API listens. */
  readonly host: string;
  readonly metrics: { bindingRefused(route: string): void };
  readonly log: { warn(fields: object, message: string): void };
  /** Lets a repeated warning through once a minute. */
  readonly limiter: { pass(key: string, say: (suppressed: number) => void): void };
}

/** One credential, in the header only; a second header arrives joined to the first by a comma. */
const BEARER = /^bearer +([!-+\--~]+)$/i;

const NO_VALID_TOKEN: Refusal = { kind: "no_valid_token" };

export class TokenGate implements Gate {
  readonly #options: TokenGateOptions;
  readonly #tokens: Tokens;
  /** Sessions of requests that were admitted by a cookie: it may be replaced while a stream goes on. */
  readonly #sessions = new WeakMap<Request, string>();

  constructor(options: TokenGateOptions) {
    this.#options = options;
    this.#tokens = new Tokens(options.secrets);
  }

  refuseForeign(request: Request): Refusal | null {
    const { tokens, host, log, limiter } = this.#options;
    if (tokens().length > 0 || namesThisMachine(request, host)) return null;
    const named = { host: request.headers.get("host"), origin: request.headers.get("origin") };
    limiter.pass("foreign host", (suppressed) =>
      log.warn({ ...named, suppressed }, "a request to the open API named another machine: refused"),
    );
    return { kind: "foreign_host" };
  }

  admit(request: Request): Principal | Refusal {
    const tokens = this.#options.tokens();
    if (tokens.length === 0) return ANYONE;
    const secret = secretOf(request);
    if (secret === null) return this.#admitBrowser(request);
    const meaning = this.#tokens.meaningOf(secret, tokens);
    if (meaning.kind === "principal") return meaning;
    if (meaning.kind === "ambiguous_secret") this.#logAmbiguous(meaning.names);
    return NO_VALID_TOKEN;
  }

  admitLink(request: Request): Principal | Refusal {
    const secret = secretOf(request);
    const link = secret === null ? null : this.#options.links.of(secret);
    if (link === null) return NO_VALID_TOKEN;
    // It takes part in the bounds as a token of the tenant that owns what it shows, of none as one of its own.
    return {
      kind: "principal",
      operator: `link ${link.id}`,
      role: "viewer",
      tenant: link.owner ?? "",
      node: null,
      link: link.id,
    };
  }

  /** A request with both a cookie and a token in its header counts by the latter; what else is there is of a proxy. */
  #admitBrowser(request: Request): Principal | Refusal {
    const { config, sessions } = this.#options.signIn;
    if (config === null || hasBearer(request)) return NO_VALID_TOKEN;
    const secret = cookieOf(request, "session", config);
    if (secret === null) return NO_VALID_TOKEN;
    if (!isOwnPage(request, config)) return { kind: "foreign_page" };
    const id = this.#sessions.get(request);
    const session = id === undefined ? sessions.of(secret) : sessions.get(id);
    if (session === null) return NO_VALID_TOKEN;
    this.#sessions.set(request, session.id);
    return session.principal;
  }

  bind(route: string, principal: Principal, node: string | null): Refusal | null {
    if (mayActAs(principal, node)) return null;
    const { metrics, log, limiter } = this.#options;
    const { operator: token_name, node: bound } = principal;
    metrics.bindingRefused(route);
    limiter.pass(`node binding: ${token_name}`, (suppressed) =>
      log.warn(
        { token_name, bound, named: node, route, suppressed },
        "a token that is bound to a node named another node",
      ),
    );
    return { kind: "other_node" };
  }

  #logAmbiguous(token_names: readonly string[]): void {
    const { log, limiter } = this.#options;
    limiter.pass(`ambiguous secret: ${token_names.join()}`, (suppressed) =>
      log.warn({ token_names, suppressed }, "several tokens with different rights share one secret: refused"),
    );
  }
}

function hasBearer({ headers }: Request): boolean {
  return /^bearer\b/i.test(headers.get("authorization") ?? "");
}

/** null: there is no credential. */
function secretOf(request: Request): string | null {
  return BEARER.exec(request.headers.get("authorization") ?? "")?.[1] ?? null;
}
