/** A rule: what it asks of a packet, and what is done then. */
import type { Prefix } from "../../net/prefix.ts";
import { onlyValue, type Range } from "../../net/range.ts";
import { type Action, actionText, type RouterAction, type RuleAction } from "./action.ts";
import { ANY_MATCH, type Match, matchText } from "./match.ts";

/** A rule against an attack: routers, scrub nodes and the kernel take it. */
export interface Rule<Does extends Action = RuleAction> extends Match {
  readonly action: Does;
}

/** For the kernel. */
export type FilterRule = Rule<Action>;

/** The maximum that the generator makes for one attack. */
export const RULES_MAX = 8;

/** `dst 192.0.2.7/32 proto udp src-port 53 discard`. */
export function ruleText(rule: FilterRule): string {
  return routedRuleText(rule, rule.action);
}

/** With what routers do in place of the rule's own action. */
export function routedRuleText(rule: Match, action: Action | RouterAction): string {
  return `${matchText(rule)} ${actionText(action)}`;
}

/** All rules of one attack on one line. @param routers what routers do in place of the rules' own action. */
export function rulesText(rules: readonly Rule[], routers?: RouterAction): string {
  return rules.map((rule) => routedRuleText(rule, routers ?? rule.action)).join("; ");
}

/**
 * The form in the API and in rule documents; absent matches anything. The fields after `action` and `rate_bytes` narrow
 * the rule further; agents of the first version do not know them.
 */
export interface RuleWire {
  readonly dst?: string;
  readonly src?: string;
  readonly proto?: number;
  readonly src_port?: number;
  readonly dst_port?: number;
  readonly tcp_flags?: number;
  readonly fragment?: boolean;
  readonly action: RuleAction["kind"] | "redirect" | "mark";
  readonly rate_bytes?: number;
  /** Replaces `src_port` and `dst_port` if there are several, or for port 0, which would mean any port there. */
  readonly src_ports?: readonly Range[];
  readonly dst_ports?: readonly Range[];
  /** Flags that must be unset. */
  readonly tcp_flags_unset?: number;
  readonly packet_length?: { readonly min: number; readonly max: number };
  /** Replaces `proto` if there are several, or for protocol 0. */
  readonly protos?: readonly Range[];
  /** For routers alone: the packets per second of `rate_limit`, the target of `redirect`, and the DSCP of `mark`. */
  readonly rate_packets?: number;
  readonly redirect_to?: string;
  readonly dscp?: number;
}

/** The action of routers in place of the rule's own. */
export function routerActionToWire(
  action: RouterAction,
): Pick<RuleWire, "action" | "rate_packets" | "redirect_to" | "dscp"> {
  switch (action.kind) {
    case "rate_limit_packets":
      return { action: "rate_limit", rate_packets: action.packetsPerSecond };
    case "redirect":
      return { action: "redirect", redirect_to: action.to };
    case "mark":
      return { action: "mark", dscp: action.dscp };
    default:
      return action satisfies never;
  }
}

export function ruleToWire(rule: Rule): RuleWire {
  const { destination, source, tcpFlags, fragment, packetLengths, action } = rule;
  const [length] = packetLengths;
  // Zero would mean anything there.
  const proto = onlyValue(rule.protocols) || null;
  const from = onlyValue(rule.sourcePorts) || null;
  const to = onlyValue(rule.destinationPorts) || null;
  return {
    ...(destination === null ? {} : { dst: destination.text }),
    ...(source === null ? {} : { src: source.text }),
    ...(proto === null ? {} : { proto }),
    ...(from === null ? {} : { src_port: from }),
    ...(to === null ? {} : { dst_port: to }),
    ...(tcpFlags === null ? {} : { tcp_flags: tcpFlags.set }),
    ...(fragment === null ? {} : { fragment }),
    ...(rule.sourcePorts.length === 0 || from !== null ? {} : { src_ports: rule.sourcePorts }),
    ...(rule.destinationPorts.length === 0 || to !== null ? {} : { dst_ports: rule.destinationPorts }),
    ...(tcpFlags === null || tcpFlags.unset === 0 ? {} : { tcp_flags_unset: tcpFlags.unset }),
    ...(length === undefined ? {} : { packet_length: { min: length.from, max: length.to } }),
    ...(rule.protocols.length === 0 || proto !== null ? {} : { protos: rule.protocols }),
    action: action.kind,
    ...(action.kind === "discard" ? {} : { rate_bytes: action.bytesPerSecond }),
  };
}

/** A rule that matches every packet. */
export const ANY_PACKET: Rule = { ...ANY_MATCH, action: { kind: "discard" } };

/** A rule that matches every packet to a destination, as a start for narrowing. */
export function wideRule(destination: Prefix, action: RuleAction): Rule {
  return { ...ANY_PACKET, destination, action };
}
