/** Values of the interface in words. Each list is whole: one that lacks a value does not compile. Pure. */
import type { Role } from "../../src/access/principal.ts";
import type { Dropping } from "../../src/http/wire/dataplane.ts";
import type { IncidentRowWire } from "../../src/http/wire/incident.ts";
import type { FILTER_VERDICTS, INTERFACE_ROLES } from "../../src/native/constants.ts";
import type { REPORTS_REFUSED_BANS } from "../../src/scrub/enforced-report.ts";
import type { RULE_CAPABILITIES } from "../../src/scrub/rule-forms.ts";
import type { Severity, TargetKind } from "../../src/targets/target-words.ts";
import type { Belief } from "../../src/telemetry/beliefs.ts";
import { t } from "../language.ts";

type Words<Value extends string> = Readonly<Record<Value, string>>;

/** The word of a value that the wire leaves open; one that is not in the list stays as it is. */
export function wordOf(words: Readonly<Record<string, string>>, value: string): string {
  return Object.hasOwn(words, value) ? (words[value] ?? value) : value;
}

export const ROLES: Words<Role> = { viewer: t`viewer`, operator: t`operator`, agent: t`agent` };

/** Severities of an incident. */
export const SEVERITIES: Words<NonNullable<IncidentRowWire["severity"]>> = {
  low: t`low`,
  medium: t`medium`,
  high: t`high`,
  critical: t`critical`,
};

/** Urgencies of a notification. */
export const URGENCIES: Words<Severity> = { info: t`info`, warning: t`warning`, critical: t`critical` };

/** Kinds of targets of notifications. */
export const TARGET_KINDS: Words<TargetKind> = {
  telegram: t`Telegram`,
  webhook: t`Webhook`,
  slack: t`Slack`,
  email: t`E-mail`,
  exec: t`Command`,
  teams: t`Teams`,
  pagerduty: t`PagerDuty`,
  opsgenie: t`Opsgenie`,
  alertmanager: t`Alertmanager`,
  syslog: t`Syslog`,
};

/** How a zone challenges its visitors; `mixed`: its nodes differ. */
export const CHALLENGES: Words<"auto" | "manual" | "off" | "mixed"> = {
  auto: t`when it is busy`,
  manual: t`everybody`,
  off: t`off`,
  mixed: t`differs by node`,
};

/** Why a node challenges. */
export const CHALLENGE_REASONS: Words<"zone_rps"> = { zone_rps: t`the zone has more requests than its file allows` };

/** States of a terminator for HTTP/3. */
export const HTTP3_STATES: Words<"ready" | "no_module" | "node_off" | "unknown"> = {
  ready: t`ready`,
  no_module: t`the server has no module for it`,
  node_off: t`off on the node`,
  unknown: t`not known`,
};

/** Capabilities of a scrub node's agent. */
export const CAPABILITIES: Words<(typeof RULE_CAPABILITIES)[number] | typeof REPORTS_REFUSED_BANS> = {
  port_ranges: t`ranges of ports`,
  tcp_flags_unset: t`TCP flags that are not set`,
  packet_length: t`packet lengths`,
  protocol_ranges: t`ranges of protocols`,
  refused_bans: t`says which bans it refuses`,
};

/** Roles of an interface of an exporter; `unset`: nothing says it. */
export const INTERFACE_ROLE_NAMES: Words<Exclude<(typeof INTERFACE_ROLES)[number], "unset">> = {
  external: t`external`,
  internal: t`internal`,
  other: t`other`,
  unknown: t`not known`,
};

/** Beliefs about an exporter. */
export const BELIEFS: Words<Belief["about"]> = {
  make: t`Make`,
  rate: t`Rate`,
  counters: t`Counters`,
  times: t`Times`,
  interfaces: t`Interfaces`,
  "left out": t`Left out`,
};

/** States of the kernel filter. */
export const FILTER_STATES: Words<Dropping["state"]> = {
  up: t`up`,
  failed: t`failed`,
  dry_run: t`dry run`,
  disabled: t`disabled`,
};

/** States of an interface of the kernel filter. */
export const PORT_STATES: Words<Dropping["interfaces"][number]["state"]> = {
  attached: t`attached`,
  failed: t`failed`,
};

/** Verdicts of the kernel filter on a packet (docs/operations/inline-box.md). */
export const VERDICTS: Words<(typeof FILTER_VERDICTS)[number]> = {
  drop_source: t`Dropped: source blocks`,
  drop_rule: t`Dropped: rules`,
  drop_rate_limit: t`Dropped: over the rate of a rule`,
  drop_source_limit: t`Dropped: beyond what a source may send`,
  drop_unvalidated: t`Dropped: sources without a proof`,
  drop_unasked: t`Dropped: answers that were not requested`,
  drop_proof: t`Dropped: the segment that proves a source`,
  drop_tags: t`Dropped: more than eight VLAN tags`,
  pass_allowlist: t`Passed: sources on the allowlist`,
  pass_whitelist: t`Passed: to protected addresses`,
  pass_rate_limit: t`Passed: within the rate of a rule`,
  pass_rule: t`Passed: by a rule`,
  pass_icmp: t`Passed: ICMP that no victim can do without`,
  pass_default: t`Passed: nothing matched`,
  pass_not_ip: t`Passed: not IP`,
  pass_malformed: t`Passed: not readable`,
  answer_syn_ack: t`Answered: by a SYN ACK`,
  answer_ack: t`Answered: by an acknowledgement`,
  answer_rst: t`Answered: by a reset`,
  answer_truncated: t`Answered: advised to ask by TCP`,
};
