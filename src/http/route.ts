/** A route is a line: its name, method, path, role, body, and the call of the service. */
import type { FieldCheck } from "./fields.ts";
import type { Principal, Role } from "./principal.ts";

export type Answer = Response | Promise<Response>;

interface RouteLine {
  /** Label in metrics and log. */
  readonly name: string;
  /** As it is matched: exactly, case and slashes included. */
  readonly path: string;
}

/** Open to all and at all times, also while the service starts. */
export interface OpenRoute extends RouteLine {
  readonly access: "open";
  readonly method: "GET";
  handle(): Answer;
}

export interface ReadRoute extends RouteLine {
  readonly access: Role;
  readonly method: "GET";
  handle(principal: Principal): Answer;
}

export interface CommandRoute<Fields = unknown> extends RouteLine {
  readonly access: Role;
  readonly method: "POST";
  readonly body: FieldCheck<Fields>;
  handle(principal: Principal, fields: Fields): Answer;
}

export type Route = OpenRoute | ReadRoute | CommandRoute;
