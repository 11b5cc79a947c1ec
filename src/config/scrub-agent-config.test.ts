import { describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { faultyFiles } from "../../test/fixtures/config/fault-table.ts";
import { TemporaryFolder } from "../../test/fixtures/temporary-folder.ts";
import { describeProblem } from "../schema/problem.ts";
import { checkConfig } from "./check.ts";
import { readConfigFile } from "./load/read-file.ts";
import {
  isScrubAgentFile,
  type LoadedScrubAgent,
  loadScrubAgent,
  SCRUB_CONFIG_BYTES_MAX,
  scrubAgentWarnings,
} from "./scrub-agent-config.ts";

const EXAMPLE = join(import.meta.dir, "../../deploy/scrub.yaml");

/** The required keys. */
const MINIMAL = `node: scrub1
controller: {url: "https://floodwall.example.net:8443"}
dataplane: {interfaces: [eth1]}
`;

const bytesOf = (text: string) => new TextEncoder().encode(text);
const load = (text: string) => loadScrubAgent({ kind: "bytes", bytes: bytesOf(text) });

function problemsIn(loaded: LoadedScrubAgent): string[] {
  return loaded.kind === "valid" ? [] : loaded.problems.map((problem) => describeProblem("", problem).slice(1));
}

function configOf(loaded: LoadedScrubAgent) {
  if (loaded.kind === "valid") return loaded.config;
  throw new Error(problemsIn(loaded).join("\n"));
}

const FAULTS = faultyFiles(`
#= 1: is empty: at least node, controller and dataplane are required
dry_run: false
#= 1: node: is required: must be 1 to 63 letters, digits, dots, dashes or underscores, the first a letter or digit
#= 1: controller: is required: must be a mapping of keys
#= 1: dataplane: is required: must be a mapping of keys
node: scrub1
controler: {}
controller: {url: "https://floodwall.example.net/api", token: geheim}
dataplane: {enabled: true, interfaces: [eth1]}
#= 2: controler: unknown key: did you mean controller?
#= 3: controller.token: unknown key: did you mean token_env?
#= 3: controller.url: must be a server alone: http://host:port, or https
#= 4: dataplane.enabled: unknown key: here go interfaces, xdp_mode, pin_path, on_exit, forward, tunnels, allowlist, limits
node: scrub1
controller: {url: "http://127.0.0.1:8080", ca_file: /etc/floodwall/ca.pem}
dataplane: {interfaces: [eth1]}
#= 2: controller.ca_file: goes with https in controller.url alone
node: scrub1
controller: {url: "https://a.example.net", others: ["http://b.example.net", "https://a.example.net"], ca_file: /ca.pem}
dataplane: {interfaces: [eth1]}
#= 2: controller.ca_file: goes with https in controller.url and controller.others alone
#= 2: controller.others[0]: is http: anyone on the network path can read the token and change the rules: use https, or allow it by controller.plain_http: true
#= 2: controller.others[1]: is polled already: name each brain once
node: scrub1
controller: {url: "http://127.example.net"}
dataplane: {interfaces: [eth1]}
bounds: {networks: [], max_seconds: 59, shortest_prefix: 33}
#= 2: controller.url: is http: anyone on the network path can read the token and change the rules: use https, or allow it by controller.plain_http: true
#= 4: bounds.networks: must have at least one item
#= 4: bounds.shortest_prefix: must be a whole number from 0 to 32, not 33
#= 4: bounds.max_seconds: must be a whole number from 60 to 2592000, not 59
node: scrub1
controller: {url: "https://floodwall.example.net"}
dataplane: {interfaces: [eth1], limits: {max_dynamic_rules: 8}}
bounds: {networks: [192.0.2.0/24]}
prefix_sets: [{name: drop, file: /drop}, {name: drop, file: /drop}, {name: other}]
filter_rules:
  - {name: a, action: limit, destinations: [192.0.2.0/25, 198.51.100.1]}
  - {name: a, action: drop, source_sets: [drop, none]}
  - {name: b, action: drop}
#= 3: dataplane.limits.max_dynamic_rules: must be at least 4 for each of filter_rules, 12, not 8
#= 5: prefix_sets[1].name: drop is there already, as prefix_sets[0]
#= 5: prefix_sets[2]: needs file or mmdb: only bogons is built in
#= 7: filter_rules[0].action: limit needs packets_per_second or mbps: the rate that may pass
#= 7: filter_rules[0].destinations[1]: 198.51.100.1/32 lies in none of bounds.networks: add it there, or correct it
#= 8: filter_rules[1].name: is there already, as filter_rules[0]
#= 8: filter_rules[1].source_sets[1]: there is no set none in prefix_sets: add it there, or correct it
`);

test.each(FAULTS)("a file is refused, each fault with its line: $name", ({ text, problems }) => {
  expect(problemsIn(load(text))).toEqual([...problems]);
});

test("a file that is not there, or too large, is refused", () => {
  expect(problemsIn(loadScrubAgent(readConfigFile("/nonexistent/scrub.yaml")))[0]).toContain("cannot be read: ");
  expect(problemsIn(load("#".padEnd(SCRUB_CONFIG_BYTES_MAX + 1, "x")))).toEqual([
    `1: larger than ${SCRUB_CONFIG_BYTES_MAX} bytes`,
  ]);
});

test("the defaults drop nothing", () => {
  expect(configOf(load(MINIMAL))).toEqual({
    dryRun: true,
    node: "scrub1",
    controller: { url: "https://floodwall.example.net:8443", others: [], tokenEnv: null, caFile: null },
    dataplane: {
      enabled: true,
      interfaces: ["eth1"],
      xdpMode: "auto",
      pinPath: "/sys/fs/bpf/floodwall",
      onExit: "keep",
      forward: "kernel",
      tunnels: [],
      allowlist: [],
      maxSources: 262_144,
      maxDynamicRules: 4096,
    },
    // As wide as a service can mean it.
    bounds: { networks: null, shortestPrefix: { 4: 8, 6: 16 }, maxSeconds: 2_592_000, maxRules: 262_144 },
    filterRules: [],
    prefixSets: [],
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
      others: ["https://floodwall2.example.net:8443"],
      tokenEnv: "FLOODWALL_SCRUB_TOKEN",
      caFile: "/etc/floodwall/ca.pem",
    });
    expect(full.bounds.networks?.map(({ text: network }) => network)).toEqual(["192.0.2.0/24", "2001:db8::/32"]);
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

describe("what is perhaps unintended:", () => {
  const warned = (text: string, token: string | null) =>
    [...scrubAgentWarnings(configOf(load(text)), () => token)].map(({ path, rule }) => `${path.join(".")}: ${rule}`);
  const file = (controller: string, more = "dry_run: false\nbounds: {networks: [192.0.2.0/24]}") =>
    `node: a\ndataplane: {interfaces: [eth1]}\ncontroller: {${controller}}\n${more}`;

  test.each([
    ["nothing", file("url: https://example.net, token_env: T"), "x", []],
    ["a loopback needs no TLS", file('url: "http://127.0.0.1:8080", token_env: T'), "x", []],
    [
      "dry run",
      file("url: https://example.net, token_env: T", "bounds: {networks: [192.0.2.0/24]}"),
      "x",
      ["dry_run: is true: the rule document is followed, nothing is dropped"],
    ],
    ["nor does the same for IPv6", file('url: "http://[::1]:8080", token_env: T'), "x", []],
    [
      "rules for every destination",
      file("url: https://example.net, token_env: T", "dry_run: false"),
      "x",
      [
        "bounds: has no networks: an attacker who controls the service can have packets to every destination dropped here",
      ],
    ],
    [
      "a rule that another one hides",
      file(
        "url: https://example.net, token_env: T",
        "dry_run: false\nbounds: {networks: [192.0.2.0/24]}\nfilter_rules: [{name: a, action: drop}, {name: b, action: pass, ports: ['1']}]",
      ),
      "x",
      ["filter_rules.1: never matches: a before it decides about all that it matches. Move it up, or remove it"],
    ],
    [
      "a token in clear text",
      file("url: http://example.net, token_env: T, plain_http: true"),
      "x",
      ["controller.url: is http: anyone on the network path can read the token and change the rules; use https"],
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
  using directory = new TemporaryFolder("scrub");
  const file = directory.at("scrub.yaml");
  const check = (text: string) => {
    writeFileSync(file, text);
    return checkConfig(file, environment);
  };
  expect(check(MINIMAL.replace("eth1", "eth1, eth1"))).toEqual({
    lines: [
      `${file}:3: dataplane.interfaces[1]: eth1 is there already, as dataplane.interfaces[0]: remove one of them`,
      `${file}: 1 error`,
    ],
    exitCode: 1,
    checked: null,
  });
  const nodeFileFindings = () => [{ path: ["prefix_sets", 0, "file"], rule: "absent" }];
  writeFileSync(file, `${MINIMAL}prefix_sets: [{name: drop, file: /drop}]\n`);
  expect(checkConfig(file, { ...environment, nodeFileFindings })).toMatchObject({
    lines: [`${file}:4: prefix_sets[0].file: absent`, `${file}: 1 error`],
    exitCode: 1,
  });
  expect(check(MINIMAL)).toMatchObject({
    lines: [
      `${file}:1: dry_run: warning: is true: the rule document is followed, nothing is dropped`,
      `${file}:1: bounds: warning: has no networks: an attacker who controls the service can have packets to every destination dropped here`,
      `${file}:2: controller: warning: has no token_env: only a service without tokens answers`,
      `${file}: valid`,
    ],
    exitCode: 0,
    checked: { role: "scrub", config: { node: "scrub1" } },
  });
});
