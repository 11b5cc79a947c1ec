/**
 * The way of every request, in one order: route → token → role → ready → media type → size → JSON → fields → service
 * (choices, section 6). Routes are only declared; all that runs before and after their handlers is here.
 */
import type { Elysia } from "elysia";
import { BODY_BYTES_MAX } from "../limits.ts";
import type { Clock } from "../system/clock.ts";
import { jsonAnswer } from "./answer.ts";
import { isJson, parseJson, readBody } from "./body.ts";
import { type Gate, roleAllows } from "./principal.ts";
import { refuse } from "./refusal.ts";
import type { CommandRoute, ReadRoute, Route } from "./route.ts";
import { ServiceFault } from "./service.ts";

export interface PipelineOptions extends FailureOptions {
  readonly gate: Gate;
  readonly isReady: () => boolean;
  readonly clock: Pick<Clock, "monotonicMs">;
}

export interface FailureOptions {
  readonly metrics: RequestMetrics;
  /** A request failed in a way that the interface does not know; told of once and counted. */
  readonly onFailure: (route: string, cause: unknown) => void;
}

export interface RequestMetrics {
  answered(request: { route: string; method: string; status: number; seconds: number }): void;
  failed(route: string): void;
}

/** Requests to paths and methods that no route has. */
const UNKNOWN = "unknown";

/** Declares every route. GET routes answer HEAD too, without the body; any other method is as unknown as the path. */
export function register(app: Elysia, routes: readonly Route[], options: PipelineOptions): void {
  for (const route of routes) {
    // Elysia reads which parts of its context a handler names: more than `request` makes it parse the body.
    const handler = ({ request }: { request: Request }) => run(route, request, options);
    app.route(route.method, route.path, handler, { parse: "none" });
    // Said outright, since the library's own way for HEAD reads the whole answer to measure it.
    if (route.method === "GET") app.route("HEAD", route.path, handler, { parse: "none" });
  }
  app.onError(({ code, error, request }) =>
    measured(UNKNOWN, request, options, () =>
      code === "NOT_FOUND" ? refuse({ kind: "unknown_path" }) : failed(UNKNOWN, error, options),
    ),
  );
}

function run(route: Route, request: Request, options: PipelineOptions): Promise<Response> {
  return measured(route.name, request, options, () =>
    route.access === "open" ? route.handle() : guarded(route, request, options),
  );
}

async function guarded(route: ReadRoute | CommandRoute, request: Request, options: PipelineOptions): Promise<Response> {
  const principal = options.gate.admit(request);
  if (principal.kind !== "principal") return refuse(principal);
  if (!roleAllows(principal.role, route.access)) return refuse({ kind: "insufficient_role" });
  if (!options.isReady()) return refuse({ kind: "starting" });
  if (route.method === "GET") return route.handle(principal);
  if (!isJson(request.headers.get("content-type"))) return refuse({ kind: "wrong_media_type" });
  const body = await readBody(request, BODY_BYTES_MAX);
  if (body.kind !== "bytes") return refuse(body);
  const json = parseJson(body.bytes);
  if (json.kind !== "json") return refuse(json);
  const checked = route.body.check(json.value);
  if (checked.kind !== "fields") return refuse(checked);
  return route.handle(principal, checked.fields);
}

async function measured(
  name: string,
  { method }: Request,
  options: PipelineOptions,
  answer: () => Response | Promise<Response>,
): Promise<Response> {
  const { clock, metrics } = options;
  const startMs = clock.monotonicMs();
  let response: Response;
  try {
    response = await answer();
  } catch (cause) {
    response = failed(name, cause, options);
  }
  metrics.answered({ route: name, method, status: response.status, seconds: (clock.monotonicMs() - startMs) / 1000 });
  return response;
}

/** A fault says what failed; of a bug nothing gets out. */
export function failed(name: string, cause: unknown, { metrics, onFailure }: FailureOptions): Response {
  metrics.failed(name);
  onFailure(name, cause);
  if (cause instanceof ServiceFault) return jsonAnswer(503, { error: cause.message });
  return jsonAnswer(500, { error: "internal error" });
}
