import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { ZONE_FAULTS } from "../../../test/fixtures/config/zone-faults.ts";
import { folder } from "../../../test/fixtures/folders.ts";
import { isFrozen } from "../../../test/fixtures/frozen.ts";
import type { EdgeConfig } from "../../edge/edge-config.ts";
import { ZONES_MAX } from "../../limits.ts";
import { ConfigReader } from "../../service/config-reader.ts";
import { readEnvFile } from "../../system/env-file.ts";
import { systemTimers } from "../../system/timers.ts";
import { checkConfig } from "../check.ts";
import { loadConfigOrThrow } from "../load/load.ts";
import { CONFIG_BYTES_MAX } from "../load/read-file.ts";
import { packConfig, unpackConfig } from "../packed-config.ts";
import { EXEMPT_PATHS_MAX, ORIGINS_MAX } from "./file.ts";

const BASE = "dry_run: false\nnetworks: [192.0.2.0/24]\nthresholds: {pps: 100000, mbps: 1000, flows_per_sec: 20000}\n";
const WEB = "hostgroups: [{name: web, networks: [192.0.2.0/25]}]\n";
const directory = folder("zones");
const configPath = join(directory, "floodwall.yaml");
const zonesPath = join(directory, "zones.yaml");

function write(zones: string | null, { path = zonesPath, nodes = "[{name: e1}]", extra = WEB } = {}): void {
  writeFileSync(configPath, `${BASE}${extra}edge: {zones_file: ${path}, nodes: ${nodes}}\n`);
  if (zones !== null) writeFileSync(zonesPath, zones);
}

/** The report's lines; names of files without their folder. */
function check(): string[] {
  const { lines } = checkConfig(configPath, { read: () => null, readFile: readEnvFile });
  return lines.map((line) => line.replaceAll(`${directory}/`, ""));
}

function zonesIn(zones: string): EdgeConfig["zones"] {
  write(zones);
  return loadConfigOrThrow(configPath).edge?.zones ?? [];
}

const zone = (name: string, more = "") => `  - {name: ${name}, origins: ["192.0.2.1:443"]${more}}\n`;

describe("a zones file with a fault", () => {
  test.each(ZONE_FAULTS)("is refused, each fault with its line and the rule: $name", ({ text, problems }) => {
    write(text);
    const { length } = problems;
    expect(check()).toEqual([
      ...problems.map((line) => `zones.yaml:${line}`),
      `floodwall.yaml: ${length} error${length === 1 ? "" : "s"}`,
    ]);
  });

  test("is reported together with the faults of the file that names it", () => {
    write(`zones:\n${zone("a.example.net", ", tls: 1")}`, { extra: "tenant: a b\n" });
    expect(check()).toEqual([
      "floodwall.yaml:4: tenant: must be 1 to 63 letters, digits, dots, dashes or underscores, the first a letter or digit",
      "zones.yaml:2: zones[0].tls: must be a mapping of keys, not 1",
      "floodwall.yaml: 2 errors",
    ]);
  });

  test("says nothing of its hostgroups while theirs have faults", () => {
    write(`zones:\n${zone("a.example.net", ", hostgroup: mail")}`, { extra: "hostgroups: [{name: a b}]\n" });
    expect(check().filter((line) => line.startsWith("zones.yaml"))).toEqual([]);
  });
});

test("a zones file that is not there is a fault of the line that names it", () => {
  write(null, { path: join(directory, "absent.yaml") });
  expect(check()[0]).toStartWith("floodwall.yaml:5: edge.zones_file: absent.yaml cannot be read: ENOENT");
  expect(check()[1]).toBe("floodwall.yaml: 1 error");
});

test("its path is absolute", () => {
  write("zones: []\n", { path: "zones.yaml" });
  expect(check()[0]).toBe("floodwall.yaml:5: edge.zones_file: must be an absolute path: it starts with /");
});

