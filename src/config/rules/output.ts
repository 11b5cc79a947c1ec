/** Rules between the keys of `storage`, of `notify.email` and of `update_check`. */

import type { Finding, Pruned } from "../../schema/shape.ts";
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
  const email = notify?.email ?? {};
  const [has, lacks] = "username_env" in email ? ["username_env", "password_env"] : ["password_env", "username_env"];
  if (has in email && !(lacks in email)) {
    yield { path: ["notify", "email", lacks], rule: `goes with ${has}: an account has both` };
  }
}
