import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { SCRUB_CONFIG_BYTES_MAX } from "../limits.ts";
import { checkConfig } from "./check.ts";
import { readConfigFile } from "./load/load.ts";
import { describeProblem } from "./load/problem.ts";
import { isScrubAgentFile, type LoadedScrubAgent, loadScrubAgent, scrubAgentWarnings } from "./scrub-agent-config.ts";

const FIXTURES = join(import.meta.dir, "../../test/fixtures/scrub-config");
const EXAMPLE = join(import.meta.dir, "../../deploy/scrub.yaml");

const bytesOf = (text: string) => new TextEncoder().encode(text);
const load = (text: string) => loadScrubAgent({ kind: "bytes", bytes: bytesOf(text) });

function problemsIn(loaded: LoadedScrubAgent): string[] {
  return loaded.kind === "valid" ? [] : loaded.problems.map((problem) => describeProblem("", problem).slice(1));
}

function configOf(loaded: LoadedScrubAgent) {
  if (loaded.kind === "valid") return loaded.config;
  throw new Error(problemsIn(loaded).join("\n"));
}

// The expected lines stand in the file itself, after `#=`.
test.each(readdirSync(FIXTURES).filter((name) => name.startsWith("bad-")))(
  "%s is refused, each fault with its line and the rule",
  (name) => {
    const path = join(FIXTURES, name);
    const lines = readFileSync(path, "utf8").split("\n");
    const expected = lines.filter((line) => line.startsWith("#= ")).map((line) => line.slice(3));
    expect(expected).not.toEqual([]);
    expect(problemsIn(loadScrubAgent(readConfigFile(path)))).toEqual(expected);
  },
);

test("a file that is not there, or too large, is refused", () => {
  expect(problemsIn(loadScrubAgent(readConfigFile(join(FIXTURES, "absent.yaml"))))[0]).toContain("cannot be read: ");
  expect(problemsIn(load("#".padEnd(SCRUB_CONFIG_BYTES_MAX + 1, "x")))).toEqual([
    `1: larger than ${SCRUB_CONFIG_BYTES_MAX} bytes`,
  ]);
});

test("the defaults drop nothing", () => {
  expect(configOf(loadScrubAgent(readConfigFile(join(FIXTURES, "good-minimal.yaml"))))).toEqual({
    dryRun: true,
    node: "scrub1",
    controller: { url: "https://floodwall.example.net:8443", tokenEnv: null, caFile: null },
    dataplane: {
      enabled: true,
      interfaces: ["eth1"],
      xdpMode: "auto",
      pinPath: "/sys/fs/bpf/floodwall",
      onExit: "keep",
      allowlist: [],
      maxDynamicRules: 4096,
    },
    protectedWhitelist: [],
    reportIntervalSeconds: 10,
    stateDir: "/var/lib/floodwall",
    envFile: null,
    metricsListen: null,
  });
});

describe("the example", () => {
  const text = readFileSync(EXAMPLE, "utf8");

  test("shows the defaults", () => {
    const { controller, ...example } = configOf(load(text));
    const required = `node: ${example.node}\ndataplane: {interfaces: [${example.dataplane.interfaces.join()}]}`;
    const { controller: same, ...minimal } = configOf(load(`${required}\ncontroller: {url: "${controller.url}"}`));
    expect(example).toEqual(minimal);
    expect(controller).toEqual(same);
  });

  test("shows every key, those that are off too", () => {
    const full = configOf(load(text.replace(/^#(?=\w| {2}\w)/gm, "")));
    expect(full.controller).toEqual({
      url: "https://floodwall.example.net:8443",
      tokenEnv: "FLOODWALL_SCRUB_TOKEN",
      caFile: "/etc/floodwall/ca.pem",
    });
    expect(full.envFile).toBe("/etc/floodwall/scrub.env");
    expect(full.metricsListen).toEqual({ host: expect.stringContaining("127.0.0.1"), port: 9641 });
  });
});

test.each([
  ["node: a\ncontroller: {}", true],
  ["controller: {}", true],
  ['{"node": "a"}', true],
  ["networks: [192.0.2.0/24]\nnode: a", false],
  ["networks: [192.0.2.0/24]", false],
  ["- node", false],
  ["node", false],
  ["", false],
  ["a: [", false],
])("%j is a scrub node's file: %p", (text, expected) => {
  expect(isScrubAgentFile(bytesOf(text))).toBe(expected);
});

describe("what is perhaps not meant:", () => {
  const warned = (text: string, token: string | null) =>
    [...scrubAgentWarnings(configOf(load(text)), () => token)].map(({ path, rule }) => `${path.join(".")}: ${rule}`);
  const file = (controller: string, more = "dry_run: false") =>
    `node: a\ndataplane: {interfaces: [eth1]}\ncontroller: {${controller}}\n${more}`;

  test.each([
    ["nothing", file("url: https://example.net, token_env: T"), "x", []],
    ["a loopback needs no TLS", file('url: "http://127.0.0.1:8080", token_env: T'), "x", []],
    [
      "dry run",
      file("url: https://example.net, token_env: T", ""),
      "x",
      ["dry_run: is true: the rule document is followed, nothing is dropped"],
    ],
    [
      "a token in clear text",
      file("url: http://example.net, token_env: T"),
      "x",
      ["controller.url: is http: whoever is on the way can read the token and say what is dropped here; use https"],
    ],
    [
      "no token",
      file("url: https://example.net"),
      null,
      ["controller: has no token_env: only a service without tokens answers"],
    ],
    [
      "an unset variable",
      file("url: https://example.net, token_env: T"),
      "",
      ["controller.token_env: the environment variable T is not set"],
    ],
    [
      "a secret that no request can carry",
      file("url: https://example.net, token_env: T"),
      "two words",
      ["controller.token_env: the variable T holds more than visible ASCII, or a comma: no request can carry it"],
    ],
  ])("%s", (_, text, token, expected) => {
    expect(warned(text, token)).toEqual(expected);
  });
});

test("floodwall check knows it by its keys, and says what it says of the service's", () => {
  const environment = { read: () => null, readFile: () => ({ kind: "invalid" as const, problems: [] }) };
  const bad = join(FIXTURES, "bad-interface-twice.yaml");
  expect(checkConfig(bad, environment)).toEqual({
    lines: [
      `${bad}:4: dataplane.interfaces[2]: eth1 is there already, as dataplane.interfaces[0]: remove one of them`,
      `${bad}: 1 error`,
    ],
    exitCode: 1,
    checked: null,
  });
  const good = join(FIXTURES, "good-minimal.yaml");
  expect(checkConfig(good, environment)).toMatchObject({
    lines: [
      `${good}:1: dry_run: warning: is true: the rule document is followed, nothing is dropped`,
      `${good}:2: controller: warning: has no token_env: only a service without tokens answers`,
      `${good}: valid`,
    ],
    exitCode: 0,
    checked: { role: "scrub", config: { node: "scrub1" } },
  });
});
