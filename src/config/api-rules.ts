/** Rules between the keys of `api`, and between tokens, tenants and nodes (interface, section 5). */
import type { ConfigFile } from "./schema.ts";
import type { Finding, Pruned } from "./shape.ts";
import { isLoopback, parseListen } from "./text-forms.ts";

type File = Pruned<ConfigFile>;

/** Interface section 5.1: an API without a token is open to all who reach it. */
export function* routableListenNeedsAToken({ api }: File): Generator<Finding> {
  const listen = api?.listen === undefined ? null : parseListen(api.listen);
  if (listen === null || isLoopback(listen.host)) return;
  if (api?.token_env !== undefined || (api?.tokens ?? []).length > 0) return;
  yield {
    path: ["api", "listen"],
    rule: "a token must be set before binding to a routable address: set api.tokens, or listen on 127.0.0.1 or [::1]",
  };
}
