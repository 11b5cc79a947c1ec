/**
 * The identity provider, by OpenID Connect: authorization code with PKCE. Its document is read in the background, again
 * and again, so that neither the start nor an answer of the service waits for a provider that is away. Knows no sessions.
 */
import * as oidc from "openid-client";
import {
  type AttemptSecrets,
  type IdentityProvider,
  ProviderFault,
  type SaidClaims,
  type Way,
} from "../access/sign-in.ts";
import { redirectUri, type SignInConfig } from "../access/sign-in-config.ts";
import { messageOf } from "../system/error-message.ts";
import type { Cancel, Timers } from "../system/timers.ts";

interface OpenIdProviderOptions {
  readonly readVariable: (name: string) => string | null;
  readonly timers: Timers;
  /** After each reading of the document, why it cannot be used; null: it can, or there is no provider. */
  readonly onRead: (error: string | null) => void;
}

/** Time limit of one request to the provider, s. */
const TIMEOUT_SECONDS = 10;
/** How often the document is read while it can be used, and while it cannot, ms. */
const REFRESH_MS = 60_000;
const RETRY_MS = 15_000;
/** Clocks of the provider and of this machine may differ by as much, s. */
const TOLERANCE_SECONDS = 30;

export class OpenIdProvider implements IdentityProvider {
  readonly #options: OpenIdProviderOptions;
  #config: SignInConfig | null = null;
  /** The metadata of the configured provider; null: it has not been read. */
  #server: oidc.ServerMetadata | null = null;
  #error: string | null = UNREAD;
  /** The latest: what an earlier one finds counts for nothing. */
  #reading = 0;
  #cancelNext: Cancel = () => {};

  constructor(options: OpenIdProviderOptions) {
    this.#options = options;
  }

  get error(): string | null {
    return this.#error;
  }

  get signOutUrl(): string | null {
    if (this.#server?.end_session_endpoint === undefined) return null;
    const usable = this.#usable();
    return usable === null ? null : oidc.buildEndSessionUrl(usable.client).href;
  }

  /** @param config null: there is none, or the service stops */
  follow(config: SignInConfig | null): void {
    const before = this.#config;
    this.#config = config;
    if (before !== null && config !== null && isSameClient(before, config)) return;
    this.#server = null;
    this.#error = UNREAD;
    this.#options.onRead(null);
    this.#read();
  }

  async urlFor({ state, nonce, verifier }: AttemptSecrets): Promise<Way | null> {
    const usable = this.#error === null ? this.#usable() : null;
    if (usable === null) return null;
    const { client, of } = usable;
    const url = oidc.buildAuthorizationUrl(client, {
      redirect_uri: redirectUri(of),
      scope: of.scopes.join(" "),
      state,
      nonce,
      code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
      code_challenge_method: "S256",
    });
    return { url: url.href, client: of };
  }

  async claims(answer: string, { state, nonce, verifier }: AttemptSecrets): Promise<SaidClaims> {
    const usable = this.#usable();
    if (usable === null) throw new ProviderFault("provider_away", this.error ?? "not known");
    const { client, of } = usable;
    try {
      const url = new URL(`${redirectUri(of)}${answer}`);
      const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier, idTokenExpected: true };
      const tokens = await oidc.authorizationCodeGrant(client, url, checks);
      const said = tokens.claims();
      if (said === undefined) throw new ProviderFault("invalid_answer", "the provider sent no ID token");
      if (client.serverMetadata().userinfo_endpoint === undefined) return { claims: said, client: of };
      // For providers that put groups there alone. Signed claims take precedence.
      const more = await oidc.fetchUserInfo(client, tokens.access_token, said.sub);
      return { claims: { ...more, ...said }, client: of };
    } catch (cause) {
      throw faultOf(cause);
    }
  }

  /**
   * With the secret as it is now, and without keys of the provider from before: those that it has replaced or withdrawn since
   * count no more. null: its document has not been read yet.
   */
  #usable(): { readonly client: oidc.Configuration; readonly of: SignInConfig } | null {
    const [server, of] = [this.#server, this.#config];
    return server === null || of === null ? null : { client: clientOf(server, of, this.#secretOf(of)), of };
  }

  #read(): void {
    this.#cancelNext();
    const config = this.#config;
    const reading = ++this.#reading;
    if (config === null) return;
    void this.#errorOf(config, () => reading === this.#reading).then((error) => {
      if (reading !== this.#reading) return;
      this.#error = error;
      this.#options.onRead(error);
      this.#cancelNext = this.#options.timers.after(error === null ? REFRESH_MS : RETRY_MS, () => this.#read());
    });
  }

