/** Faults of a written rule of the operator, beside its shape. */
import { PAYLOAD_BYTES_MAX } from "../../native/constants.ts";
import { PrefixTable } from "../../net/prefix-table.ts";
import type { Finding, Pruned } from "../../schema/shape.ts";
import { parseAddressOrPrefix, parseHexBytes } from "../../schema/text-forms.ts";
import { IP_PROTOCOL } from "../../traffic/ip-protocol.ts";
import type { FilterRuleFile } from "./rule-file.ts";

type RuleFile = Pruned<FilterRuleFile>;
/** Texts of those that destinations lie in, without those that could not be read. */
type Networks = readonly (string | undefined)[] | undefined;

/** Faults of one rule; paths begin at it. @param key of the networks. */
export function* filterRuleFindings(rule: RuleFile, networks: Networks, key = "networks"): Generator<Finding> {
  yield* limitFindings(rule);
  yield* protocolFindings(rule);
  yield* payloadFindings(rule);
  yield* destinationFindings(rule, networks, key);
}

function* limitFindings(rule: RuleFile): Generator<Finding> {
  const { action, packets_per_second: packets = 0, mbps = 0 } = rule;
  if (action === "limit" && packets === 0 && mbps === 0) {
    yield { path: ["action"], rule: "limit needs packets_per_second or mbps: the rate that may pass" };
  }
  if (packets > 0 && packets < 1) yield { path: ["packets_per_second"], rule: "must be 0 (no limit) or at least 1" };
  if (mbps > 0 && mbps < 0.001) yield { path: ["mbps"], rule: "must be 0 (no limit) or at least 0.001" };
  for (const key of ["packets_per_second", "mbps", "per", "source_ipv4_length", "source_ipv6_length"] as const) {
    if (action !== undefined && action !== "limit" && rule[key] !== undefined) {
      yield { path: [key], rule: `goes with action limit, not ${action}` };
    }
  }
  for (const key of ["source_ipv4_length", "source_ipv6_length"] as const) {
    if (action === "limit" && rule[key] !== undefined && rule.per !== "source") {
      yield { path: [key], rule: "goes with per: source" };
    }
  }
}

const WITH_PORTS = ["tcp", "udp", "sctp"];

function* protocolFindings(rule: RuleFile): Generator<Finding> {
  const { protocol, handshake } = rule;
  for (const key of ["ports", "source_ports"] as const) {
    if ((rule[key] ?? []).length > 0 && protocol !== undefined && !WITH_PORTS.includes(protocol)) {
      yield { path: [key], rule: `goes with protocol ${WITH_PORTS.join(", ")}, not ${protocol}` };
    }
  }
  for (const key of ["tcp_flags", "tcp_window", "tcp_options"] as const) {
    if (rule[key] === undefined) continue;
    if (protocol !== undefined && protocol !== "tcp")
      yield { path: [key], rule: `goes with protocol tcp, not ${protocol}` };
    if (handshake === "quic") yield { path: [key], rule: "goes with TCP, and QUIC is over UDP" };
  }
  const carrier = handshake === "tls" ? "tcp" : "udp";
  if (handshake !== undefined && protocol !== undefined && IP_PROTOCOL[protocol] !== IP_PROTOCOL[carrier]) {
    yield { path: ["handshake"], rule: `${handshake} is over ${carrier}, not ${protocol}` };
  }
}

function* payloadFindings({ payload = [], handshake }: RuleFile): Generator<Finding> {
  if (handshake !== undefined && payload.length > 0) {
    yield { path: ["payload"], rule: "goes without handshake, which says what the payload begins with" };
  }
  for (const [i, pattern] of payload.entries()) {
    const { offset, bytes, mask } = pattern ?? {};
    const length = bytes === undefined ? undefined : parseHexBytes(bytes)?.length;
    if (length === undefined) continue;
    if (offset !== undefined && offset + length > PAYLOAD_BYTES_MAX) {
      yield { path: ["payload", i, "bytes"], rule: `ends after the first ${PAYLOAD_BYTES_MAX} bytes of the payload` };
    }
    if (mask !== undefined && parseHexBytes(mask)?.length !== length) {
      yield { path: ["payload", i, "mask"], rule: `must be as long as bytes, ${length} bytes` };
    }
  }
}

function* destinationFindings(
  { destinations = [], source }: RuleFile,
  networks: Networks,
  key: string,
): Generator<Finding> {
  const from = source === undefined ? null : parseAddressOrPrefix(source);
  const known = (networks ?? []).map((text) => (text === undefined ? null : parseAddressOrPrefix(text)));
  const all = known.filter((prefix) => prefix !== null);
  const table = networks === undefined || all.length < known.length ? null : PrefixTable.of(all);
  for (const [i, text] of destinations.entries()) {
    const prefix = text === undefined ? null : parseAddressOrPrefix(text);
    if (prefix === null) continue;
    const path = ["destinations", i];
    const network = table === null ? undefined : all[table.find(prefix.address)];
    if (table !== null && (network === undefined || network.length > prefix.length)) {
      yield { path, rule: `${prefix.text} lies in none of ${key}: add it there, or correct it` };
    }
    if (from !== null && from.family !== prefix.family) {
      yield { path, rule: `${prefix.text} is of another family than source, ${from.text}` };
    }
  }
}
