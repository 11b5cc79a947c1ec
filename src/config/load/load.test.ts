import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { COUNTING_FAULTS } from "../../../test/fixtures/config/counting-faults.ts";
import { MITIGATION_FAULTS } from "../../../test/fixtures/config/mitigation-faults.ts";
import { SERVICE_FAULTS } from "../../../test/fixtures/config/service-faults.ts";
import { TEXT_FAULTS } from "../../../test/fixtures/config/text-faults.ts";
import { folder } from "../../../test/fixtures/folders.ts";
import { isFrozen } from "../../../test/fixtures/frozen.ts";
import { communitiesOf } from "../../../test/fixtures/networks.ts";
import { PREFIXES_MAX } from "../../limits.ts";
import { describeProblem } from "../../schema/problem.ts";
import { METRICS } from "../../traffic/rates.ts";
import type { Config } from "../config.ts";
import { prefixesAreBounded } from "../rules/network.ts";
import { buildProfiles } from "../sections/scrub.ts";
import { type LoadedConfig, loadConfig, loadConfigOrThrow, parseConfig } from "./load.ts";
import { CONFIG_BYTES_MAX } from "./read-file.ts";
import { CONFIG_VALUES_MAX } from "./yaml-document.ts";

const DROPPING = { action: { kind: "discard" }, communities: communitiesOf("no-export") };
const FIXTURES = join(import.meta.dir, "../../../test/fixtures/config");
/** Only to detect a hang: files of the maximum size take seconds on a busy machine. */
setDefaultTimeout(60_000);
const BASE = "networks: [192.0.2.0/24]\nthresholds: {pps: 100000, mbps: 1000, flows_per_sec: 20000}\n";

function problemsIn(loaded: LoadedConfig): string[] {
  return loaded.kind === "valid" ? [] : loaded.problems.map((problem) => describeProblem("", problem).slice(1));
}

function problemsOf(text: string): string[] {
  return problemsIn(parseConfig(new TextEncoder().encode(text)));
}

function configOf(text: string): Config {
  const loaded = parseConfig(new TextEncoder().encode(text));
  expect(problemsIn(loaded)).toEqual([]);
  if (loaded.kind === "invalid") throw new Error("unreachable");
  return loaded.config;
}

describe("a file with a fault", () => {
  const files = [...TEXT_FAULTS, ...COUNTING_FAULTS, ...MITIGATION_FAULTS, ...SERVICE_FAULTS];

  test.each(files)("is refused, each fault with its line and the rule: $name", ({ text, problems }) => {
    expect(problemsOf(text)).toEqual([...problems]);
  });

  test("is refused when it is not UTF-8", () => {
    const loaded = parseConfig(Buffer.from("networks: [192.0.2.0/24]\n# Z\xFCrich\n", "latin1"));
    expect(problemsIn(loaded)).toEqual(["2: not UTF-8: save the file in that encoding"]);
  });
});

