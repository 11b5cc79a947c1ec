import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { folder } from "../../test/fixtures/folders.ts";
import { readEnvFile } from "../system/env-file.ts";
import { checkConfig } from "./check.ts";

const directory = folder("check");

const NETWORKS = "networks: [192.0.2.0/24]\n";
const THRESHOLDS = "thresholds: {pps: 100000, mbps: 1000, flows_per_sec: 20000}\n";
const CAPTURE = "capture: {interfaces: [{name: eth1, mode: inline}]}\n";
const NEIGHBOR = "{address: 198.51.100.254, remote_asn: 64501, multihop_ttl: 2}";

function bgp(extra: string, neighbor = NEIGHBOR): string {
  return `bgp: {local_asn: 64500, router_id: 198.51.100.1, next_hop: 198.51.100.66, neighbors: [${neighbor}]${extra}}\n`;
}

/** The report's lines without the file's name. */
function check(text: string, environment: Record<string, string> = {}): { lines: string[]; exitCode: number } {
  const path = join(directory, "floodwall.yaml");
  writeFileSync(path, text);
  const { lines, exitCode } = checkConfig(path, { read: (name) => environment[name] ?? null, readFile: readEnvFile });
  return { lines: lines.map((line) => line.slice(path.length + 1)), exitCode };
}

const QUIET = `dry_run: false\n${NETWORKS}${THRESHOLDS}${CAPTURE}`;

test("a file that does what it says gets no warning", () => {
  expect(check(QUIET + bgp(""))).toEqual({ lines: [" valid"], exitCode: 0 });
});

test("nor does one whose policies say what bgp does not, or what it says is for none", () => {
  const policies = `, communities: [], policies: [{name: own, blackhole: {communities: ["64501:666"], next_hop: 198.51.100.65}}, {name: rules, methods: [flowspec]}]`;
  const linked =
    "{address: 198.51.100.254, remote_asn: 64501, policy: own}, {address: 198.51.100.253, remote_asn: 64502, policy: rules}";
  expect(check(QUIET + bgp(policies, linked))).toEqual({ lines: [" valid"], exitCode: 0 });
  const internal = "{address: 198.51.100.254, remote_asn: 64501, local_asn: 64501}";
  expect(check(QUIET + bgp(", local_pref: 200", internal))).toEqual({ lines: [" valid"], exitCode: 0 });
});

test("the service's own addresses inside the networks are listed with their keys", () => {
  const own = bgp("", "{address: 192.0.2.254, remote_asn: 64501, multihop_ttl: 2}").replace(
    "198.51.100.1,",
    "192.0.2.1,",
  );
  expect(check(QUIET + own).lines).toEqual([
    " never banned, as own infrastructure inside networks: 192.0.2.1 (bgp.router_id), 192.0.2.254 (bgp.neighbors[0].address)",
    " valid",
  ]);
});

test("errors are all shown and counted, and the exit code is 1", () => {
  expect(check("networks: [192.0.2.1/24]\ndry_run: 1\n")).toEqual({
    lines: [
      "1: thresholds: is required: must be a mapping of keys",
      "1: networks[0]: 192.0.2.1/24 has host bits set: write 192.0.2.0/24",
      "2: dry_run: must be true or false, not 1",
      " 3 errors",
    ],
    exitCode: 1,
  });
  expect(check(`${NETWORKS}${THRESHOLDS}ban: 1\n`).lines.at(-1)).toBe(" 1 error");
});

test("a file that is not there is an error", () => {
  const { lines, exitCode } = checkConfig(join(directory, "absent.yaml"), {
    read: () => null,
    readFile: readEnvFile,
  });
  expect(lines[0]).toContain("absent.yaml: cannot be read: ");
  expect(exitCode).toBe(1);
});

