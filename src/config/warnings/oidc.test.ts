import { expect, test } from "bun:test";
import { configOf } from "../../../test/fixtures/config/parsed-config.ts";
import { oidcWarnings } from "./oidc.ts";

function warnings(oidc: string, environment: Readonly<Record<string, string>> = {}): string[] {
  return [
    ...oidcWarnings(
      configOf(`networks: [192.0.2.0/24]
thresholds: {pps: 100000, mbps: 1000, flows_per_sec: 20000}
hostgroups: [{name: web, networks: [192.0.2.0/25], tenant: acme}]
api: {token_env: TOKEN, oidc: {issuer: "https://login.example.net", client_id: f, public_url: "https://f.example.net", ${oidc}}}
`),
      (name) => environment[name] ?? null,
    ),
  ].map(({ path, rule }) => `${path.join(".")}: ${rule}`);
}

test("a sign-in that can work has no warning", () => {
  const oidc = "client_secret_env: S, roles: [{value: noc, role: operator}, {value: a, role: viewer, tenant: acme}]";
  expect(warnings(oidc, { S: "secret" })).toEqual([]);
});

test("a secret that is not set, a tenant that owns nothing, and a role that never counts are named", () => {
  const oidc =
    "client_secret_env: S, roles: [{value: noc, role: viewer}, {value: b, role: viewer, tenant: other}, {value: noc, role: operator}]";
  expect(warnings(oidc)).toEqual([
    "api.oidc.client_secret_env: the variable S is not set here: no one can sign in until it is",
    "api.oidc.roles.1.tenant: other owns no hostgroup and no zone: users with b see nothing",
    "api.oidc.roles.2: never counts: roles[0] is for groups noc too",
  ]);
});
