/** Rules beside the services that the configuration names. */
import { describe, expect, test } from "bun:test";
import { address } from "../../../test/fixtures/host-rows.ts";
import { ip, TCP_FLAGS, tcp, udp } from "../../../test/fixtures/packets/frames.ts";
import { sampledPacket } from "../../../test/fixtures/packets/sampled-packets.ts";
import { classify } from "../../detection/attack/classifier.ts";
import type { SampledPacket } from "../../detection/attack/sample.ts";
import { hostPrefix } from "../../net/prefix.ts";
import { exactly } from "../../net/range.ts";
import { IP_PROTOCOL } from "../../traffic/ip-protocol.ts";
import type { Service } from "../scrub/scrub-filter.ts";
import { canMatchAny, servedOf, servicePackets } from "./configured-services.ts";
import { ruleMatches } from "./match.ts";
import { ANY_PACKET } from "./rule.ts";
import { rulesFor } from "./rule-generator.ts";

const VICTIM = address("203.0.113.9");
const WEB: Service = { protocol: IP_PROTOCOL.tcp, ports: [{ from: 443, to: 443 }], sourcePorts: [] };
const GAME: Service = { protocol: IP_PROTOCOL.udp, ports: [{ from: 27_000, to: 27_050 }], sourcePorts: [] };
const ANSWERS: Service = { protocol: IP_PROTOCOL.udp, ports: [], sourcePorts: [{ from: 53, to: 53 }] };
const PING: Service = { protocol: IP_PROTOCOL.icmp, ports: [], sourcePorts: [] };
const POLICY = { action: { kind: "discard" }, sourceAnchored: false, minSourceConcentration: 0.8 } as const;

const flood = (destinationPort: number): SampledPacket[] =>
  Array.from({ length: 200 }, (_, i) => {
    const transport = udp({ sourcePort: 1025 + i * 97, destinationPort, payload: new Uint8Array(470) });
    return sampledPacket(ip({ src: `198.51.100.${i}`, dst: VICTIM }, transport));
  });
const USERS = Array.from({ length: 6 }, (_, i) =>
  sampledPacket(ip({ src: "198.51.100.1", dst: VICTIM }, tcp({ sourcePort: 5000 + i, flags: TCP_FLAGS.ack }))),
);

function judged(destinationPort: number, services: readonly Service[] | null) {
  const packets = [...flood(destinationPort), ...USERS];
  const classification = classify(packets, { gate: 0.5, unit: "packets", timesThreshold: 5, held: null });
  const seen = { packets, classification, services, direction: "incoming", unit: "packets", profile: null } as const;
  return rulesFor({ ...seen, prefix: hostPrefix(VICTIM), timesThreshold: 5, perSecond: 1000 }, POLICY);
}

describe("rules of a host whose services are configured", () => {
  test("are known to spare users where they can match none of the services", () => {
    expect(judged(53_413, [WEB, ANSWERS]).separability).toMatchObject({ verdict: "yes", estimatedBy: "configuration" });
    expect(judged(53_413, null).separability.verdict).toBe("unknown");
  });

  test("put users at risk where they are about the port of one", () => {
    expect(Math.max(...judged(27_010, [WEB, GAME]).atRisk.map(({ share }) => share))).toBeGreaterThan(0.01);
    expect(judged(27_010, [WEB, GAME]).separability.verdict).not.toBe("yes");
    expect(Math.max(...judged(27_010, [WEB]).atRisk.map(({ share }) => share))).toBeLessThan(0.01);
  });
});

test("packets of services go to their ends, from ports of clients or of those who answer", () => {
  const [like] = flood(9).map(({ header }) => header);
  if (like === undefined) throw new Error("no packet");
  const ports = (service: Service) => [
    ...new Set(servicePackets([service], like).map((each) => JSON.stringify(each.ports))),
  ];
  expect(ports(GAME)).toEqual(['{"destination":27000,"source":49152}', '{"destination":27050,"source":49152}']);
  expect(ports(ANSWERS)).toEqual(['{"destination":49152,"source":53}']);
  expect(ports(PING)).toEqual(["null"]);
  for (const service of [WEB, GAME, ANSWERS, PING]) {
    const rule = { ...ANY_PACKET, protocols: exactly(service.protocol), action: POLICY.action };
    expect(servicePackets([service], like).every((packet) => ruleMatches(rule, packet))).toBeTrue();
  }
});

test.each([
  ["another protocol", { protocols: exactly(IP_PROTOCOL.tcp) }, GAME, false],
  ["the protocol alone", { protocols: exactly(IP_PROTOCOL.udp) }, GAME, true],
  ["a port of it", { protocols: exactly(IP_PROTOCOL.udp), destinationPorts: exactly(27_003) }, GAME, true],
  ["another port", { protocols: exactly(IP_PROTOCOL.udp), destinationPorts: exactly(53) }, GAME, false],
  ["any packet", {}, PING, true],
] as const)("a rule for %s", (_, fields, service, expected) => {
  expect(canMatchAny({ ...ANY_PACKET, ...fields, action: POLICY.action }, [service])).toBe(expected);
});

test("what is served is without the answers that a host asks for", () => {
  expect(servedOf([WEB, ANSWERS, PING])).toEqual([WEB, PING]);
});