describe("warnings leave the exit code 0 and name their line:", () => {
  test.each([
    [
      "networks that no source holds",
      (QUIET + bgp("")).replace("192.0.2.0/24", '10.0.0.0/8, 128.0.0.0/7, "2000::/15", "3000::/16"'),
      [
        "2: networks[1]: warning: 128.0.0.0/7 is wider than what any operator holds: addresses of others would be counted and banned",
        "2: networks[2]: warning: 2000::/15 is wider than what any operator holds: addresses of others would be counted and banned",
      ],
    ],
    [
      "the whole Internet",
      QUIET.replace("192.0.2.0/24", "0.0.0.0/0"),
      [
        "1: bgp: warning: is absent while dry_run is false: bans are recorded, no route can be announced",
        "2: networks[0]: warning: 0.0.0.0/0 is wider than what any operator holds: addresses of others would be counted and banned",
      ],
    ],
    [
      "dry run",
      NETWORKS + THRESHOLDS + CAPTURE,
      ["1: dry_run: warning: is true: bans are recorded, nothing is announced"],
    ],
    [
      "no speaker",
      QUIET,
      ["1: bgp: warning: is absent while dry_run is false: bans are recorded, no route can be announced"],
    ],
    [
      "no capture",
      `dry_run: false\n${NETWORKS}${THRESHOLDS}${bgp("")}`,
      ["1: capture: warning: is absent: no packets are seen, only manual bans work"],
    ],
    [
      "a data plane on a mirror port",
      `${QUIET.replace("inline", "mirror, backend: pcap")}${bgp("")}dataplane: {interfaces: [eth0, eth1]}\n`,
      [
        "6: dataplane.interfaces[1]: warning: eth1 is a mirror port: what is dropped there are copies, and the original traffic is not dropped",
      ],
    ],
    [
      "a mirror port",
      `${QUIET.replace("inline", "mirror")}${bgp("")}`,
      [
        "4: capture.interfaces[0].mode: warning: takes every frame off eth1: intended for a SPAN or tap port; other traffic on it is lost",
      ],
    ],
    [
      "a whitelist entry outside the networks",
      `${QUIET}${bgp("")}protected_whitelist:\n  - 192.0.2.1\n  - 192.0.0.0/16\n  - 198.51.100.1\n`,
      ["9: protected_whitelist[2]: warning: 198.51.100.1/32 is outside networks, where nothing is banned anyway"],
    ],
    [
      "a part with a higher threshold than the whole",
      QUIET.replace("20000}", "20000, tcp_pps: 100001, udp_mbps: 1000, tcp_syn_pps: 0}") + bgp(""),
      ["3: thresholds.tcp_pps: warning: 100001 is above pps 100000, which always triggers first"],
    ],
    [
      "the same in a hostgroup, but not what it inherits whole",
      `${QUIET.replace("20000}", "20000, udp_pps: 50000, tcp_mbps: 1001}")}${bgp("")}hostgroups:
  - name: web
    networks: [192.0.2.0/25]
    thresholds: {pps: 1000}
`,
      [
        "3: thresholds.tcp_mbps: warning: 1001 is above mbps 1000, which always triggers first",
        "9: hostgroups[0].thresholds.udp_pps: warning: 50000 is above pps 1000, which always triggers first",
      ],
    ],
    [
      "no community",
      QUIET + bgp(", communities: []"),
      ["5: bgp.communities: warning: is empty: neighbors must know a blackhole by its next hop alone"],
    ],
    [
      "a next hop that routers do not take by default",
      QUIET + bgp("", "{address: 198.51.100.254, remote_asn: 64501}, {address: 198.51.100.253, remote_asn: 64500}"),
      [
        "5: bgp.next_hop: warning: is not on the link to 198.51.100.254: without multihop there, BIRD rejects the routes and FRR leaves them inactive, and no ban shows it (docs/operations/routers.md)",
      ],
    ],
    [
      "a local preference that reaches no neighbor",
      QUIET + bgp(", local_pref: 200"),
      ["5: bgp.local_pref: warning: goes to neighbors of the same AS only, and there is none"],
    ],
    [
      "one line for a divert that several hostgroups cannot have",
      `${QUIET.replace("[192.0.2.0/24]", '[192.0.2.0/24, "2001:db8::/32"]')}${bgp("")}mitigation: divert
scrubbing: {next_hop: 198.51.100.67, nodes: []}
hostgroups: [{name: a, networks: ["2001:db8:1::/48"]}, {name: b, networks: [192.0.2.16/28]}]
`,
      ["7: scrubbing.next_hop6: warning: is absent: hostgroups global, a cannot divert IPv6, and fall back"],
    ],
    [
      "no divert that nodes do not do for the hostgroup global, to which no address is left",
      `${QUIET}${bgp("")}mitigation: divert
scrubbing: {nodes: [{name: s1, next_hop: 198.51.100.67, hostgroups: [a, b]}]}
hostgroups: [{name: a, networks: [192.0.2.0/25]}, {name: b, networks: [192.0.2.128/25, 192.0.2.128/26]}]
api: {tokens: [{name: s1, token_env: S1, role: agent, node: s1}]}
`,
      ["9: api.tokens[0].token_env: warning: the variable S1 is not set here: no one can call as s1"],
    ],
    [
      "a divert that one family cannot have",
      `${QUIET.replace("[192.0.2.0/24]", '[192.0.2.0/24, "2001:db8::/32"]')}${bgp("")}mitigation: divert
scrubbing: {next_hop: 198.51.100.67, nodes: []}
`,
      ["7: scrubbing.next_hop6: warning: is absent: hostgroup global cannot divert IPv6, and falls back"],
    ],
    [
      "a divert that no node takes, and a node to which nothing is diverted",
      `${QUIET.replace("[192.0.2.0/24]", '[192.0.2.0/24, "2001:db8::/32"]')}${bgp("")}mitigation: divert
scrubbing: {nodes: [{name: s1, next_hop: 198.51.100.67}, {name: s2}]}
`,
      [
        "7: scrubbing.nodes[0]: warning: no token in api.tokens is an agent's that may act as s1: it never counts as alive",
        "7: scrubbing.nodes[1]: warning: has no next hop, nor has scrubbing: nothing is diverted to it",
        "7: scrubbing.nodes[1]: warning: no token in api.tokens is an agent's that may act as s2: it never counts as alive",
        "7: scrubbing.nodes: warning: none takes IPv6: hostgroup global cannot divert it, and does as ban.fallback says",
      ],
    ],
    [
      "a divert of prefixes that no node takes",
      `${QUIET.replace("[192.0.2.0/24]", '[192.0.2.0/24, "2001:db8::/32"]')}${bgp("")}scrubbing: {nodes: [{name: s1, next_hop: 198.51.100.67}]}
carpet: {thresholds: {pps: 5}, mitigation: divert}
`,
      [
        "6: scrubbing.nodes[0]: warning: no token in api.tokens is an agent's that may act as s1: it never counts as alive",
        "6: scrubbing.nodes: warning: none takes IPv6: spread attacks cannot be diverted, and nothing is done about them",
      ],
    ],
    [
      "a hook that diverts nothing, for real bans",
      `${QUIET}${bgp("")}mitigation: divert
scrubbing: {hook: {command: /divert, dry_run: true}}
`,
      [
        "7: scrubbing.hook.dry_run: warning: is true, and bans that divert are real: they do nothing but what an earlier rung announced",
      ],
    ],
    [
      "answers whose requests cannot be known, once for all hostgroups that inherit it",
      `${QUIET}${bgp("")}dataplane: {interfaces: [eth0]}
scrub: {always: true, answers: asked}
hostgroups:
  - {name: same, networks: [192.0.2.0/28]}
  - {name: own, networks: [192.0.2.16/28], scrub: {tcp: "off"}}
  - {name: "no", networks: [192.0.2.32/28], scrub: {always: false}}
`,
      [
        "7: scrub.answers: warning: asked acts only in bans that scrub, in spite of always: what answers look like is known from an attack",
        "10: hostgroups[1].scrub.answers: warning: asked acts only in bans that scrub, in spite of always: what answers look like is known from an attack",
      ],
    ],
    [
      "a divert of prefixes that one family cannot have",
      `${QUIET.replace("[192.0.2.0/24]", '[192.0.2.0/24, "2001:db8::/32"]')}${bgp("")}scrubbing: {next_hop: 198.51.100.67, nodes: []}
carpet: {thresholds: {pps: 5}, mitigation: divert}
`,
      [
        "6: scrubbing.next_hop6: warning: is absent: spread attacks on IPv6 cannot be diverted, and nothing is done about them",
      ],
    ],
  ])("%s", (_name, text, warnings) => {
    expect(check(text)).toEqual({ lines: [...warnings, " valid"], exitCode: 0 });
  });

  test("a password that is not in the environment, or empty there", () => {
    const text = QUIET + bgp("", NEIGHBOR.replace("}", ", password_env: EDGE1_MD5}"));
    const warning =
      "5: bgp.neighbors[0].password_env: warning: the variable EDGE1_MD5 is not set here: the service does not start without it";
    expect(check(text).lines).toEqual([warning, " valid"]);
    expect(check(text, { EDGE1_MD5: "" }).lines).toEqual([warning, " valid"]);
    expect(check(text, { EDGE1_MD5: "secret" }).lines).toEqual([" valid"]);
  });
});
