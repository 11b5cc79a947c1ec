/** The section `api`: where the API listens, and which callers it admits. */
import type { SignInConfig } from "../access/sign-in-config.ts";
import type { TokenConfig } from "../access/token-config.ts";
import type { IpAddress } from "../net/address.ts";

export interface ApiConfig {
  readonly host: IpAddress;
  readonly port: number;
  /** Empty: the API is open. `token_env` is one operator token of the name `api`. */
  readonly tokens: readonly TokenConfig[];
  /** Whether the file uses `token_env`. */
  readonly isShorthand: boolean;
  /** Watched for variables; null: none. */
  readonly envFile: string | null;
  /** null: plain http. */
  readonly tls: { readonly certFile: string; readonly keyFile: string } | null;
  /** Whether the web page is served. */
  readonly dashboard: boolean;
  /** Whether the metrics need a token. */
  readonly metricsToken: boolean;
  /** Whether people without a token may see what a caller shares with them. */
  readonly sharedLinks: boolean;
  /** null: people sign in by a token. */
  readonly oidc: SignInConfig | null;
  /** The callers that share bounded tables: the tokens, and for each tenant of users who sign in two more. */
  readonly callers: readonly Pick<TokenConfig, "tenant">[];
}
