/**
 * Handles every request in a fixed order: route → host → token → role and scope → node binding → ready → media type → keys of
 * the query → names in the path → size → JSON → fields → service (docs/interface.md#order-of-checks). Routes are only declared; everything
 * before and after their handlers is here.
 */
import { Elysia } from "elysia";
import { isUnscoped, type Principal, roleAllows } from "../../access/principal.ts";
import type { AuditTrail } from "../../audit/audit-event.ts";
import { BODY_BYTES_MAX } from "../../limits.ts";
import { type IpAddress, parseAddress } from "../../net/address.ts";
import type { Clock } from "../../system/clock.ts";
import { type Soon, whenThere } from "../../system/soon.ts";
import { auditRows, type Ended } from "../audit-row.ts";
import { BackendFault, HistoryFault } from "../backend.ts";
import { type Refusal, refuse } from "../refusal.ts";
import type { AuditRule, Call, CommandRoute, ReadRoute, Route } from "../route.ts";
import { isJson, parseJson, readBody } from "./body.ts";
import { Compression } from "./compression.ts";
import { type Fields, noFields } from "./fields.ts";
import type { Gate } from "./gate.ts";
import { unknownKey } from "./query.ts";
import type { RequestShares, SharedRequest } from "./request-shares.ts";
import { NO_PARAMETERS, readTarget } from "./request-target.ts";
import type { RequestTurns } from "./request-turns.ts";

interface PipelineOptions extends FailureOptions {
  readonly gate: Gate;
  readonly isReady: () => boolean;
  readonly isDryRun: () => boolean;
  /** null: audit events are not recorded. */
  readonly audit: AuditTrail | null;
  readonly clock: Clock;
  readonly turns: RequestTurns;
  readonly shares: RequestShares;
}

export interface FailureOptions {
  readonly metrics: RequestMetrics;
  /** A request failed unexpectedly; called once per failure, which is logged and counted. */
  readonly onFailure: (route: string, cause: unknown) => void;
}

interface RequestMetrics {
  answered(request: { route: string; method: string; status: number; seconds: number }): void;
  failed(route: string): void;
}

/** Longer than the longest hold of a poll and than a reload: connections are silent meanwhile. */
export const IDLE_SECONDS = 60;

type GuardedRoute = ReadRoute | CommandRoute;

/** Requests to paths and methods that no route has. */
const UNKNOWN = "unknown";

/** An empty application of the library with all options set explicitly, since some defaults are unsuitable. */
export function createApp() {
  return new Elysia({
    aot: true,
    strictPath: true,
    handler: { standardHostname: false },
    serve: {
      idleTimeout: IDLE_SECONDS,
      // A second service on the same port must fail instead of sharing it.
      reusePort: false,
      development: false,
      // The pipeline limits bodies itself, with its own answer.
      maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    },
  });
}

/**
 * Registers all routes. GET routes also answer HEAD, without the body; other methods are answered like an unknown path.
 */
export function register(app: Elysia, routes: readonly Route[], options: PipelineOptions): void {
  const compression = new Compression();
  for (const route of routes) {
    // Elysia looks at which context fields a handler uses: any other than `request` makes it parse the body.
    const handler = ({ request }: { request: Request }) =>
      whenThere(
        measured(route.name, request, options, () => run(route, request, options, app)),
        (answer) => compression.apply(request, answer),
      );
    app.route(route.method, route.path, handler, { parse: "none" });
    // Explicit, since the library's HEAD handling reads the whole answer to measure it.
    if (route.method === "GET") app.route("HEAD", route.path, handler, { parse: "none" });
  }
  app.onError(({ code, error, request }) =>
    measured(UNKNOWN, request, options, () =>
      refuse(code === "NOT_FOUND" ? { kind: "unknown_path" } : failed(UNKNOWN, error, options)),
    ),
  );
}

/** null: the listener is closed, or another one has taken its place. */
function peerOf({ server }: Elysia, request: Request): IpAddress | null {
  return parseAddress(server?.requestIP(request)?.address ?? "");
}

