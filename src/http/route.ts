/** The definition of a route: name, method, path, role, scope, body, and the call of the service. */
import type { Access, Principal } from "../access/principal.ts";
import type { AuditAction, AuditResult, AuditTargetType } from "../audit/audit-event.ts";
import type { IpAddress } from "../net/address.ts";
import type { Prefix } from "../net/prefix.ts";
import type { Refusal } from "./refusal.ts";
import type { RouteDescription } from "./route-description.ts";
import type { FieldCheck } from "./server/fields.ts";

/** A request that passed the gate. */
export interface Call {
  readonly principal: Principal;
  readonly request: Request;
  /** The parameters in the path, decoded. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** The node that the caller names, where the route's `node` says; null: none. */
  readonly node: string | null;
  /** Checks the same request again: returns the caller that a new request would have, or its refusal. */
  recheck(): Principal | Refusal;
}

/** The pipeline turns a refusal into a response. */
export type Answer = Response | Refusal | Promise<Response | Refusal>;

/** How an audited call ended: its answer, and what its audit row has beside the caller and the target. */
export interface Outcome extends OutcomePart {
  readonly response: Response;
  /** For a call with several targets: one for each, in place of the outcome's own row. Default: it has one. */
  readonly parts?: readonly OutcomePart[];
}

export interface OutcomePart {
  readonly kind: "outcome";
  /** Default: that of the route. */
  readonly action?: AuditAction;
  readonly result: AuditResult;
  /** Default: empty. */
  readonly reason?: string;
  /** Default: empty. */
  readonly banState?: string;
  /** Default: that of the service. */
  readonly dryRun?: boolean;
  /** Where the call alone does not say it. Default: as the route's rule says. */
  readonly target?: AuditTarget;
}

export interface AuditTarget {
  readonly text: string;
  readonly type: AuditTargetType;
}

export type AuditedAnswer = Answer | Outcome | Promise<Response | Refusal | Outcome>;

/** Every call with a valid token leaves an audit row, whatever the result (docs/interface.md#audit-trail). */
export interface AuditRule<Fields> {
  readonly action: AuditAction;
  readonly targetType: AuditTargetType;
  /** Empty while it is not known: `fields` is null if the call ended before they were read. */
  target(call: Call, fields: Fields | null): string;
  /** The prefix that it is on; null: it is not known. Default: what it is on is no prefix. */
  prefix?(fields: Fields | null): Prefix | null;
}

/** A longer name is none of a rule, a window or a hostgroup, and is shortened in the audit trail. */
const NAME_CHARACTERS_MAX = 63;

/** @param target by default the name in the path */
export function namedAudit<Fields>(
  rule: Pick<AuditRule<Fields>, "action" | "targetType">,
  target: AuditRule<Fields>["target"] = ({ params }) => params["name"] ?? "",
): AuditRule<Fields> {
  return { ...rule, target: (call, fields) => target(call, fields).slice(0, NAME_CHARACTERS_MAX) };
}

interface RouteLine {
  /** Label in metrics and the log. */
  readonly name: string;
  /** Matched exactly, including case and slashes; `:name` stands for a non-empty step. */
  readonly path: string;
  /** For the API's description; a test requires it for every route. */
  readonly about?: RouteDescription;
}

/** Open to all callers, unless the configuration says otherwise; also while the service starts. */
export interface OpenRoute extends RouteLine {
  readonly access: "open";
  readonly method: "GET";
  /** Whether it needs the rights of a viewer without a tenant now, by configuration. Absent: it never does. */
  readonly needsToken?: () => boolean;
  /** @param peer address that the connection comes from; null: not known. */
  handle(request: Request, peer: () => IpAddress | null): Answer;
}

interface GuardedRoute extends RouteLine {
  readonly access: Access;
  /** Tokens with a tenant are refused. */
  readonly unscopedOnly?: true;
  /** Whether answering asks the history. */
  readonly asksHistory?: true;
  /** Where the caller names its node: `?node=` (empty is none), or the `:name` of the path. */
  readonly node?: "query" | "path";
  /** Checks the parameters in the path, before the body is read. */
  checkPath?(call: Call): Refusal | null;
}

export interface ReadRoute extends GuardedRoute {
  readonly method: "GET";
  /** For what an operator must account for, like packets of users. */
  readonly audit?: AuditRule<unknown>;
  handle(call: Call): AuditedAnswer;
}

export interface CommandRoute<Fields = unknown> extends GuardedRoute {
  readonly method: "POST" | "PUT" | "DELETE";
  /** null: there are no fields; the body is empty or an empty object. */
  readonly body: FieldCheck<Fields> | null;
  /** An empty body stands for an empty object. */
  readonly isBodyOptional?: true;
  /** Default: BODY_BYTES_MAX. */
  readonly bodyBytesMax?: number;
  /** The name of the body in the refusal of a body that is too large. */
  readonly bodyName?: "report";
  readonly audit?: AuditRule<Fields>;
  handle(call: Call, fields: Fields): AuditedAnswer;
}

export type Route = OpenRoute | ReadRoute | CommandRoute;
