/** What the section `notify` says: the channels and where they lead. */

/** A channel that is not configured is null. */
export interface NotifyConfig {
  readonly webhook: { readonly urlEnv: string; readonly secretEnv: string | null } | null;
  readonly slack: { readonly urlEnv: string } | null;
  readonly telegram: { readonly tokenEnv: string; readonly chatId: string } | null;
  readonly email: EmailConfig | null;
  readonly exec: { readonly command: string; readonly timeoutSeconds: number } | null;
}

export interface EmailConfig {
  readonly host: string;
  readonly port: number;
  readonly security: "starttls" | "tls" | "none";
  readonly from: string;
  readonly to: readonly string[];
  readonly usernameEnv: string | null;
  readonly passwordEnv: string | null;
}
