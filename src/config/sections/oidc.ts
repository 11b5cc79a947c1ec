/** The section `api.oidc`: the sign-in of people by an identity provider (docs/interface.md#sign-in). */
import { type Static, Type } from "@sinclair/typebox";
import type { SignInConfig } from "../../access/sign-in-config.ts";
import { closedObject, described, integer, list, oneOf, text } from "../../schema/schema-forms.ts";

/** Lines of `api.oidc.roles`. */
const SIGN_IN_ROLES_MAX = 1000;

const Role = closedObject({
  claim: described(
    text("claimName", { default: "groups" }),
    "The name of the claim; one inside of others with dots: `realm_access.roles`.",
  ),
  value: described(text("description"), "The exact value of the claim, or of an item of its list."),
  role: described(oneOf("viewer", "operator"), "The rights, as those of a token."),
  tenant: described(Type.Optional(text("tenantName")), "Limits the users to what belongs to this tenant."),
});

export const OidcSection = closedObject({
  issuer: described(
    text("issuerUrl"),
    "The issuer of the provider, as its document at `/.well-known/openid-configuration` has it. `https`, or plain http on loopback.",
    { examples: ["https://login.example.net/realms/noc"] },
  ),
  client_id: described(text("clientName"), "The name of Floodwall as a client of the provider."),
  client_secret_env: described(
    Type.Optional(text("variableName")),
    "The environment variable with the client's secret, which `api.env_file` may have. Absent for a public client: the sign-in then rests on PKCE alone.",
  ),
  public_url: described(
    text("publicUrl"),
    "Scheme, host and port by which browsers reach the dashboard. At the provider, register this with `/api/v1/sign-in/callback` behind it as the redirect URI.",
    { examples: ["https://floodwall.example.net"] },
  ),
  name: described(text("providerName", { default: "single sign-on" }), "The name of the provider, for the button."),
  scopes: described(
    Type.Array(text("scopeName"), { maxItems: 20, default: ["openid", "profile"] }),
    "The scopes of the request to the provider. `openid` must be one of them. The provider defines the one that gives groups, often `groups`.",
  ),
  name_claim: described(
    text("claimName", { default: "preferred_username" }),
    "The claim by which the audit trail and orders name the user. The provider must keep it unique. If it is absent or cannot be shown on one line, the name is that of `sub`.",
  ),
  roles: described(
    list(Role, SIGN_IN_ROLES_MAX, { atLeastOne: true }),
    "The roles of users by a claim of theirs: the first item that fits a user counts. A user without a fitting item is refused. A change also affects users who are signed in.",
  ),
  session_hours: described(integer(1, 168, 12), "After this time a user must sign in again."),
});

export function buildOidc(file: Static<typeof OidcSection>): SignInConfig {
  return {
    issuer: file.issuer,
    clientId: file.client_id,
    clientSecretEnv: file.client_secret_env ?? null,
    publicUrl: file.public_url,
    label: file.name,
    scopes: file.scopes,
    nameClaim: file.name_claim,
    roles: file.roles.map(({ claim, value, role, tenant }) => ({ claim, value, role, tenant: tenant ?? null })),
    sessionSeconds: 3600 * file.session_hours,
  };
}
