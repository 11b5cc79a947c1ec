/** Rules between the keys of `storage`, of `notify` and of `update_check`. */

import { KINDS_FOR_PEOPLE, TEMPLATE_NAMES } from "../../notify/notify-config.ts";
import { parseTemplate } from "../../schema/message-template.ts";
import type { ConfigPath } from "../../schema/problem.ts";
import type { Finding, Pruned } from "../../schema/shape.ts";
import { TARGET_KINDS } from "../../targets/target-words.ts";
import { NOTIFY_ROUTES_MAX, type RouteFile } from "../sections/notify-routes.ts";
import type { ConfigFile } from "../sections/schema.ts";

type File = Pruned<ConfigFile>;

export function* clickhouseHasItsSection({ storage }: File): Generator<Finding> {
  if (storage?.driver === "clickhouse" && !("clickhouse" in storage)) {
    yield { path: ["storage", "clickhouse"], rule: "is required with driver clickhouse: at least its url" };
  }
}

export function* storageKeysHaveAnEffect({ storage }: File): Generator<Finding> {
  if (storage?.driver === undefined) return;
  if (storage.driver !== "clickhouse" && "clickhouse" in storage) {
    yield { path: ["storage", "clickhouse"], rule: "goes with driver clickhouse only: remove it" };
  }
  if (storage.driver !== "sqlite" && "path" in storage) {
    yield { path: ["storage", "path"], rule: "goes with driver sqlite only: remove it" };
  }
  if (storage.driver === "none" && "max_bytes" in storage) {
    yield { path: ["storage", "max_bytes"], rule: "goes with a driver that keeps history: remove it" };
  }
}

export function* updateCheckHasAUrl({ update_check: check }: File): Generator<Finding> {
  if (check?.enabled === true && !("url" in check)) {
    yield {
      path: ["update_check", "url"],
      rule: "is required when update_check is enabled: the address of the release list",
    };
  }
}

export function* mailAccountIsWhole({ notify }: File): Generator<Finding> {
  yield* halfAccount(notify?.email, ["notify", "email"]);
  for (const [i, target] of (notify?.targets ?? []).entries())
    yield* halfAccount(target?.email, ["notify", "targets", i, "email"]);
}

function* halfAccount(email: object = {}, path: ConfigPath): Generator<Finding> {
  const [has, lacks] = "username_env" in email ? ["username_env", "password_env"] : ["password_env", "username_env"];
  if (has in email && !(lacks in email))
    yield { path: [...path, lacks], rule: `goes with ${has}: an account has both` };
}

/** The line is that of the template: YAML may fold it. */
export function* templatesCanBeUsed({ notify }: File): Generator<Finding> {
  for (const [i, target] of (notify?.targets ?? []).entries()) {
    if (target?.template === undefined) continue;
    const path = ["notify", "targets", i, "template"];
    if (!KINDS_FOR_PEOPLE.some((kind) => kind in target))
      yield { path, rule: `goes with ${KINDS_FOR_PEOPLE.join(", ")} only: programs get each event as JSON` };
    const parsed = parseTemplate(target.template, TEMPLATE_NAMES);
    if (parsed.kind === "problem") yield { path, rule: `line ${parsed.problem.line}: ${parsed.problem.rule}` };
  }
}

export function* targetsHaveOneKind({ notify }: File): Generator<Finding> {
  const known = new Set<string>(TARGET_KINDS.filter((kind) => kind in (notify ?? {})));
  for (const [i, target] of (notify?.targets ?? []).entries()) {
    const path = ["notify", "targets", i];
    const kinds = TARGET_KINDS.filter((kind) => kind in (target ?? {}));
    if (kinds.length !== 1)
      yield {
        path,
        rule: `needs one of ${TARGET_KINDS.join(", ")}${kinds.length === 0 ? "" : `, and has ${kinds.join(", ")}`}`,
      };
    const name = target?.name;
    if (name === undefined) continue;
    if (known.has(name)) yield { path: [...path, "name"], rule: `${name} is used before: choose another name` };
    known.add(name);
  }
  for (const { path, route } of routesIn(notify?.routes ?? [], ["notify"]))
    for (const [j, name] of (route.targets ?? []).entries())
      if (name !== undefined && !known.has(name)) {
        const all = known.size === 0 ? "there is none" : `there are ${[...known].join(", ")}`;
        yield { path: [...path, "targets", j], rule: `${name} is the name of no target: ${all}` };
      }
}

export function* tenantsAreListedOnce({ notify }: File): Generator<Finding> {
  const known = new Set<string>();
  for (const [i, entry] of (notify?.tenant_targets?.tenants ?? []).entries()) {
    const tenant = entry?.tenant;
    const path = ["notify", "tenant_targets", "tenants", i, "tenant"];
    if (tenant !== undefined && known.has(tenant))
      yield { path, rule: `${tenant} is listed before: put both into one entry` };
    if (tenant !== undefined) known.add(tenant);
  }
}

export function* routesHaveTargets({ notify }: File): Generator<Finding> {
  const routes = [...routesIn(notify?.routes ?? [], ["notify"])];
  for (const { path, isWithTargets } of routes)
    if (!isWithTargets)
      yield { path: [...path, "targets"], rule: "is required, here or in a route around it: a list, [] for no target" };
  if (routes.length > NOTIFY_ROUTES_MAX)
    yield { path: ["notify", "routes"], rule: `has ${routes.length} routes in all: at most ${NOTIFY_ROUTES_MAX}` };
}

interface RouteInTree {
  readonly path: ConfigPath;
  readonly route: Pruned<RouteFile>;
  /** It has targets itself, or a route around it has. */
  readonly isWithTargets: boolean;
}

function* routesIn(
  routes: readonly (Pruned<RouteFile> | undefined)[],
  around: ConfigPath,
  isWithin = false,
): Generator<RouteInTree> {
  for (const [i, route] of routes.entries()) {
    if (route === undefined) continue;
    const path = [...around, "routes", i];
    const isWithTargets = isWithin || "targets" in route;
    yield { path, route, isWithTargets };
    yield* routesIn(route.routes ?? [], path, isWithTargets);
  }
}
