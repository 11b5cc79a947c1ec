import { beforeAll, describe, expect, test } from "bun:test";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { folder } from "../../../test/fixtures/folders.ts";
import { readEnvFile } from "../../system/env-file.ts";
import { checkConfig } from "../check.ts";

const BASE = `networks: [192.0.2.0/24]
thresholds: {pps: 100000, mbps: 1000, flows_per_sec: 20000}
hostgroups: [{name: web, networks: [192.0.2.0/25], tenant: acme}]
edge: {nodes: [{name: e1}]}
`;

const directory = folder("tokens");
let path: string;

beforeAll(() => {
  path = join(directory, "floodwall.yaml");
});

/** Warnings about `api`, without the file's name; the line of `api:` is 5. */
function warnings(api: string, environment: Record<string, string> = {}): string[] {
  writeFileSync(path, BASE + api);
  const { lines, exitCode } = checkConfig(path, { read: (name) => environment[name] ?? null, readFile: readEnvFile });
  expect(exitCode).toBe(0);
  return lines.map((line) => line.slice(path.length + 1)).filter((line) => line.includes(" api"));
}

function tokens(...entries: string[]): string {
  return `api:\n  tokens:\n${entries.map((entry) => `    - {${entry}}\n`).join("")}`;
}

const SECRETS = { A: "alpha", B: "beta" };

describe("the check warns of", () => {
  test("nothing, where every token has a secret and something to do", () => {
    const api = tokens(
      "name: a, token_env: A, role: viewer, tenant: acme",
      "name: b, token_env: B, role: agent, node: e1",
    );
    expect(warnings(api, SECRETS)).toEqual([]);
  });

  test.each([{}, { A: "" }])("a variable that is not set, or empty: %j", (environment) => {
    expect(warnings(tokens("name: a, token_env: A, role: viewer"), environment)).toEqual([
      "7: api.tokens[0].token_env: warning: the variable A is not set here: no one can call as a",
    ]);
    expect(warnings("api:\n  token_env: A\n", environment)).toEqual([
      "6: api.token_env: warning: the variable A is not set here: no one can call as api",
    ]);
  });

  test.each(["two words", "a,b", "schlüssel", "tab\t"])("a secret that no request can carry: %j", (secret) => {
    expect(warnings(tokens("name: a, token_env: A, role: viewer"), { A: secret })).toEqual([
      "7: api.tokens[0].token_env: warning: the variable A holds more than visible ASCII, or a comma: no request can carry it",
    ]);
  });

  test("a tenant that owns nothing", () => {
    expect(warnings(tokens("name: a, token_env: A, role: viewer, tenant: acne"), SECRETS)).toEqual([
      "7: api.tokens[0].tenant: warning: acne owns no hostgroup and no zone: a sees nothing",
    ]);
    const global = `tenant: acne\n${tokens("name: a, token_env: A, role: viewer, tenant: acne")}`;
    expect(warnings(global, SECRETS)).toEqual([]);
  });

  test("an agent that is bound to no node", () => {
    const api = tokens("name: a, token_env: A, role: agent", "name: b, token_env: B, role: agent, node: e1");
    expect(warnings(api, SECRETS)).toEqual([
      "7: api.tokens[0]: warning: a is an agent without node: it may act as every node",
    ]);
  });

  test("one variable for tokens with different rights", () => {
    const same = tokens("name: a, token_env: A, role: viewer", "name: b, token_env: A, role: viewer");
    expect(warnings(same, SECRETS)).toEqual([]);
    const different = tokens("name: a, token_env: A, role: viewer", "name: b, token_env: A, role: operator");
    expect(warnings(different, SECRETS)).toEqual([
      "8: api.tokens[1].token_env: warning: A is the variable of a too, which has other rights: one secret for both is refused",
    ]);
  });
});

describe("the file with variables", () => {
  const envFile = () => join(directory, "secrets.env");
  const api = () => `${tokens("name: a, token_env: A, role: viewer")}  env_file: ${envFile()}\n`;

  test("counts as the environment does", () => {
    writeFileSync(envFile(), "A=alpha\n");
    expect(warnings(api())).toEqual([]);
  });

  test("is reported if it cannot be read", () => {
    rmSync(envFile(), { force: true });
    const [unset, unreadable] = warnings(api());
    expect(unset).toContain("the variable A is not set here");
    expect(unreadable).toStartWith(`8: api.env_file: warning: ${envFile()}: cannot be read: ENOENT`);
  });

  test("an invalid line is reported, without its text", () => {
    writeFileSync(envFile(), "A=alpha\nsecret\n");
    expect(warnings(api())[1]).toBe(`8: api.env_file: warning: ${envFile()}: line 2: not of the form NAME=value`);
  });
});
