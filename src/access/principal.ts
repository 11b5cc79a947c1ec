/** The caller, and what a role may do (docs/interface.md#roles). */

export type Role = "viewer" | "operator" | "agent";

export interface Principal {
  readonly kind: "principal";
  /** Name of the token or the user, for the audit trail; empty on an open API. */
  readonly operator: string;
  readonly role: Role;
  /** null: not bound to a tenant. */
  readonly tenant: string | null;
  /** null: not bound to a node. */
  readonly node: string | null;
  /** Id of the shared link that is its only right; absent: it has a token. */
  readonly link?: string;
  /** The subject of the user, which the provider gives to no other; absent: the caller has a token. */
  readonly subject?: string;
  /** Id of the browser session in which its user signed in; absent: it has a token. */
  readonly session?: string;
}

/** The roles that a route serves; `link`: callers with the secret of a shared link, who use no other route. The node routes are for agents, and for admins to see what a node sees. */
export type Access = Role | "agent_or_unscoped_operator" | "link";

/**
 * On an open API: no token is configured, so everyone who reaches the listener is an operator. Safe on loopback only.
 */
export const ANYONE: Principal = { kind: "principal", operator: "", role: "operator", tenant: null, node: null };

export function isUnscoped({ tenant }: Principal): boolean {
  return tenant === null;
}

/** An operator may do everything that a viewer may. An agent may only use the routes for agents. */
export function roleAllows(role: Role, access: Access): boolean {
  if (access === "link") return role === "viewer";
  if (access === "agent_or_unscoped_operator") return role === "agent" || role === "operator";
  return role === access || (role === "operator" && access === "viewer");
}

/**
 * A token that is bound to a node acts as that node only (docs/interface.md#node-binding). `named` is the node that the
 * request names; null: none. Whether that node exists does not matter here.
 */
export function mayActAs({ node }: Principal, named: string | null): boolean {
  return node === null || node === named;
}
