/** The key `scrubbing.hook`: the diversion of a prefix to a scrubbing center in place of a route, or beside it. */

export type HookTarget =
  | { readonly kind: "command"; readonly command: string }
  /** Names of environment variables; `secretEnv` null: requests are not signed. */
  | { readonly kind: "webhook"; readonly urlEnv: string; readonly secretEnv: string | null };

export interface HookConfig {
  readonly target: HookTarget;
  /** Time limit of one request. */
  readonly timeoutSeconds: number;
  /** Failed requests to begin or to confirm, after which the diversion has failed. */
  readonly attempts: number;
  /** How long a diversion may take until it is confirmed; 0: what the hook has begun is confirmed. */
  readonly confirmSeconds: number;
  /** How often a confirmed diversion is confirmed again; 0: never. */
  readonly confirmEverySeconds: number;
  /** How long the hook is left alone after a diversion has failed. */
  readonly retryAfterSeconds: number;
  /** Requests say so: the hook does nothing, and answers as if. */
  readonly isDryRun: boolean;
}