function run(route: Route, request: Request, options: PipelineOptions, app: Elysia): Soon<Response> {
  const foreign = options.gate.refuseForeign(request);
  if (foreign !== null) return refuse(foreign);
  if (route.access !== "open") return guarded(route, request, options);
  const refusal = route.needsToken?.() === true ? openDenial(request, options.gate) : null;
  return whenThere(refusal ?? route.handle(request, () => peerOf(app, request)), responseOf);
}

/** The refusal of a route that the configuration has closed; null: none. */
function openDenial(request: Request, gate: Gate): Refusal | null {
  const principal = gate.admit(request);
  if (principal.kind !== "principal") return principal;
  if (!roleAllows(principal.role, "viewer")) return { kind: "insufficient_role" };
  return isUnscoped(principal) ? null : { kind: "unscoped_only" };
}

function guarded(route: GuardedRoute, request: Request, options: PipelineOptions): Soon<Response> {
  const principal = admitted(route, request, options);
  if (principal.kind !== "principal") return refuse(principal);
  const call = callOf(route, request, principal, options);
  const read: { fields: unknown } = { fields: null };
  const handled = () =>
    route.method === "GET" ? carryOutRead(route, call, options) : carryOut(route, call, options, read);
  const shared = sharedRequestOf(route);
  const carriedOut = () => (shared === null ? handled() : options.shares.run(shared, principal, handled));
  const work = () =>
    route.audit === undefined || options.audit === null
      ? whenThere(carriedOut(), responseOf)
      : audited({ route, rule: route.audit, trail: options.audit, call, options, read }, carriedOut);
  const { turns } = options;
  return turns.waiting === 0 ? work() : turns.runFor(principal.tenant, work);
}

function admitted({ access }: GuardedRoute, request: Request, { gate }: PipelineOptions): Principal | Refusal {
  return access === "link" ? gate.admitLink(request) : gate.admit(request);
}

/** null: it fills nothing that callers share. */
function sharedRequestOf({ method, access, asksHistory }: GuardedRoute): SharedRequest | null {
  if (asksHistory === true) return "history";
  return method !== "GET" && access === "operator" ? "orders" : null;
}

/** Before its URL is checked, a call may have an invalid URL; then it has no parameters. */
type UnjudgedCall = Call & { readonly isReadable: boolean };

function callOf(route: GuardedRoute, request: Request, principal: Principal, options: PipelineOptions): UnjudgedCall {
  const target = readTarget(route.path, request.url);
  const { params, query } = target ?? NO_PARAMETERS;
  const call = {
    principal,
    request,
    params,
    query,
    node: nodeNamed(route, params, query),
    isReadable: target !== null,
    recheck: () => {
      const again = admitted(route, request, options);
      if (again.kind !== "principal") return again;
      return denial(route, { principal: again, node: call.node }, options) ?? again;
    },
  };
  return call;
}

function nodeNamed({ node }: GuardedRoute, params: Call["params"], query: Call["query"]): string | null {
  if (node === undefined) return null;
  return (node === "path" ? params["name"] : query.getAll("node").at(-1)) || null;
}

/** Refusals that depend on the caller only. */
function denial(
  route: GuardedRoute,
  { principal, node }: Pick<Call, "principal" | "node">,
  { gate, isReady }: PipelineOptions,
): Refusal | null {
  const { access } = route;
  if (!roleAllows(principal.role, access)) return { kind: "insufficient_role" };
  const isForUnscoped = route.unscopedOnly === true || access === "agent_or_unscoped_operator";
  if (isForUnscoped && !isUnscoped(principal)) return { kind: "unscoped_only" };
  const refusal = route.node === undefined ? null : gate.bind(route.name, principal, node);
  return refusal ?? (isReady() ? null : { kind: "starting" });
}

function targetRefusal(route: GuardedRoute, call: UnjudgedCall): Refusal | null {
  if (!call.isReadable) return { kind: "invalid_url" };
  const isAny = route.node === "query" || call.query.size === 0;
  const unknown = isAny ? null : unknownKey(route.about?.query ?? {}, call.query);
  return unknown ?? route.checkPath?.(call) ?? null;
}

