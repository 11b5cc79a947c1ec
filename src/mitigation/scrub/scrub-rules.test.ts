import { describe, expect, test } from "bun:test";
import { prefix } from "../../../test/fixtures/networks.ts";
import { buildScrub, type ScrubFile } from "../../config/sections/scrub.ts";
import { exactly } from "../../net/range.ts";
import { matchText } from "../rules/match.ts";
import { type Rule, ruleText, wideRule } from "../rules/rule.ts";
import { filterText } from "./scrub-filter.ts";
import { scrubRules } from "./scrub-rules.ts";

const VICTIM = prefix("192.0.2.1/32");
const ALL = wideRule(VICTIM, { kind: "discard" });
const port = (from: number) => [{ from, to: from }];

const UDP: Rule = { ...ALL, protocols: exactly(17) };
const TCP: Rule = { ...ALL, protocols: exactly(6) };
const QUERIES: Rule = { ...UDP, destinationPorts: port(53) };
const ANSWERS: Rule = { ...UDP, sourcePorts: port(53) };

const NO_LIMIT = { source_packets_per_second: 0 } as const;

/** `validate_dns dst 192.0.2.1/32 proto udp dst-port 53`; the rule's own action if it has no other. */
function texts(file: ScrubFile, attack: readonly Rule[] = [], victim = VICTIM): string[] {
  return scrubRules(victim, buildScrub({ ...NO_LIMIT, ...file }, []), attack).map(({ rule }) =>
    rule.action.kind === "discard" ? ruleText(rule) : `${rule.action.kind} ${matchText(rule)}`,
  );
}

