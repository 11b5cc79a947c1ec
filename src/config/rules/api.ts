/** Rules between the keys of `api`, and between tokens and nodes (docs/interface.md#authentication). */
import { type ConfigPath, pathText } from "../../schema/problem.ts";
import type { Finding, Pruned } from "../../schema/shape.ts";
import { isLoopback, parseListen } from "../../schema/text-forms.ts";
import type { ConfigFile } from "../sections/schema.ts";
import { repeated } from "./repeated.ts";

type File = Pruned<ConfigFile>;

/** docs/interface.md#open-api: an API without a token is open to everyone who reaches it. */
export function* routableListenNeedsAToken({ api }: File): Generator<Finding> {
  const listen = api?.listen === undefined ? null : parseListen(api.listen);
  if (listen === null || isLoopback(listen.host)) return;
  if (api?.token_env !== undefined || (api?.tokens ?? []).length > 0) return;
  yield {
    path: ["api", "listen"],
    rule: "a token must be set before binding to a routable address: set api.tokens, or listen on 127.0.0.1 or [::1]",
  };
}

export function* tokenEnvGoesWithoutTokens({ api }: File): Generator<Finding> {
  if (api?.token_env === undefined || (api.tokens ?? []).length === 0) return;
  yield { path: ["api", "token_env"], rule: "goes without tokens: make it an entry of api.tokens, or remove those" };
}

export function* tokenNamesAreUnique({ api }: File): Generator<Finding> {
  yield* namesAreUnique(api?.tokens, ["api", "tokens"]);
}

/** Without a token the API would be open, and no one could call while the provider is away. */
export function* oidcNeedsAToken({ api }: File): Generator<Finding> {
  if (api?.oidc === undefined || api.token_env !== undefined || (api.tokens ?? []).length > 0) return;
  yield {
    path: ["api", "oidc"],
    rule: "needs a token beside it, as the way in while the provider is away: set api.tokens",
  };
}

/** OpenID Connect Core 1.0: without it a provider sends no ID token. */
export function* scopesHaveOpenid({ api }: File): Generator<Finding> {
  const scopes = api?.oidc?.scopes;
  if (scopes === undefined || scopes.includes("openid") || scopes.includes(undefined)) return;
  yield { path: ["api", "oidc", "scopes"], rule: "must have openid among them" };
}

/** A page that is not served can neither begin a sign-in nor say how one ended. */
export function* oidcNeedsThePage({ api }: File): Generator<Finding> {
  if (api?.oidc === undefined || api.dashboard !== false) return;
  yield { path: ["api", "oidc"], rule: "goes with api.dashboard alone: remove it, or serve the dashboard" };
}

/** Browsers send `Secure` cookies by https alone, so a page that they reach by http could not keep them. */
export function* publicUrlFitsTls({ api }: File): Generator<Finding> {
  const url = api?.oidc?.public_url;
  if (url === undefined || api?.tls === undefined || url.startsWith("https:")) return;
  yield { path: ["api", "oidc", "public_url"], rule: "must be https, since api.tls serves the API by it" };
}

export function* agentsHaveNoTenant(file: File): Generator<Finding> {
  for (const { token, path } of placeTokens(file)) {
    if (token.role !== "agent" || token.tenant === undefined) continue;
    yield { path: [...path, "tenant"], rule: "an agent cannot carry a tenant: remove it, or choose another role" };
  }
}

export function* onlyAgentsHaveANode(file: File): Generator<Finding> {
  for (const { token, path } of placeTokens(file)) {
    if (token.role === undefined || token.role === "agent" || token.node === undefined) continue;
    yield { path: [...path, "node"], rule: "goes with role agent only: remove it" };
  }
}

export function* nodeNamesAreUnique({ edge, scrubbing }: File): Generator<Finding> {
  yield* namesAreUnique(scrubbing?.nodes, ["scrubbing", "nodes"]);
  yield* namesAreUnique(edge?.nodes, ["edge", "nodes"]);
}

/** A token is bound to one node: a name in both lists would mean two. */
export function* nodesOfTokensExist(file: File): Generator<Finding> {
  const [edge, scrub] = [nodeNames(file, "edge"), nodeNames(file, "scrubbing")];
  // If some nodes could not be read, names of these would be reported wrongly.
  if (edge === null || scrub === null) return;
  for (const { token, path } of placeTokens(file)) {
    const { node } = token;
    if (node === undefined || edge.has(node) !== scrub.has(node)) continue;
    const rule = edge.has(node)
      ? `${node} is ambiguous: edge.nodes and scrubbing.nodes both have it, rename one of them`
      : `${node} is neither in edge.nodes nor in scrubbing.nodes: add it there, or correct it`;
    yield { path: [...path, "node"], rule };
  }
}

export function* hostgroupsOfNodesExist({ edge, scrubbing, hostgroups }: File): Generator<Finding> {
  const names = (hostgroups ?? []).map((group) => group?.name);
  if (hostgroups === undefined || names.includes(undefined)) return;
  const known = new Set(["global", ...names]);
  for (const [section, { nodes = [] }] of Object.entries({ edge: edge ?? {}, scrubbing: scrubbing ?? {} })) {
    for (const [i, node] of nodes.entries()) {
      for (const [j, group] of (node?.hostgroups ?? []).entries()) {
        if (group === undefined || known.has(group)) continue;
        const path = [section, "nodes", i, "hostgroups", j];
        yield { path, rule: `${group} is the name of no hostgroup: add it to hostgroups, or write global` };
      }
    }
  }
}

/** Otherwise an agent could leave its scope by using another node's name. */
export function* agentsAreBoundWhereNodesAreScoped(file: File): Generator<Finding> {
  const scoped = (file.edge?.nodes ?? []).findIndex((node) => node?.hostgroups !== undefined);
  if (scoped < 0) return;
  for (const { token, path } of placeTokens(file)) {
    if (token.role !== "agent" || "node" in token) continue;
    const rule = `is required of every agent, since ${pathText(["edge", "nodes", scoped, "hostgroups"])} limits what a node may see`;
    yield { path: [...path, "node"], rule };
  }
}

type PrunedToken = NonNullable<NonNullable<NonNullable<File["api"]>["tokens"]>[number]>;

function placeTokens({ api }: File): { readonly token: PrunedToken; readonly path: ConfigPath }[] {
  return (api?.tokens ?? []).flatMap((token, i) =>
    token === undefined ? [] : [{ token, path: ["api", "tokens", i] as const }],
  );
}

/** null: a part of the list could not be read. */
function nodeNames(file: File, section: "edge" | "scrubbing"): ReadonlySet<string> | null {
  if (!(section in file)) return new Set();
  const names = (file[section]?.nodes ?? [undefined]).map((node) => node?.name);
  return names.includes(undefined) ? null : new Set(names.filter((name) => name !== undefined));
}

function* namesAreUnique(
  entries: readonly ({ readonly name?: string | undefined } | undefined)[] | undefined,
  at: ConfigPath,
): Generator<Finding> {
  for (const [name, i, other] of repeated(entries?.map((entry) => entry?.name))) {
    const rule = `${name} is the name of ${pathText([...at, other])} already: choose another`;
    yield { path: [...at, i, "name"], rule };
  }
}
