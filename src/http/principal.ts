/** Who calls, and what a caller's role may do (interface, section 5). */
import type { Refusal } from "./refusal.ts";

export type Role = "viewer" | "operator" | "agent";

export interface Principal {
  readonly kind: "principal";
  /** Name of the token, for the audit trail; empty on an open API. */
  readonly operator: string;
  readonly role: Role;
  /** null: not bound to a tenant. */
  readonly tenant: string | null;
}

/** Finds out who calls; the first step of every request to a route that is not open to all. */
export interface Gate {
  admit(request: Request): Principal | Refusal;
}

/** No token is configured: whoever reaches the listener is an operator. Safe on loopback only. */
export const openGate: Gate = {
  admit: () => ({ kind: "principal", operator: "", role: "operator", tenant: null }),
};

/** An operator may do what a viewer may; an agent only what is an agent's. */
export function roleAllows(role: Role, needed: Role): boolean {
  return role === needed || (role === "operator" && needed === "viewer");
}