describe("defaults", () => {
  const config = loadConfigOrThrow(join(FIXTURES, "good-minimal.yaml"));

  test("are those of the reference, and announce nothing #limit-listener-default", () => {
    const { networks, hostgroups, lookup, whitelist, own, ...rest } = config;
    expect([networks.map(({ text }) => text), lookup.table.lengths]).toEqual([["192.0.2.0/24"], Uint8Array.of(120)]);
    expect(whitelist.packed.lengths).toHaveLength(0);
    expect(own.addresses()).toEqual([]);
    expect(hostgroups).toEqual([
      {
        name: "global",
        tenant: null,
        networks: [],
        calculation: "per_host",
        thresholds: [100_000, 1000, 20_000, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        thresholdsOutgoing: null,
        baseline: null,
      },
    ]);
    expect<unknown>(rest).toEqual({
      dryRun: true,
      protectedWhitelist: [],
      capture: null,
      telemetry: null,
      detection: { windowMs: 1000, tickMs: 100, sustainMs: 0, confidence: 0.99999999 },
      carpet: null,
      cluster: null,
      mitigations: [
        {
          method: "blackhole",
          ladder: [{ afterSeconds: 0, action: "blackhole" }],
          hasEscalation: false,
          flowspec: { ...DROPPING, sourceAnchored: false, minSourceConcentration: 0.8 },
          scrub: {
            profile: null,
            isAlways: false,
            isOnNodes: false,
            tcp: "transparent",
            dns: false,
            askedOnly: false,
            learnedBytesPerSecond: 12_500_000,
            sourceLimits: { packets: 20_000, bytes: 0, connections: 0, ipv4Length: 32, ipv6Length: 64 },
            services: null,
            countsOnly: false,
          },
          selectable: { profiles: [], isAlways: false },
          ban: {
            ttlSeconds: 600,
            unbanHysteresisSeconds: 120,
            fallback: "blackhole",
            cooldownSeconds: 0,
            repeatWindowSeconds: 600,
            repeatHoldSeconds: 300,
            repeatHoldMaxSeconds: 3600,
            deescalateAfterSeconds: 0,
          },
          orderMethods: ["blackhole"],
          dryRunDirections: [],
          blackhole: null,
          divert: null,
        },
      ],
      ban: { maxActiveBans: 50, maxBannedFraction: 0, orderWidestV4: 24, orderWidestV6: 48 },
      scrubProfiles: buildProfiles([]),
      stateDir: "/var/lib/floodwall",
      bgp: null,
      dataplane: null,
      prefixSets: [],
      samples: { enabled: true, perAttackFlows: 20, top: 10, asnFile: null, countryFile: null },
      storage: {
        driver: { kind: "sqlite", path: "/var/lib/floodwall/history.sqlite", maxBytes: 50_000_000_000 },
        retentionDays: 30,
        trafficIntervalSeconds: 10,
      },
      ...{ scrubbing: null, diversionHook: null, edge: null },
      ...{ orderTemplates: [], maintenance: [], filterRules: [] },
      notify: { targets: [], routes: null, pageUrl: null, tenantTargets: null },
      updateCheck: { url: null, intervalSeconds: 21_600 },
      api: {
        host: "127.0.0.1",
        port: 8080,
        tokens: [],
        isShorthand: false,
        tls: null,
        envFile: null,
        dashboard: true,
        sharedLinks: false,
        oidc: null,
        callers: [],
        metricsToken: false,
      },
    });
  });

  test("are frozen, to the last value", () => {
    expect(isFrozen(config)).toBe(true);
    expect(isFrozen(loadConfigOrThrow(join(FIXTURES, "good-full.yaml")))).toBe(true);
  });
});

describe("a full file", () => {
  const config = loadConfigOrThrow(join(FIXTURES, "good-full.yaml"));

  test("is read in canonical form", () => {
    expect(config.networks.map(({ text }) => text)).toEqual(["192.0.2.0/24", "198.51.100.0/24", "2001:db8::/32"]);
    expect(config.protectedWhitelist.map(({ text }) => text)).toEqual(["192.0.2.1/32", "2001:db8:ffff::/48"]);
    expect(config.api).toMatchObject({ host: "::1", port: 9090 });
  });

  // docs/configuration.test.ts checks all defaults.
  test("has each key of bgp, dataplane and capture in its place", () => {
    const { bgp, dataplane, capture } = config;
    const port = { port: 179, multihopTtl: 0 };
    expect<unknown>(bgp).toEqual({
      speaker: "external",
      grpc: "/run/gobgpd/gobgp.sock",
      instance: null,
      localAsn: 4_200_000_000,
      routerId: "192.0.2.10",
      listen: null,
      nextHop: "192.0.2.66",
      nextHop6: "2001:db8::66",
      communities: communitiesOf(
        ...["64500:666", "65535:666", "65535:65281"],
        ...["rt:4200000000:7", "ext:030b000000000064", "4200000000:1:2"],
      ),
      localPref: 200,
      ...{ policies: [], communitiesAt: [] },
      neighbors: [
        { address: "192.0.2.254", remoteAsn: 4_200_000_000, passwordEnv: "EDGE1_MD5", ...port },
        { address: "2001:db8::1", remoteAsn: 64_501, passwordEnv: null, port: 1790, multihopTtl: 2 },
      ],
    });
    const tunnels = dataplane?.tunnels.map((tunnel) => ({
      ...tunnel,
      networks: tunnel.networks.map(({ text }) => text),
    }));
    expect<unknown>({ ...dataplane, tunnels, allowlist: dataplane?.allowlist.map(({ text }) => text) }).toEqual({
      enabled: false,
      interfaces: ["eth2", "eth4"],
      xdpMode: "generic",
      pinPath: "/sys/fs/bpf/other",
      onExit: "detach",
      forward: "redirect",
      tunnels: [
        {
          kind: "gre",
          networks: ["192.0.2.0/25"],
          local: "192.0.2.10",
          remote: "198.51.100.9",
          ...{ key: 7, port: 4789, mac: null, mtu: 1472, mss: { 4: 1200, 6: 1200 } },
        },
        {
          kind: "vxlan",
          networks: ["2001:db8:7::/48"],
          local: "2001:db8::10",
          remote: "2001:db8::11",
          ...{ key: 4711, port: 8472, mac: "02:00:5E:10:00:01", mtu: 1400, mss: { 4: 1360, 6: 1340 } },
        },
      ],
      allowlist: ["203.0.113.9/32", "2001:db8:9::/48"],
      maxSources: 262_144,
      maxDynamicRules: 8192,
    });
    const afXdp = {
      backend: "af_xdp",
      queues: null,
      zeroCopy: "auto",
      decapsulate: [],
      samplingRate: 1,
      isExternal: false,
      externalMacs: [],
    };
    expect<unknown>(capture).toEqual({
      interfaces: [
        { ...afXdp, name: "eth1", mode: "mirror", xdpMode: "native", queues: [0, 1], zeroCopy: "on", cpus: [2, 3] },
        { ...afXdp, name: "eth2", mode: "inline", xdpMode: "generic", cpus: [1], isExternal: true },
        {
          ...{ ...afXdp, name: "eth3", mode: "mirror", backend: "pcap", xdpMode: "auto", cpus: [] },
          ...{ decapsulate: ["mpls", "vxlan"], samplingRate: 64, externalMacs: ["02:00:5e:10:00:01"] },
        },
      ],
      tunnels: [
        {
          address: "192.0.2.10",
          from: [expect.objectContaining({ text: "198.51.100.0/24" })],
          ...{ decapsulate: ["gre", "erspan"], samplingRate: 1, receiveBufferBytes: 64 * 2 ** 20, cpus: [] },
        },
      ],
      ...{ decapsulate: [], vxlanPorts: [4789], pcapFile: null, pace: "real" },
      ...{ maxHosts: 65_536, linkMbps: 40_000, countOutgoing: true },
    });
  });

  test("gives a hostgroup what it does not set from the global thresholds", () => {
    const [global, web, dns] = config.hostgroups.map(({ thresholds }) => thresholds);
    const at = (thresholds: readonly number[] | undefined, metric: (typeof METRICS)[number]) =>
      thresholds?.[METRICS.indexOf(metric)];
    expect(at(global, "udp_pps")).toBe(50_000);
    expect(at(web, "udp_pps")).toBe(1000);
    expect(at(web, "pps")).toBe(500_000);
    expect(at(dns, "udp_pps")).toBe(0);
    expect(at(dns, "mbps")).toBe(at(global, "mbps"));
  });

  test("gives a hostgroup what it does not set of the baseline, unless it is off there", () => {
    const floor = [5000, 50, 1000];
    expect(config.hostgroups.map(({ baseline }) => baseline)).toEqual([
      { factor: 2.5, halfLifeSeconds: 7200, warmupSeconds: 60, seasonal: true, floor },
      { factor: 4, halfLifeSeconds: 7200, warmupSeconds: 60, seasonal: false, floor: [9000, 50, 1000] },
      null,
    ]);
  });

  test("gives a hostgroup what it does not set of what hosts may send", () => {
    const [global, web, dns] = config.hostgroups.map(({ thresholdsOutgoing }) => thresholdsOutgoing);
    expect(global?.slice(0, 6)).toEqual([40_000, 0, 0, 0, 0, 0]);
    expect(web?.slice(0, 2)).toEqual([0, 300]);
    expect(web?.[METRICS.indexOf("udp_mbps")]).toBe(100);
    expect(dns).toEqual(global);
    expect(config.hostgroups.map(({ calculation }) => calculation)).toEqual(["per_host", "total", "per_host"]);
  });
});

test("files of origins keep their paths", () => {
  const text = "networks: [192.0.2.0/24]\nthresholds: {pps: 1, mbps: 1, flows_per_sec: 1}\n";
  const files = "samples: {asn_file: /srv/asn.mmdb, country_file: /srv/country.mmdb}\n";
  expect(configOf(text + files).samples).toMatchObject({ asnFile: "/srv/asn.mmdb", countryFile: "/srv/country.mmdb" });
});

describe("limits", () => {
  const ips = (count: number): string =>
    Array.from({ length: count }, (_, i) => `10.${i >> 16}.${(i >> 8) & 255}.${i & 255}/32`).join(",");
  const thresholds = "thresholds: {pps: 1, mbps: 1, flows_per_sec: 1}";

  test(`takes ${PREFIXES_MAX} networks, and not one more`, () => {
    expect(configOf(`networks: [${ips(PREFIXES_MAX)}]\n${thresholds}`).networks.length).toBe(PREFIXES_MAX);
    expect(problemsOf(`${thresholds}\nnetworks: [${ips(PREFIXES_MAX + 1)}]`)).toEqual([
      `2: networks: must have at most ${PREFIXES_MAX} items`,
    ]);
  });

  test("counts the networks of hostgroups with them", () => {
    const networks = new Array<string>(PREFIXES_MAX - 1).fill("10.0.0.1/32");
    expect([...prefixesAreBounded({ networks: ["10.0.0.0/8"], hostgroups: [{ networks }] })]).toEqual([]);
    const group = `hostgroups:\n  - {name: all, networks: [${ips(PREFIXES_MAX)}]}`;
    expect(problemsOf(`${thresholds}\nnetworks: [10.0.0.0/8]\n${group}`)).toEqual([
      `3: hostgroups: ${PREFIXES_MAX + 1} prefixes with those of networks, but ${PREFIXES_MAX} is the most`,
    ]);
  });

  test("refuses a file over the bound, and reads one at it", () => {
    const atBound = BASE + "#".repeat(CONFIG_BYTES_MAX - BASE.length);
    expect(problemsOf(atBound)).toEqual([]);
    expect(problemsOf(`${atBound}#`)).toEqual([`1: larger than ${CONFIG_BYTES_MAX} bytes`]);
  });

  test("refuses aliases that multiply", () => {
    const rows = ["a: &a [x, x, x, x, x, x, x, x, x, x]"];
    for (let i = 0; i < 9; i++) {
      const name = String.fromCharCode(98 + i);
      const previous = String.fromCharCode(97 + i);
      rows.push(`${name}: &${name} [${Array.from({ length: 10 }, () => `*${previous}`).join(", ")}]`);
    }
    const problems = problemsOf(`${BASE}${rows.join("\n")}`);
    expect(problems.length).toBe(1);
    expect(problems[0]).toEndWith(`: more than ${CONFIG_VALUES_MAX} values, aliases resolved: use fewer aliases`);
  });

  test("says what is nested too deeply for the parser itself", () => {
    expect(problemsOf(`ban: ${"[".repeat(100_000)}`)).toEqual(["1: nested too deeply"]);
  });
});

describe("aliases", () => {
  test("stand for their anchor's value, each a copy", () => {
    const config = configOf(
      `${BASE}hostgroups:\n  - {name: a, networks: [192.0.2.0/25], thresholds: &t {pps: 7}}\n` +
        "  - {name: b, networks: [192.0.2.128/25], thresholds: *t}",
    );
    expect(config.hostgroups.map(({ thresholds }) => thresholds[0])).toEqual([100_000, 7, 7]);
  });

  test("mean the anchor of their name that stands last before them", () => {
    const config = configOf(`${BASE}detection: {tick_ms: &n 50, window_ms: &m 500}\nban: {ttl_seconds: *n}\n`);
    expect(config.mitigations[0]?.ban.ttlSeconds).toBe(50);
  });
});

describe("a file that cannot be read", () => {
  const directory = folder("load");

  test.each([
    ["/nonexistent/floodwall.yaml", "no such file"],
    [FIXTURES, "EISDIR"],
  ])("%s is said to be so, without a line", (path, cause) => {
    const loaded = loadConfig(path);
    if (loaded.kind === "valid") throw new Error("expected a refusal");
    const [problem] = loaded.problems;
    expect(loaded.problems.length).toBe(1);
    expect(problem && describeProblem(path, problem)).toStartWith(`${path}: cannot be read: `);
    expect(problem?.rule).toContain(cause);
  });

  test("throws all faults in one error, a line each, for callers that ask for that", () => {
    const path = join(directory, "faults.yaml");
    writeFileSync(path, "networks: []\nthresholds: {}\n");
    expect(() => loadConfigOrThrow(path)).toThrow(
      [`${path}:1: networks: must have at least one item`, `${path}:2: thresholds.pps: is required`].join("\n"),
    );
  });

  test("is read from a pipe as well", () => {
    const path = join(directory, "pipe");
    expect(Bun.spawnSync(["mkfifo", path]).exitCode).toBe(0);
    const source = join(directory, "config");
    writeFileSync(source, BASE);
    const writer = Bun.spawn(["sh", "-c", 'cat "$1" > "$2"', "sh", source, path]);
    expect(problemsIn(loadConfig(path))).toEqual([]);
    writer.kill();
  });
});

test("a byte order mark and Windows line ends are no fault", () => {
  expect(problemsOf(`\uFEFF${BASE.replaceAll("\n", "\r\n")}`)).toEqual([]);
});
