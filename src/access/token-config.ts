/** A token as the section `api` names it: whose it is, and what it may do. */

export interface TokenConfig {
  /** Recorded as the operator. */
  readonly name: string;
  /** Name of the environment variable with the secret. */
  readonly tokenEnv: string;
  readonly role: "viewer" | "operator" | "agent";
  /** null: not bound to a tenant. */
  readonly tenant: string | null;
  /** A node of `edge.nodes` or `scrubbing.nodes`; null: not bound to a node. */
  readonly node: string | null;
}
