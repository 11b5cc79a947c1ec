/**
 * The check of the identity provider by `floodwall check --here`: its document, and whether it takes the client, its
 * secret and the redirect URI. Asks as a sign-in does, with a code that no provider has given.
 */
import * as oidc from "openid-client";
import { redirectUri, type SignInConfig } from "../access/sign-in-config.ts";
import { error, type Item, ok, warning } from "../machine/item.ts";
import { clientOf, errorText, readProvider } from "./openid-provider.ts";

const DEADLINE_MS = 10_000;
const NO_CODE = "floodwall-check";
const REFUSES_CLIENT = new Set(["invalid_client", "unauthorized_client", "access_denied", "server_error"]);

/** @param secret null: not set, or of a public client */
export async function lookAtProvider(config: SignInConfig, secret: string | null): Promise<Item[]> {
  const about = `identity provider ${config.issuer}`;
  try {
    const client = clientOf(await readProvider(config), config, secret);
    const found = ok(about, "its document can be read");
    return [found, await redirectItem(about, client, config), await clientItem(about, client, config)];
  } catch (cause) {
    return [
      error(
        about,
        `its document cannot be used: ${errorText(cause)}`,
        "correct api.oidc.issuer, or look at the provider",
      ),
    ];
  }
}

/** A provider may not send a browser on to an address that is not registered, so it answers with an error itself (RFC 6749, section 4.1.2.1). */
async function redirectItem(about: string, client: oidc.Configuration, config: SignInConfig): Promise<Item> {
  const uri = redirectUri(config);
  const url = oidc.buildAuthorizationUrl(client, {
    ...{ redirect_uri: uri, scope: config.scopes.join(" "), state: NO_CODE, nonce: NO_CODE },
    code_challenge: await oidc.calculatePKCECodeChallenge(oidc.randomPKCECodeVerifier()),
    code_challenge_method: "S256",
  });
  const answer = await fetch(url, { redirect: "manual", signal: AbortSignal.timeout(DEADLINE_MS) });
  await answer.body?.cancel();
  const register = `register ${uri} as a redirect URI of ${config.clientId} there`;
  if (answer.status >= 400) return error(about, `it answers ${answer.status} in place of its sign-in page`, register);
  const location = answer.headers.get("location") ?? "";
  const refused = location.startsWith(uri) ? new URL(location).searchParams.get("error") : null;
  return refused === null
    ? ok(about, `it takes the redirect URI ${uri}`)
    : error(about, `it refuses a sign-in: ${refused}`, "look at api.oidc.scopes, and at the client there");
}

/** RFC 6749, section 5.2: a client that it takes gets `invalid_grant` for an unknown code; some have an error of their own. */
async function clientItem(about: string, client: oidc.Configuration, config: SignInConfig): Promise<Item> {
  const { clientId, clientSecretEnv } = config;
  const url = new URL(`${redirectUri(config)}?code=${NO_CODE}&state=${NO_CODE}`);
  url.searchParams.set("iss", client.serverMetadata().issuer);
  const checks = { expectedState: NO_CODE, expectedNonce: NO_CODE, pkceCodeVerifier: oidc.randomPKCECodeVerifier() };
  try {
    await oidc.authorizationCodeGrant(client, url, checks);
    return warning(about, "it gives a token for a code that it never gave", "look at the provider");
  } catch (cause) {
    if (cause instanceof oidc.ResponseBodyError && !REFUSES_CLIENT.has(cause.error)) {
      return ok(about, `it takes the client ${clientId}`);
    }
    const what = clientSecretEnv === null ? "that it is public there" : `the secret in ${clientSecretEnv}`;
    return error(
      about,
      `it does not take the client ${clientId}: ${errorText(cause)}`,
      `compare client_id and ${what}`,
    );
  }
}
