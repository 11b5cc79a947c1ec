/** The section `api`: where the API listens, and who may call it (docs/interface.md#authentication). */
import { type Static, Type } from "@sinclair/typebox";
import type { SignInConfig } from "../../access/sign-in-config.ts";
import type { TokenConfig } from "../../access/token-config.ts";
import type { ApiConfig } from "../../http/api-config.ts";
import { TOKENS_MAX } from "../../limits.ts";
import { boolean, closedObject, defaultedObject, described, list, oneOf, text } from "../../schema/schema-forms.ts";
import { parseListen } from "../../schema/text-forms.ts";
import { buildOidc, OidcSection } from "./oidc.ts";

const Token = closedObject({
  name: described(text("tokenName"), "The name of the token, unique. The audit trail records it as the operator."),
  token_env: described(
    text("variableName"),
    "The environment variable with the secret, which must be visible ASCII without a comma. While it is unset, no one can call with this token.",
  ),
  role: described(
    oneOf("viewer", "operator", "agent"),
    "`viewer` reads. `operator` also bans, unbans, blocks and, without a tenant, reloads. `agent` does what a scrub node or an edge node does, and nothing else.",
  ),
  tenant: described(
    Type.Optional(text("tenantName")),
    "Limits the token to what belongs to this tenant. Not allowed with role `agent`.",
  ),
  node: described(
    Type.Optional(text("nodeName")),
    "Limits the token to one node of `scrubbing.nodes` or `edge.nodes`. Allowed with role `agent` only, and required of every agent as soon as an edge node has `hostgroups`.",
  ),
});

export const ApiSection = described(
  defaultedObject({
    listen: described(
      text("listen", { default: "127.0.0.1:8080" }),
      "The address and port of the HTTP API. An address that is not loopback requires a token. Port 0 takes any free port.",
    ),
    token_env: described(
      Type.Optional(text("variableName")),
      "A short form of `tokens` for a single operator: the environment variable with its secret. The token is called `api`. Not allowed together with `tokens`.",
    ),
    tokens: described(
      list(Token, TOKENS_MAX),
      "The tokens that callers of the API must have. While there is none, everyone who reaches the API may do everything.",
    ),
    env_file: described(
      Type.Optional(text("absolutePath")),
      "A file of `NAME=value` lines with secrets. The service reads it again whenever it changes, so that secrets can be replaced without a restart.",
    ),
    tls: described(
      Type.Optional(
        closedObject({
          cert_file: described(
            text("absolutePath"),
            "PEM with the certificate, followed by those that lead to its authority. It is read again within 5 s of a change.",
          ),
          key_file: described(text("absolutePath"), "PEM with the private key, without a passphrase."),
        }),
      ),
      "Serves the API by https. Without it, an address that is not loopback sends tokens over the network in clear.",
    ),
    dashboard: described(
      Type.Boolean({ default: true }),
      "Whether the web page is served at `/`. The page itself is public; the data that it shows needs a token.",
    ),
    metrics_token: described(
      boolean(false),
      "Whether `GET /metrics` needs a token with the rights of a viewer, and without a tenant. The metrics have the names of exporters, interfaces, rules and sets, and the addresses and ports of `telemetry.listen`.",
    ),
    oidc: described(
      Type.Optional(OidcSection),
      "How people sign in by an identity provider (OpenID Connect); see [sign-in](operations/sign-in.md). Tokens stay for programs, and for people while the provider is away.",
    ),
    shared_links: described(
      boolean(false),
      "Whether operators may make links that show one attack, incident or customer, as its tenant sees it, to people without a token, for at most 30 days. When this is switched off, links show nothing.",
    ),
  }),
  "The HTTP API and the web page.",
  {
    examples: [
      {
        listen: "192.0.2.10:8080",
        tokens: [
          { name: "noc", token_env: "FLOODWALL_TOKEN_NOC", role: "operator" },
          { name: "example", token_env: "FLOODWALL_TOKEN_EXAMPLE", role: "viewer", tenant: "example" },
        ],
        env_file: "/etc/floodwall/tokens.env",
        oidc: {
          issuer: "https://login.example.net/realms/noc",
          client_id: "floodwall",
          client_secret_env: "FLOODWALL_OIDC_SECRET",
          public_url: "https://floodwall.example.net",
          name: "Example account",
          scopes: ["openid", "profile", "groups"],
          name_claim: "email",
          roles: [{ claim: "realm_access.roles", value: "noc", role: "operator" }],
          session_hours: 8,
        },
      },
    ],
  },
);

export function buildApi(file: Static<typeof ApiSection>): ApiConfig {
  const listen = parseListen(file.listen);
  if (listen === null) throw new Error(`bug: ${file.listen} was taken for valid`);
  const tokens = file.token_env === undefined ? file.tokens.map(buildToken) : [operatorToken(file.token_env)];
  const oidc = file.oidc === undefined ? null : buildOidc(file.oidc);
  return {
    ...listen,
    tokens,
    oidc,
    callers: [...tokens, ...usersOf(oidc)],
    isShorthand: file.token_env !== undefined,
    envFile: file.env_file ?? null,
    tls: file.tls === undefined ? null : { certFile: file.tls.cert_file, keyFile: file.tls.key_file },
    dashboard: file.dashboard,
    metricsToken: file.metrics_token,
    sharedLinks: file.shared_links,
  };
}

/** Two of each tenant, so that no user alone takes more than half of the tenant's share. */
function usersOf(oidc: SignInConfig | null): readonly Pick<TokenConfig, "tenant">[] {
  const tenants = new Set((oidc?.roles ?? []).flatMap(({ tenant }) => tenant ?? []));
  return [...tenants].flatMap((tenant) => [{ tenant }, { tenant }]);
}

function buildToken({ name, token_env: tokenEnv, role, tenant, node }: Static<typeof Token>): TokenConfig {
  return { name, tokenEnv, role, tenant: tenant ?? null, node: node ?? null };
}

function operatorToken(tokenEnv: string): TokenConfig {
  return { name: "api", tokenEnv, role: "operator", tenant: null, node: null };
}
