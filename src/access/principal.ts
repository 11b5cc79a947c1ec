/** Who calls, and what a caller's role may do (docs/interface.md#roles). */

export type Role = "viewer" | "operator" | "agent";

export interface Principal {
  readonly kind: "principal";
  /** Name of the token, for the audit trail; empty on an open API. */
  readonly operator: string;
  readonly role: Role;
  /** null: not bound to a tenant. */
  readonly tenant: string | null;
  /** null: not bound to a node. */
  readonly node: string | null;
}

/** Whom a route serves. The node routes are an agent's, and an admin's to look at what a node sees. */
export type Access = Role | "agent_or_unscoped_operator";

/** On an open API: no token is configured, whoever reaches the listener is an operator. Safe on loopback only. */
export const ANYONE: Principal = { kind: "principal", operator: "", role: "operator", tenant: null, node: null };

export function isUnscoped({ tenant }: Principal): boolean {
  return tenant === null;
}

/** An operator may do what a viewer may; an agent only what is an agent's. */
export function roleAllows(role: Role, access: Access): boolean {
  if (access === "agent_or_unscoped_operator") return role === "agent" || role === "operator";
  return role === access || (role === "operator" && access === "viewer");
}
