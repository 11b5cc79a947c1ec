/** The section `api.oidc`: how people sign in by an identity provider (OpenID Connect), and what they may do then. */

export interface SignInConfig {
  /** As the provider writes it in its tokens: compared to the character. */
  readonly issuer: string;
  readonly clientId: string;
  /** Variable with the client's secret; null: a public client. */
  readonly clientSecretEnv: string | null;
  /** Scheme, host and port by which browsers reach the dashboard, without a slash at the end. */
  readonly publicUrl: string;
  /** The name of the provider, for the button. */
  readonly label: string;
  readonly scopes: readonly string[];
  /** The claim that names the user in the audit trail and in orders. */
  readonly nameClaim: string;
  /** The first that fits a user says what the user may do; who fits none may not sign in. */
  readonly roles: readonly ClaimedRole[];
  readonly sessionSeconds: number;
}

/** For users of whom the claim has the value, alone or in a list. */
export interface ClaimedRole {
  readonly claim: string;
  readonly value: string;
  readonly role: "viewer" | "operator";
  /** null: without a tenant. */
  readonly tenant: string | null;
}

export const CALLBACK_PATH = "/api/v1/sign-in/callback";

/** The URI that must be registered at the provider. */
export function redirectUri({ publicUrl }: Pick<SignInConfig, "publicUrl">): string {
  return `${publicUrl}${CALLBACK_PATH}`;
}

/** Whether browsers reach the dashboard by https, which they require of cookies that are `Secure`. */
export function isSecure({ publicUrl }: Pick<SignInConfig, "publicUrl">): boolean {
  return publicUrl.startsWith("https:");
}