interface Audited {
  readonly route: GuardedRoute;
  readonly rule: AuditRule<unknown>;
  readonly trail: AuditTrail;
  readonly call: Call;
  readonly options: PipelineOptions;
  /** Filled in while it is carried out. */
  readonly read: { readonly fields: unknown };
}

/** The audit row is written before the answer is sent. */
async function audited(
  { route, rule, trail, call, options, read }: Audited,
  carriedOut: () => Soon<Ended>,
): Promise<Response> {
  let ended: Ended;
  try {
    ended = await carriedOut();
  } catch (cause) {
    ended = failed(route.name, cause, options);
  }
  const response = responseOf(ended);
  const wallMs = options.clock.wallMs();
  const rows = auditRows({ rule, call, fields: read.fields, ended, wallMs, dryRun: options.isDryRun() });
  await Promise.all(rows.map((row) => trail.recordAudit(row)));
  // The disk takes the rows of many requests at once.
  await options.turns.goOn();
  return response;
}

function carryOutRead(route: ReadRoute, call: UnjudgedCall, options: PipelineOptions): Soon<Ended> {
  return denial(route, call, options) ?? targetRefusal(route, call) ?? route.handle(call);
}

/** Stores the fields in `read` as soon as they are valid. */
async function carryOut(
  route: CommandRoute,
  call: UnjudgedCall,
  options: PipelineOptions,
  read: { fields: unknown },
): Promise<Ended> {
  const refusal = denial(route, call, options) ?? mediaTypeRefusal(call.request) ?? targetRefusal(route, call);
  if (refusal !== null) return refusal;
  const body = await readBody(call.request, route.bodyBytesMax ?? BODY_BYTES_MAX);
  if (body.kind === "body_too_large" && route.bodyName !== undefined) return { ...body, what: route.bodyName };
  if (body.kind !== "bytes") return body;
  // The bodies of many requests may end in one turn of the event loop.
  return options.turns.runFor(call.principal.tenant, async () => {
    const checked = fieldsOf(route, body.bytes);
    if (checked.kind !== "fields") return checked;
    read.fields = checked.fields;
    return route.handle(call, checked.fields);
  });
}

/** Required for every POST and PUT, also without a body, so that other sites cannot send it without a CORS preflight. */
function mediaTypeRefusal({ method, headers }: Request): Refusal | null {
  return (method === "POST" || method === "PUT") && !isJson(headers.get("content-type"))
    ? { kind: "wrong_media_type" }
    : null;
}

function fieldsOf(route: CommandRoute, bytes: Uint8Array): Fields<unknown> | Refusal {
  const mayBeEmpty = route.body === null || route.isBodyOptional === true;
  if (mayBeEmpty && bytes.length === 0) return { kind: "fields", fields: {} };
  const json = parseJson(bytes);
  return json.kind === "json" ? (route.body ?? noFields).check(json.value, json.text) : json;
}

function responseOf(ended: Ended): Response {
  if (ended instanceof Response) return ended;
  return ended.kind === "outcome" ? ended.response : refuse(ended);
}

function measured(
  name: string,
  { method }: Request,
  options: PipelineOptions,
  answer: () => Soon<Response>,
): Soon<Response> {
  const { clock, metrics } = options;
  const startMs = clock.monotonicMs();
  const ended = (response: Response) => {
    const seconds = (clock.monotonicMs() - startMs) / 1000;
    metrics.answered({ route: name, method, status: response.status, seconds });
    return response;
  };
  const broken = (cause: unknown) => ended(refuse(failed(name, cause, options)));
  let response: Soon<Response>;
  try {
    response = options.turns.run(answer);
  } catch (cause) {
    return broken(cause);
  }
  return response instanceof Promise ? response.then(ended, broken) : ended(response);
}

/** A fault says what failed; a bug is answered without details. */
export function failed(name: string, cause: unknown, { metrics, onFailure }: FailureOptions): Refusal {
  metrics.failed(name);
  if (cause instanceof HistoryFault) return { kind: "history_fault" };
  onFailure(name, cause);
  return cause instanceof BackendFault ? { kind: "fault", message: cause.message } : { kind: "bug" };
}
