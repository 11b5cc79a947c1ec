import { describe, expect, test } from "bun:test";
import { operatorRuleText } from "../../mitigation/operator/operator-rule.ts";
import { ANY_MATCH } from "../../mitigation/rules/match.ts";
import { type LoadedConfig, parseConfig } from "../load/load.ts";
import { configWarnings } from "../warnings/warnings.ts";

const COMMON = `networks: [192.0.2.0/24, 2001:db8::/48]
thresholds: {pps: 1000, mbps: 100, flows_per_sec: 500}
dataplane: {interfaces: [eth0]}
prefix_sets: [{name: a, file: /a}, {name: b, file: /b}, {name: c, file: /c}]
`;

function load(rules: string, common = COMMON): LoadedConfig {
  return parseConfig(new TextEncoder().encode(`${common}filter_rules:\n${rules}`));
}

function built(rule: string) {
  const loaded = load(`  - ${rule}\n`);
  if (loaded.kind === "invalid") throw new Error(JSON.stringify(loaded.problems));
  const [one] = loaded.config.filterRules;
  if (one === undefined) throw new Error("no rule");
  return one;
}

function problems(...rules: string[]): string[] {
  const loaded = load(rules.map((rule) => `  - ${rule}\n`).join(""));
  return loaded.kind === "valid" ? [] : loaded.problems.map(({ path, rule }) => `${path.slice(1).join(".")}: ${rule}`);
}