describe("rules of a scrubbed victim", () => {
  test("begin with sources of TCP proving their address, and have none of the attack that match TCP", () => {
    expect(texts({}, [UDP, TCP])).toEqual([
      "validate_transparent dst 192.0.2.1/32 proto tcp",
      "dst 192.0.2.1/32 proto udp discard",
    ]);
    expect(texts({ tcp: "off" }, [TCP])).toEqual(["dst 192.0.2.1/32 proto tcp discard"]);
  });

  test("have those of an attack of any protocol for the others, and for fragments as they are", () => {
    const packetLengths = [{ from: 100, to: 200 }];
    const beside = (rule: Rule, victim = VICTIM) => texts({}, [rule], victim).slice(1);
    expect(beside({ ...ALL, packetLengths })).toEqual([
      "dst 192.0.2.1/32 proto udp length 100-200 discard",
      "dst 192.0.2.1/32 proto icmp length 100-200 discard",
    ]);
    const six = prefix("2001:db8::1/128");
    expect(beside(wideRule(six, { kind: "discard" }), six)).toEqual([
      "dst 2001:db8::1/128 proto udp discard",
      "dst 2001:db8::1/128 proto icmpv6 discard",
    ]);
    expect(beside({ ...ALL, sourcePorts: port(53) })).toEqual(["dst 192.0.2.1/32 proto udp src-port 53 discard"]);
    expect(beside({ ...ALL, fragment: true })).toEqual(["dst 192.0.2.1/32 fragment yes discard"]);
    expect(beside({ ...ALL, tcpFlags: { set: 2, unset: 0 } })).toEqual([]);
    expect(texts({ tcp: "off" }, [ALL])).toEqual(["dst 192.0.2.1/32 discard"]);
  });

  test("have those against what the victim itself sends, which the filter does not see", () => {
    const outgoing = { ...ALL, destination: null, source: VICTIM };
    const file: ScrubFile = { dns: "truncate", answers: "asked" };
    const attack = [6, 17].map((protocol) => ({
      ...outgoing,
      protocols: exactly(protocol),
      sourcePorts: port(53),
      destinationPorts: port(53),
    }));
    expect(texts(file, attack).slice(3)).toEqual([
      "src 192.0.2.1/32 proto tcp src-port 53 dst-port 53 discard",
      "src 192.0.2.1/32 proto udp src-port 53 dst-port 53 discard",
    ]);
  });

  test("begin with remembering sources of TCP where these need not prove their address yet", () => {
    const filter = { ...buildScrub({ tcp: "off", services: [] }, []), learnsTcp: true } as const;
    const [first] = scrubRules(VICTIM, filter, [UDP]);
    expect(first?.rule.action).toEqual({ kind: "learn" });
    expect(matchText(first?.rule ?? ALL)).toBe("dst 192.0.2.1/32 proto tcp");
  });

  test("have sources of DNS queries prove their address by TCP, also where all other TCP is let be", () => {
    const byTcp = "dst 192.0.2.1/32 proto tcp dst-port 53";
    const query = "validate_dns dst 192.0.2.1/32 proto udp dst-port 53";
    expect(texts({ dns: "truncate", tcp: "off" }, [QUERIES])).toEqual([`validate_reset ${byTcp}`, query]);
    expect(texts({ dns: "truncate", tcp: "transparent" }, [QUERIES])).toEqual([
      `validate_reset ${byTcp}`,
      "validate_transparent dst 192.0.2.1/32 proto tcp",
      query,
    ]);
    expect(texts({ dns: "truncate", tcp: "reset" }, [QUERIES])).toEqual([
      "validate_reset dst 192.0.2.1/32 proto tcp",
      query,
    ]);
    expect(texts({ dns: "off", tcp: "off" }, [QUERIES])).toEqual(["dst 192.0.2.1/32 proto udp dst-port 53 discard"]);
  });

  test("limit each source, as much of an address as is configured, after the attack's rules", () => {
    const file = {
      tcp: "off",
      source_packets_per_second: 100,
      source_mbps: 8,
      source_connections_per_second: 10,
      source_ipv4_length: 24,
    } as const;
    expect(texts(file, [UDP])).toEqual([
      "dst 192.0.2.1/32 proto udp discard",
      "limit_source dst 192.0.2.1/32 proto tcp tcp-flags syn,!ack",
      "limit_source dst 192.0.2.1/32",
      "limit_source dst 192.0.2.1/32",
    ]);
    const limits = (victim: string) =>
      scrubRules(prefix(victim), buildScrub(file, []), []).map(({ rule }) => rule.action);
    const limit = { kind: "limit_source", packetsPerSecond: 0, bytesPerSecond: 0, prefixLength: 120 } as const;
    expect(limits("192.0.2.1/32")).toEqual([
      { ...limit, packetsPerSecond: 10 },
      { ...limit, packetsPerSecond: 100 },
      { ...limit, bytesPerSecond: 1e6 },
    ]);
    expect(limits("2001:db8::1/128")[0]).toMatchObject({ prefixLength: 64 });
  });

  test("let requested answers like the attack's pass, and no others", () => {
    const file: ScrubFile = { tcp: "off", answers: "asked" };
    expect(texts(file, [ANSWERS, QUERIES])).toEqual([
      "learn_question src 192.0.2.1/32 proto udp dst-port 53",
      "require_question dst 192.0.2.1/32 proto udp src-port 53",
      "dst 192.0.2.1/32 proto udp dst-port 53 discard",
    ]);
    expect(texts(file, [QUERIES])).toHaveLength(1);
    expect(texts({ answers: "asked" }, [{ ...ALL, sourcePorts: port(53) }]).slice(1)).toEqual([
      "learn_question src 192.0.2.1/32 proto udp dst-port 53",
      "require_question dst 192.0.2.1/32 proto udp src-port 53",
    ]);
  });

  test("ask of answers no more than the attack's rules match", () => {
    const precise = { ...ANSWERS, destinationPorts: port(80), packetLengths: [{ from: 1000, to: 1500 }] };
    expect(texts({ tcp: "off", answers: "asked" }, [precise])[1]).toBe(
      "require_question dst 192.0.2.1/32 proto udp src-port 53 dst-port 80 length 1000-1500",
    );
  });

  test("take for questions only what goes to the ports that the attack's answers come from, and from no service", () => {
    const udp = (ports: string[], source_ports: string[] = []) => ({ protocol: "udp", ports, source_ports }) as const;
    const questions = (services: ReturnType<typeof udp>[], attack = [ANSWERS]) =>
      texts({ tcp: "off", answers: "asked", ...(services.length > 0 && { services }) }, attack)
        .filter((text) => text.startsWith("learn_question"))
        .map((text) => text.replace("learn_question src 192.0.2.1/32 proto udp ", ""));
    expect(questions([udp(["53"]), udp(["443", "54"])])).toEqual(["src-port 0-52,55-442,444-65535 dst-port 53"]);
    expect(questions([udp([]), udp(["0-65535"])])).toEqual(["dst-port 53"]);
    expect(questions([udp(["0-1023"]), udp([], ["53"])])).toEqual(["src-port 1024-65535 dst-port 53"]);
    expect(questions([udp(["10-20", "15-30", "40", "50", "60"]), udp(["70", "80"])])).toEqual([
      "src-port 0-9,31-39,41-49,51-59,61-69 dst-port 53",
      "src-port 71-79,81-65535 dst-port 53",
    ]);
    const others = [123, 161, 389, 1900, 11_211].map((from) => ({ ...UDP, sourcePorts: port(from) }));
    expect(questions([], [ANSWERS, ANSWERS, ...others])).toEqual(["dst-port 53,123,161,389,1900", "dst-port 11211"]);
  });

  test("end with the services, and drop all else", () => {
    const ports = ["1", "2", "3", "4", "5-10"];
    const services = [
      { protocol: "tcp", ports, source_ports: [] },
      { protocol: "udp", ports: [], source_ports: ["53"] },
      { protocol: "icmp", ports: [], source_ports: [] },
    ] as const;
    expect(
      texts(
        {
          tcp: "off",
          services: services.map((each) => ({ ...each, ports: [...each.ports], source_ports: [...each.source_ports] })),
        },
        [UDP],
      ),
    ).toEqual([
      "dst 192.0.2.1/32 proto udp discard",
      "pass dst 192.0.2.1/32 proto tcp dst-port 1,2,3,4,5-10",
      "pass dst 192.0.2.1/32 proto udp src-port 53",
      "pass dst 192.0.2.1/32 proto icmp",
      "dst 192.0.2.1/32 discard",
    ]);
  });

  test("let a service with a rate pass within it, to each address", () => {
    const services: ScrubFile["services"] = [{ protocol: "icmp", ports: [], source_ports: [], packets_per_second: 50 }];
    const filter = buildScrub({ tcp: "off", source_packets_per_second: 0, services }, []);
    const made = (text: string) => scrubRules(prefix(text), filter, []).map(({ rule }) => rule.action);
    const each = { kind: "limit_destination", packetsPerSecond: 50 } as const;
    expect(made("192.0.2.1/32")).toEqual([each, { kind: "pass" }, { kind: "discard" }]);
    const all = { kind: "limit", packetsPerSecond: 5000, bytesPerSecond: 0 } as const;
    expect(made("192.0.2.0/24")).toEqual([each, all, { kind: "pass" }, { kind: "discard" }]);
  });

  test("let the learned sources of a prefix send as much for each address, of a hundred at most", () => {
    const learned = (text: string, file: ScrubFile) =>
      scrubRules(prefix(text), buildScrub(file, []), [])[0]?.rule.action;
    const most = (text: string) => learned(text, { learned_mbps: 8 });
    const inline = { kind: "validate_transparent" } as const;
    expect(most("192.0.2.1/32")).toEqual({ ...inline, learnedBytesPerSecond: 1e6 });
    expect(most("192.0.2.0/30")).toEqual({ ...inline, learnedBytesPerSecond: 4e6 });
    expect(most("2001:db8::/64")).toEqual({ ...inline, learnedBytesPerSecond: 1e8 });
    expect(learned("192.0.2.0/24", { learned_mbps: 0 })).toEqual({ ...inline, learnedBytesPerSecond: 0 });
  });

  test("say for each why it drops", () => {
    const filter = buildScrub({ profile: "dns", source_mbps: 1, answers: "asked" }, []);
    const reasons = scrubRules(VICTIM, filter, [ANSWERS, { ...UDP, packetLengths: [{ from: 1, to: 2 }] }]);
    expect([...new Set(reasons.map(({ reason }) => reason))]).toEqual([
      "unvalidated",
      "unasked",
      "rule",
      "source_limit",
      "no_service",
    ]);
  });
});

test("the text of a filter says what it does, in its order", () => {
  const text = (file: ScrubFile, attack = "") => filterText(buildScrub(file, []), attack);
  expect(text({})).toBe("validate tcp transparent; each source 20000 packets/s");
  expect(text(NO_LIMIT)).toBe("validate tcp transparent");
  expect(text({ tcp: "off" })).toBe("");
  expect(text({ profile: "dns", dry_run: true, answers: "asked" }, ruleText(UDP))).toBe(
    "only counted; validate tcp transparent; validate dns; only answers that were requested; " +
      "dst 192.0.2.1/32 proto udp discard; each source 100 connections/s 2000 packets/s; " +
      "only udp/53 tcp/53,443,853 udp/from 53,123 icmp at 100 packets/s icmpv6 at 100 packets/s",
  );
});
