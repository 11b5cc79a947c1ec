/** A sign-in by an identity provider that is valid but may be unintended. */
import type { Finding } from "../../schema/shape.ts";
import type { Config } from "../config.ts";
import type { ReadVariable } from "../load/secrets.ts";

export function* oidcWarnings({ api: { oidc }, hostgroups, edge }: Config, read: ReadVariable): Generator<Finding> {
  if (oidc === null) return;
  const { clientSecretEnv: name, roles } = oidc;
  if (name !== null && (read(name) ?? "") === "") {
    yield {
      path: ["api", "oidc", "client_secret_env"],
      rule: `the variable ${name} is not set here: no one can sign in until it is`,
    };
  }
  const owners = new Set([...hostgroups, ...(edge?.zones ?? [])].map(({ tenant }) => tenant));
  for (const [i, { tenant, value }] of roles.entries()) {
    if (tenant === null || owners.has(tenant)) continue;
    yield {
      path: ["api", "oidc", "roles", i, "tenant"],
      rule: `${tenant} owns no hostgroup and no zone: users with ${value} see nothing`,
    };
  }
  for (const [i, { claim, value }] of roles.entries()) {
    const first = roles.findIndex((other) => other.claim === claim && other.value === value);
    if (first === i) continue;
    yield { path: ["api", "oidc", "roles", i], rule: `never counts: roles[${first}] is for ${claim} ${value} too` };
  }
}