test("an empty list of zones is valid", () => {
  expect(zonesIn("zones: []\n")).toEqual([]);
  expect(check().at(-1)).toBe("floodwall.yaml: valid");
});

test("names are folded to lower case, and zones go by them", () => {
  expect(zonesIn(`zones:\n${zone("WWW.Example.NET")}${zone("api.example.net")}`).map(({ name }) => name)).toEqual([
    "api.example.net",
    "www.example.net",
  ]);
});

test("every key is taken, and what a zone does not say is safe: it decides, and watches only", () => {
  write(null, { path: join(import.meta.dir, "../../../test/fixtures/config/zones/good-zones.yaml") });
  const [api, www] = loadConfigOrThrow(configPath).edge?.zones ?? [];
  expect<unknown>(api).toEqual({
    name: "api.example.net",
    tenant: null,
    hostgroup: null,
    origins: ["api:80"],
    tls: { minVersion: "1.2", h3: false, advertise: true, altSvcMaxAgeSeconds: 86_400 },
    acme: { directory: null, fallback: null },
    policy: {
      mode: "decide",
      failureMode: "open",
      challenge: "off",
      dryRun: true,
      rate: { rps: 0, concurrency: 0 },
      challengeOptions: {
        dryRun: true,
        exemptPaths: [],
        difficulty: 18,
        cookieTtlSeconds: 1800,
        auto: { zoneRps: 0, holdSeconds: 300 },
      },
    },
    extraDirectivesFile: null,
  });
  expect<unknown>(www).toEqual({
    name: "www.example.net",
    tenant: "acme",
    hostgroup: "web",
    origins: ["origin.example.net:8443", "192.0.2.1:443", "[2001:db8::1]:443"],
    tls: { minVersion: "1.3", h3: true, advertise: false, altSvcMaxAgeSeconds: 60 },
    acme: { directory: "https://ca.example.net/directory", fallback: "https://other.example.net/directory" },
    policy: {
      mode: "none",
      failureMode: "closed",
      challenge: "auto",
      dryRun: false,
      rate: { rps: 50, concurrency: 7 },
      challengeOptions: {
        dryRun: false,
        exemptPaths: ["/health", "/status"],
        difficulty: 20,
        cookieTtlSeconds: 3600,
        auto: { zoneRps: 5000, holdSeconds: 60 },
      },
    },
    extraDirectivesFile: "/etc/edge/www.conf",
  });
});

test("min_version is the same with quotes and without", () => {
  const versions = zonesIn(
    `zones:\n${zone("a", ", tls: {min_version: 1.3}")}${zone("b", ', tls: {min_version: "1.3"}')}`,
  );
  expect(versions.map(({ tls }) => tls.minVersion)).toEqual(["1.3", "1.3"]);
});

describe("bounds", () => {
  const names = (count: number) =>
    Array.from({ length: count }, (_, i) => `{name: z${i}, origins: ["o:1"]}`).join(", ");
  const list = (count: number, item: (i: number) => string) => Array.from({ length: count }, (_, i) => item(i)).join();
  const origins = (count: number) => `zones: [{name: a, origins: [${list(count, (i) => `"o:${i + 1}"`)}]}]`;
  const paths = (count: number) =>
    `zones: [{name: a, origins: ["o:1"], policy: {challenge_options: {exempt_paths: [${list(count, (i) => `/${i}`)}]}}}]`;

  test.each([
    [
      "zones",
      `zones: [${names(ZONES_MAX)}]`,
      `zones: [${names(ZONES_MAX + 1)}]`,
      `zones: must have at most ${ZONES_MAX} items`,
    ],
    [
      "origins of a zone",
      origins(ORIGINS_MAX),
      origins(ORIGINS_MAX + 1),
      `zones[0].origins: must have at most ${ORIGINS_MAX} items`,
    ],
    [
      "exempt paths",
      paths(EXEMPT_PATHS_MAX),
      paths(EXEMPT_PATHS_MAX + 1),
      `zones[0].policy.challenge_options.exempt_paths: must have at most ${EXEMPT_PATHS_MAX} items`,
    ],
  ])("of %s hold at the bound and one above", (_name, at, above, rule) => {
    write(at);
    expect(check().at(-1)).toBe("floodwall.yaml: valid");
    write(above);
    expect(check()).toEqual([`zones.yaml:1: ${rule}`, "floodwall.yaml: 1 error"]);
  });

  test("of bytes", () => {
    const filled = (bytes: number) => `zones: []\n#${" ".repeat(bytes - 12)}\n`;
    write(filled(CONFIG_BYTES_MAX));
    expect(check().at(-1)).toBe("floodwall.yaml: valid");
    write(filled(CONFIG_BYTES_MAX + 1));
    expect(check()[0]).toBe(`zones.yaml:1: larger than ${CONFIG_BYTES_MAX} bytes`);
  });
});

