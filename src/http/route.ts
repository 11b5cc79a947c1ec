/** A route is a line: its name, method, path, role, scope, body, and the call of the service. */
import type { Access, Principal } from "../access/principal.ts";
import type { AuditAction, AuditResult, AuditTargetType } from "../audit/audit-event.ts";
import type { Refusal } from "./refusal.ts";
import type { RouteDescription } from "./route-description.ts";
import type { FieldCheck } from "./server/fields.ts";

/** A request that passed the gate. */
export interface Call {
  readonly principal: Principal;
  readonly request: Request;
  /** By the names of the route's path, decoded. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** The node that the caller says it is, by the route's `node`; null: none. */
  readonly node: string | null;
  /** Judges the same request anew: who a fresh one would now be from, or what it would be refused with. */
  recheck(): Principal | Refusal;
}

/** A refusal is turned into its response by the pipeline. */
export type Answer = Response | Refusal | Promise<Response | Refusal>;

/** How an audited command ended: its answer, and what its row says beyond the caller and the target. */
export interface Outcome {
  readonly kind: "outcome";
  readonly response: Response;
  readonly result: AuditResult;
  /** Default: empty. */
  readonly reason?: string;
  /** Default: empty. */
  readonly banState?: string;
  /** Default: that of the service. */
  readonly dryRun?: boolean;
}

export type CommandAnswer = Answer | Outcome | Promise<Response | Refusal | Outcome>;

/** Every call by a valid token is a row of the audit trail, whatever its end (docs/interface.md#audit-trail). */
export interface AuditRule<Fields> {
  readonly action: AuditAction;
  readonly targetType: AuditTargetType;
  /** Empty as long as it is not known: `fields` is null for a call that ended before they were read. */
  target(call: Call, fields: Fields | null): string;
}

interface RouteLine {
  /** Label in metrics and log. */
  readonly name: string;
  /** As it is matched: exactly, case and slashes included; `:name` stands for a step that is not empty. */
  readonly path: string;
  /** For those who use it; a test asks every route for it. */
  readonly about?: RouteDescription;
}

/** Open to all and at all times, also while the service starts. */
export interface OpenRoute extends RouteLine {
  readonly access: "open";
  readonly method: "GET";
  handle(request: Request): Answer;
}

interface GuardedRoute extends RouteLine {
  readonly access: Access;
  /** Tokens with a tenant are refused. */
  readonly unscopedOnly?: true;
  /** Where the caller says which node it is: `?node=` (empty is none), or the `:name` of the path. */
  readonly node?: "query" | "path";
  /** Judges the names in the path, before any body is read. */
  checkPath?(call: Call): Refusal | null;
}

export interface ReadRoute extends GuardedRoute {
  readonly method: "GET";
  handle(call: Call): Answer;
}

export interface CommandRoute<Fields = unknown> extends GuardedRoute {
  readonly method: "POST" | "DELETE";
  /** null: there are no fields; nothing, or an empty object. */
  readonly body: FieldCheck<Fields> | null;
  /** Default: BODY_BYTES_MAX. */
  readonly bodyBytesMax?: number;
  /** What a body that is too large is called. */
  readonly bodyName?: "report";
  readonly audit?: AuditRule<Fields>;
  handle(call: Call, fields: Fields): CommandAnswer;
}

export type Route = OpenRoute | ReadRoute | CommandRoute;