describe("filter_rules", () => {
  test("everything that a rule can ask for", () => {
    const rule = built(
      `{name: all, action: drop, destinations: [192.0.2.7], source: 198.51.100.0/24, source_sets: [a, b], not_source_sets: [c],
        protocol: tcp, ports: ["80", "8000-8010"], source_ports: ["1-2"], tcp_flags: {set: [syn], unset: [ack, rst]}, fragment: false,
        packet_lengths: ["40", "100-200"], ttl: "1-5", dscp: [0, 46], tcp_window: "0", tcp_options: {set: [mss], unset: [timestamps]},
        payload: [{offset: 2, bytes: "0aff", mask: "0fff"}, {bytes: "00"}], when: attacked, dry_run: true}`.replaceAll(
        "\n",
        " ",
      ),
    );
    expect(operatorRuleText(rule)).toBe(
      "dst 192.0.2.7/32 src 198.51.100.0/24 proto tcp src-port 1-2 dst-port 80,8000-8010 tcp-flags syn,!rst,!ack fragment no ttl 1-5 dscp 0,46 tcp-window 0 tcp-options 2,!8 length 40,100-200 payload 2:0aff/0fff or 0:00 src-set a,b src-set !c",
    );
    expect(rule).toMatchObject({ when: "attacked", isDryRun: true, limit: null, action: "drop" });
  });

  test("a rule of nothing but its action is for all traffic, always", () => {
    const rule = built("{name: none, action: pass}");
    expect(operatorRuleText(rule)).toBe("any");
    expect(rule).toMatchObject({ when: "always", isDryRun: false, match: ANY_MATCH, destinations: [] });
  });

  test("handshakes are patterns of the payload over their protocol", () => {
    expect(operatorRuleText(built("{name: t, action: drop, handshake: tls}"))).toBe(
      "proto tcp payload 0:160300000001/ffff000000ff",
    );
    expect(operatorRuleText(built("{name: q, action: drop, handshake: quic, ports: ['443']}"))).toBe(
      "proto udp dst-port 443 payload 0:c000000001/f0ffffffff or 0:d06b3343cf/f0ffffffff",
    );
  });

  test("limits of all and of each source", () => {
    expect(built("{name: l, action: limit, mbps: 8, packets_per_second: 10}").limit).toEqual({
      packetsPerSecond: 10,
      bytesPerSecond: 1e6,
      isPerSource: false,
      ipv4Length: 32,
      ipv6Length: 64,
    });
    const each =
      "{name: l, action: limit, packets_per_second: 1, per: source, source_ipv4_length: 24, source_ipv6_length: 48}";
    expect(built(each).limit).toMatchObject({ isPerSource: true, ipv4Length: 24, ipv6Length: 48 });
  });

  test.each([
    ["{name: a, action: limit}", "action: limit needs packets_per_second or mbps: the rate that may pass"],
    ["{name: a, action: limit, packets_per_second: 0.5}", "packets_per_second: must be 0 (no limit) or at least 1"],
    ["{name: a, action: limit, mbps: 0.0001}", "mbps: must be 0 (no limit) or at least 0.001"],
    ["{name: a, action: drop, mbps: 5}", "mbps: goes with action limit, not drop"],
    ["{name: a, action: limit, mbps: 5, source_ipv4_length: 24}", "source_ipv4_length: goes with per: source"],
    ["{name: a, action: drop, protocol: icmp, ports: ['1']}", "ports: goes with protocol tcp, udp, sctp, not icmp"],
    ["{name: a, action: drop, protocol: udp, tcp_window: '1'}", "tcp_window: goes with protocol tcp, not udp"],
    ["{name: a, action: drop, handshake: quic, protocol: tcp}", "handshake: quic is over udp, not tcp"],
    [
      "{name: a, action: drop, handshake: tls, payload: [{bytes: '00'}]}",
      "payload: goes without handshake, which says what the payload begins with",
    ],
    [
      "{name: a, action: drop, payload: [{offset: 127, bytes: '0001'}]}",
      "payload.0.bytes: ends after the first 128 bytes of the payload",
    ],
    [
      "{name: a, action: drop, payload: [{bytes: '0001', mask: 'ff'}]}",
      "payload.0.mask: must be as long as bytes, 2 bytes",
    ],
    [
      "{name: a, action: drop, payload: [{bytes: '0'}]}",
      "payload.0.bytes: must be 1 to 32 bytes, each two hexadecimal digits: ffffffff 54",
    ],
    ["{name: a, action: drop, ttl: '1-256'}", "ttl: must be a number up to 255, or a range of such: 5, or 1-5"],
    ["{name: a, action: drop, ttl: '5-1'}", "ttl: must be a number up to 255, or a range of such: 5, or 1-5"],
    [
      "{name: a, action: drop, destinations: [198.51.100.0/24]}",
      "destinations.0: 198.51.100.0/24 lies in none of networks: add it there, or correct it",
    ],
    [
      "{name: a, action: drop, destinations: [192.0.0.0/16]}",
      "destinations.0: 192.0.0.0/16 lies in none of networks: add it there, or correct it",
    ],
    [
      "{name: a, action: drop, source: '2001:db8::/32', destinations: [192.0.2.1]}",
      "destinations.0: 192.0.2.1/32 is of another family than source, 2001:db8::/32",
    ],
    [
      "{name: a, action: drop, source_sets: [d]}",
      "source_sets.0: there is no set d in prefix_sets: add it there, or correct it",
    ],
    ["{name: a, action: dropp}", 'action: must be drop or pass or limit, not the text "dropp"'],
  ])("%s", (rule, problem) => {
    expect(problems(rule).map((text) => text.replace(/^0\./, ""))).toEqual([problem]);
  });

  test("names are unique, and there must be a data plane", () => {
    const twice = ["{name: a, action: drop}", "{name: a, action: pass}"];
    expect(problems(...twice)).toEqual(["1.name: is there already, as filter_rules[0]"]);
    const without = load("  - {name: a, action: drop}\n", COMMON.replace(/dataplane.*\n/, ""));
    expect(without).toMatchObject({ kind: "invalid", problems: [{ path: ["filter_rules"] }] });
  });

  test("a hidden rule is reported", () => {
    const loaded = load(
      "  - {name: udp, action: drop, protocol: udp}\n  - {name: dns, action: pass, protocol: udp, ports: ['53']}\n",
    );
    if (loaded.kind === "invalid") throw new Error(JSON.stringify(loaded.problems));
    const warnings = configWarnings(loaded.config, () => null).filter(({ path }) => path[0] === "filter_rules");
    expect(warnings).toEqual([
      {
        path: ["filter_rules", 1],
        rule: "never matches: udp before it decides about all that it matches. Move it up, or remove it",
      },
    ]);
  });
});