describe("floodwall check warns of", () => {
  const warnings = () => check().filter((line) => line.includes("warning") && !/ (bgp|capture): /.test(line));
  const labelled = `zones:\n${zone("b.example.net", ", hostgroup: web")}${zone("a.example.net", ", hostgroup: global")}${zone("c.example.net")}`;

  test("zones that no node serves, each with its line", () => {
    write(labelled);
    expect(warnings()).toEqual([
      "zones.yaml:2: zones[0]: warning: b.example.net is served by no node: none of edge.nodes lists the hostgroup web",
    ]);
    write(labelled, { nodes: "[{name: e1, hostgroups: [web]}]" });
    expect(warnings()).toEqual([
      "zones.yaml:3: zones[1]: warning: a.example.net is served by no node: none of edge.nodes lists the hostgroup global",
    ]);
    write(labelled, { nodes: "[{name: e1, hostgroups: [web, global]}]" });
    expect(warnings()).toEqual([]);
  });

  test("zones where there is no node at all", () => {
    write(labelled, { nodes: "[]" });
    expect(warnings()).toEqual(["zones.yaml:1: zones: warning: are served by no node: edge.nodes is empty"]);
    write("zones: []\n", { nodes: "[]" });
    expect(warnings()).toEqual([]);
  });

  test("nodes without a zones file", () => {
    writeFileSync(configPath, `${BASE}edge: {nodes: [{name: e1}]}\n`);
    expect(warnings()).toEqual(["floodwall.yaml:4: edge: warning: has no zones_file: its nodes get no zones"]);
  });
});

describe("a reload", () => {
  test("reads the zones with the configuration, and is refused when they are broken", async () => {
    const reader = new ConfigReader(systemTimers);
    write(`zones:\n${zone("a.example.net")}`);
    const good = await reader.read(configPath);
    expect(good.kind === "valid" && good.config.edge?.zones.map(({ name }) => name)).toEqual(["a.example.net"]);
    expect(good.kind === "valid" && isFrozen(good.config)).toBe(true);
    write(`zones:\n${zone("a_b")}`);
    expect(await reader.read(configPath)).toEqual({
      kind: "invalid",
      problems: [`${zonesPath}:2: zones[0].name: must be a hostname such as www.example.net`],
    });
  });

  test("gives others their turn while it takes over many zones", async () => {
    write(`zones:\n${Array.from({ length: 250 }, (_, i) => zone(`z${i}.example.net`)).join("")}`);
    const config = loadConfigOrThrow(configPath);
    const zones = structuredClone(config.edge?.zones);
    const { packed, buffers } = packConfig(config);
    let turns = 0;
    const moved = await unpackConfig(structuredClone(packed, { transfer: buffers }), async () => void turns++);
    expect<unknown>(moved.edge?.zones).toEqual(zones);
    expect(isFrozen(moved)).toBe(true);
    expect(turns).toBe(2);
  });
});