  async #errorOf(config: SignInConfig, isLatest: () => boolean): Promise<string | null> {
    try {
      if (config.clientSecretEnv !== null && this.#secretOf(config) === null)
        return `the variable ${config.clientSecretEnv} is not set`;
      const server = await readProvider(config);
      if (isLatest()) this.#server = server;
      return null;
    } catch (cause) {
      return errorText(cause);
    }
  }

  #secretOf({ clientSecretEnv: name }: SignInConfig): string | null {
    return name === null ? null : this.#options.readVariable(name) || null;
  }
}

const UNREAD = "it has not answered yet";

/** The provider's document. Rejects when it cannot be used, also when it is that of another issuer. */
export async function readProvider({ issuer, clientId }: SignInConfig): Promise<oidc.ServerMetadata> {
  const execute = isPlainHttp(issuer) ? [oidc.allowInsecureRequests] : [];
  const timeout = TIMEOUT_SECONDS;
  const found = await oidc.discovery(new URL(issuer), clientId, undefined, oidc.None(), { execute, timeout });
  const server: oidc.ServerMetadata = { ...found.serverMetadata() };
  if (server.issuer !== issuer)
    throw new Error(`it names ${server.issuer} as the issuer: write that in api.oidc.issuer`);
  if (server.authorization_endpoint === undefined || server.token_endpoint === undefined)
    throw new Error("it names no authorization_endpoint, or no token_endpoint");
  if (server.code_challenge_methods_supported?.includes("S256") === false)
    throw new Error("the provider does not take PKCE with S256");
  return server;
}

export function clientOf(server: oidc.ServerMetadata, of: SignInConfig, secret: string | null): oidc.Configuration {
  const methods = server.token_endpoint_auth_methods_supported ?? ["client_secret_basic"];
  const withSecret = methods.includes("client_secret_basic") ? secretBasic : oidc.ClientSecretPost;
  const authentication = secret === null ? oidc.None() : withSecret(secret);
  const metadata = { [oidc.clockTolerance]: TOLERANCE_SECONDS };
  const client = new oidc.Configuration(server, of.clientId, metadata, authentication);
  client.timeout = TIMEOUT_SECONDS;
  // The signature too, not only the way that the token came by.
  oidc.enableNonRepudiationChecks(client);
  if (isPlainHttp(of.issuer)) oidc.allowInsecureRequests(client);
  return client;
}

/**
 * The library's `ClientSecretBasic` also encodes `-` and `_`, which need not be (RFC 6749, section 2.3.1): left as they are,
 * providers that do not decode read the same as those that do.
 */
function secretBasic(secret: string): oidc.ClientAuth {
  return (_server, { client_id: id }, _body, headers) => {
    const pair = [id, secret].map((text) => encodeURIComponent(text).replaceAll("%20", "+")).join(":");
    headers.set("authorization", `Basic ${Buffer.from(pair).toString("base64")}`);
  };
}

function isSameClient(one: SignInConfig, other: SignInConfig): boolean {
  const { issuer, clientId, clientSecretEnv } = one;
  return issuer === other.issuer && clientId === other.clientId && clientSecretEnv === other.clientSecretEnv;
}

/** The configuration allows it on loopback alone. */
function isPlainHttp(issuer: string): boolean {
  return issuer.startsWith("http:");
}

function faultOf(cause: unknown): ProviderFault {
  if (cause instanceof ProviderFault) return cause;
  const text = errorText(cause);
  if (cause instanceof oidc.AuthorizationResponseError) return new ProviderFault("denied", text, { cause });
  return new ProviderFault(isAway(cause) ? "provider_away" : "invalid_answer", text, { cause });
}

/** The request was not answered, or by an error of the provider's own. */
function isAway(cause: unknown): boolean {
  for (let error: unknown = cause; error instanceof Error; error = error.cause) {
    const code = "code" in error ? error.code : undefined;
    if (code === "OAUTH_TIMEOUT" || error.name === "TimeoutError" || error.name === "AbortError") return true;
    if (typeof code === "string" && /^E[A-Z]+$|^Connection|^FailedToOpen|CERT/.test(code)) return true;
    if (error.cause instanceof Response && error.cause.status >= 500) return true;
  }
  return cause instanceof oidc.ResponseBodyError && cause.status >= 500;
}

/** Without parameters of the answer, which may have secrets. */
export function errorText(cause: unknown): string {
  if (cause instanceof oidc.AuthorizationResponseError || cause instanceof oidc.ResponseBodyError) {
    return `the provider answered ${cause.error}`;
  }
  if (cause instanceof oidc.WWWAuthenticateChallengeError)
    return "the provider refuses the client: see client_id and its secret";
  const inner = cause instanceof Error && cause.cause instanceof Error ? `: ${messageOf(cause.cause)}` : "";
  return `${messageOf(cause)}${inner}`;
}
