/** All refusals of the interface with status and text, in one table (docs/interface.md#errors). */
import type { Overrun } from "../access/shares.ts";
import type { ChallengeRefusal } from "../edge/zones/acme-issuance.ts";
import type { LeverRefusal } from "../edge/zones/levers.ts";
import type { WorkRefusal } from "../incident/work.ts";
import {
  FILTER_RULE_ORDERS_MAX,
  INCIDENT_NOTES_MAX,
  LEVERS_MAX,
  LIVE_CHALLENGES_MAX,
  MAINTENANCE_ORDERS_MAX,
  PROTECTION_CHOICES_MAX,
  PROTECTION_CHOICES_PER_TENANT,
  SHARED_LINKS_MAX,
  SLOT_RETRY_SECONDS_MAX,
  VICTIMS_PER_SOURCE,
} from "../limits.ts";
import type { WindowRefusal } from "../mitigation/maintenance/maintenance-windows.ts";
import type { RuleOrderRefusal } from "../mitigation/operator/filter-rules.ts";
import type { ProtectionRefusal } from "../mitigation/protection/protections.ts";
import type { BlockRefusal } from "../sourceblock/admission.ts";
import { TENANT_TARGETS_MAX, TENANT_TARGETS_PER_TENANT, type TenantTargetRefusal } from "../targets/tenant-targets.ts";
import { jsonAnswer } from "./server/answer.ts";

export type Refusal =
  | { readonly kind: keyof typeof FIXED }
  /** `what`: the name of the body in the interface. */
  | { readonly kind: "body_too_large"; readonly limitBytes: number; readonly what?: "report" }
  /** Not JSON, or not the fields that the route takes. */
  | { readonly kind: "invalid_body"; readonly detail: string }
  | { readonly kind: "invalid_ip"; readonly text: string }
  /** `rule`: what it must be. */
  | { readonly kind: "invalid_prefix"; readonly text: string; readonly rule: string }
  /** A parameter of the query, and what is wrong with it. */
  | { readonly kind: "invalid_query"; readonly detail: string }
  | { readonly kind: "no_active_ban"; readonly target: string }
  | { readonly kind: "source_block_refused"; readonly refusal: BlockRefusal }
  | { readonly kind: "protection_refused"; readonly refusal: ProtectionRefusal }
  | { readonly kind: "notify_target_refused"; readonly refusal: TenantTargetRefusal }
  | { readonly kind: "shared_link_refused"; readonly refusal: Overrun | "not_allowed" }
  | { readonly kind: "incident_refused"; readonly refusal: WorkRefusal }
  | { readonly kind: "lever_refused"; readonly refusal: LeverRefusal }
  | { readonly kind: "filter_rule_refused"; readonly refusal: RuleOrderRefusal }
  | { readonly kind: "maintenance_refused"; readonly refusal: WindowRefusal }
  | { readonly kind: "challenge_refused"; readonly refusal: ChallengeRefusal }
  | { readonly kind: "invalid_config"; readonly problems: readonly string[] }
  /** The environment failed; the message is suitable for callers. */
  | { readonly kind: "fault"; readonly message: string }
  /** In progress at once, of the caller's tenant or token. */
  | { readonly kind: "too_many_of_share"; readonly what: keyof typeof OF_SHARE };

export function invalidBody(detail: string) {
  return { kind: "invalid_body", detail } as const;
}

interface Description {
  readonly status: number;
  readonly error: string;
  readonly retryAfterSeconds?: number;
}

const BLOCK_REFUSALS: Readonly<Record<BlockRefusal, string>> = {
  no_dataplane: "the data plane is absent or disabled: see dataplane in the configuration",
  victim_whitelisted: "victim is in the protected whitelist",
  victim_outside_networks: "victim is outside configured networks",
  victim_is_own_infrastructure: "victim is own infrastructure: a router, next hop or listener of the configuration",
  source_allowlisted: "source is in the data plane allowlist",
  source_in_networks: "source is inside the protected networks",
  too_many_victims: `source already holds ${VICTIMS_PER_SOURCE} victims: unblock one of them`,
  victims_over_share: "your share of the source's victims is taken: unblock another that you ordered",
  slots_over_share: "your share of policy slots is taken: unblock others that you ordered",
  no_slots: "no policy slots left: unblock others, or raise dataplane.limits.max_dynamic_rules",
};

export function blockRefusalText(refusal: BlockRefusal): string {
  return BLOCK_REFUSALS[refusal];
}

const LEVER_REFUSALS: Readonly<Record<LeverRefusal, string>> = {
  mode_none: "the zone's policy.mode is none: its requests are not decided, there is nothing to challenge",
  too_many_levers: `${LEVERS_MAX} levers are set: clear one of them`,
};

const FILTER_RULE_REFUSALS: Readonly<Record<RuleOrderRefusal, string>> = {
  no_dataplane: "the data plane is absent or disabled: see dataplane in the configuration",
  name_configured: "the configuration has a rule of this name: choose another",
  outside_networks: "a destination is outside configured networks",
  unknown_set: "source_sets or not_source_sets names a set that prefix_sets of the configuration does not have",
  too_many_rules: `${FILTER_RULE_ORDERS_MAX} rules are ordered: remove one of them`,
};

const NOTIFY_TARGET_REFUSALS: Readonly<Record<TenantTargetRefusal, string>> = {
  not_of_tenant: "targets of a tenant are set with its token: those of the operator are in notify of the configuration",
  kind_not_allowed: "tenants may not set targets of this kind: ask your operator for notify.tenant_targets",
  host_not_allowed: "tenants may not set targets at this host: ask your operator for notify.tenant_targets",
  too_many_of_tenant: `your tenant has ${TENANT_TARGETS_PER_TENANT} targets: remove one of them`,
  too_many_targets: `tenants have ${TENANT_TARGETS_MAX} targets: remove one of them`,
};

const NOT_ONE_HOSTGROUP = "prefix is not within one of networks and one hostgroup";

const PROTECTION_REFUSALS: Readonly<Record<ProtectionRefusal, string>> = {
  not_one_hostgroup: NOT_ONE_HOSTGROUP,
  unknown_profile: "unknown profile: GET /api/v1/protection has those there are",
  other_tenant: "target is outside your tenant",
  not_selectable: "tenants may not choose this profile here: GET /api/v1/protection has those they may",
  always_not_selectable: "tenants may not choose here when a profile applies: leave out always",
  chosen_by_operator: "an operator chose the protection of this prefix: ask them to change it",
  too_many_choices: `${PROTECTION_CHOICES_MAX} protections are chosen: remove one of them`,
  too_many_of_tenant: `your tenant has chosen ${PROTECTION_CHOICES_PER_TENANT} protections: remove one of them`,
  choices_over_share: "your share of protections is taken: remove one that you chose",
  no_slots: "no policy slots left: remove others, or raise dataplane.limits.max_dynamic_rules",
  slots_over_share: "your share of policy slots is taken: remove a protection or a source block that you ordered",
};

const INCIDENT_REFUSALS: Readonly<Record<WorkRefusal, string>> = {
  decided_by_operator: "an operator decided it: ask them to change it",
  not_owner: "you are not the owner of this incident: take it first",
  taken_before: "you took this incident before the note was written: take it again",
  no_handover: "there is no note for the next shift to acknowledge",
  too_many_notes: `the incident has ${INCIDENT_NOTES_MAX} notes, and takes no more`,
  notes_over_share: "your share of the notes of this incident is taken: it takes no more of yours",
};

const WINDOW_REFUSALS: Readonly<Record<WindowRefusal, string>> = {
  name_configured: "the configuration has a window of this name: choose another",
  too_many_windows: `${MAINTENANCE_ORDERS_MAX} windows are open: close one of them`,
};

/** A challenge expires ten minutes after it was published; another one may expire sooner. */
const CHALLENGE_RETRY_SECONDS = 60;

const CHALLENGE_REFUSALS: Readonly<Record<ChallengeRefusal, Description>> = {
  no_slot: { status: 409, error: "this node does not hold the zone's slot: request it first" },
  other_key_authorization: { status: 409, error: "the live challenge of this token has another key authorization" },
  too_many_challenges: {
    status: 429,
    error: `this node has ${LIVE_CHALLENGES_MAX} live challenges`,
    retryAfterSeconds: CHALLENGE_RETRY_SECONDS,
  },
};

/** Text of a caller is quoted up to this length. */
const ECHO_CHARACTERS = 100;
/** Problems of a configuration file in one answer. */
const PROBLEMS_REPORTED_MAX = 100;

export function refuse(refusal: Refusal): Response {
  const { status, error, retryAfterSeconds } = describeRefusal(refusal);
  const answer = jsonAnswer(status, { error });
  // RFC 9110, 11.6.1: a 401 names the authentication scheme.
  if (status === 401) answer.headers.set("www-authenticate", "Bearer");
  if (retryAfterSeconds !== undefined) answer.headers.set("retry-after", String(retryAfterSeconds));
  return answer;
}

const OF_SHARE = {
  orders: "your share of orders at once is taken: wait for those in progress",
  history: "your share of requests to the history at once is taken: wait for those in progress",
  streams: "your share of event streams is taken: end one of them",
  pages: "your share of pages at once is taken: wait for those in progress",
};

const SHARED_LINK_REFUSALS = {
  not_allowed: "shared links are off: set api.shared_links",
  full: `there are ${SHARED_LINKS_MAX} shared links: end one of them`,
  over_share: "your share of shared links is taken: end one of them",
};

const FORBIDDEN = {
  /** On an open API. */
  foreign_host: "Host or Origin names another machine: use localhost, or configure a token",
  /** With the cookie of a signed-in browser. */
  foreign_page: "a signed-in browser may send this from the dashboard's own page only: see api.oidc.public_url",
  insufficient_role: "this token's role may not perform this action",
  unscoped_only: "restricted to unscoped tokens",
  other_node: "this token is bound to another node",
  /** Whether it exists or not. */
  foreign_target: "target is outside your tenant",
  /** Reading a zone, whether it exists or not. */
  foreign_zone: "zone is outside your tenant",
};

/** Resources of another tenant are absent, too. */
const ABSENT = {
  unknown_path: "not found",
  no_source_block: "no such source block",
  no_packets: "no packets of this attack are kept: samples are off, none was sampled, or it is too old",
  no_packets_of_outcome:
    "no packets of this attack with this outcome are kept: its interface does not filter, none was sampled, or it is too old",
  unknown_attack: "unknown attack",
  unknown_incident: "unknown incident",
  unknown_notify_target: "unknown target of notifications: GET /api/v1/notify/targets lists them",
  unknown_hostgroup: "unknown hostgroup",
  no_group_settings: "nothing is set for this hostgroup",
  /** The subject of a share. */
  unknown_subject: "unknown attack, incident, tenant or hostgroup",
  unknown_shared_link: "unknown shared link",
  unknown_browser_session: "no such browser is signed in",
  no_protection: "no protection was chosen for this prefix",
  not_one_hostgroup: NOT_ONE_HOSTGROUP,
  unknown_scrub_node: "unknown scrubbing node",
  unknown_edge_node: "unknown edge node",
  unknown_window: "no window of this name was ordered",
  unknown_filter_rule: "no rule of this name was ordered",
  unknown_zone: "unknown zone",
  /** A zone of another tenant, without owner, or unknown: the caller cannot distinguish these. */
  foreign_lever: "unknown zone",
};

const UNAVAILABLE = {
  starting: "the service is starting",
  /** The file could not be used at the start, and none was kept. */
  zones_unknown: "the zones file cannot be used: correct it and reload; nodes keep their last document",
  stopping: "the service is stopping",
};

/** For all callers together; texts of the interface, also for the scrub nodes' channel. */
const TOO_MANY = {
  too_many_holds: "too many concurrent zone holds",
  too_many_streams: "too many event streams",
  too_many_pages: "too many pages at once",
};

/** Those with one text. */
const FIXED = {
  ...withStatus(403, FORBIDDEN),
  ...withStatus(404, ABSENT),
  ...withStatus(429, TOO_MANY, 1),
  ...withStatus(503, UNAVAILABLE),
  /** An escape in the path or the query. */
  invalid_url: { status: 400, error: "invalid URL: an escape is broken or not UTF-8" },
  body_cut_short: { status: 400, error: "request body ended early" },
  /** Missing, unknown or ambiguous: the caller does not learn which. */
  no_valid_token: { status: 401, error: "missing or invalid bearer token" },
  /** On an open API no caller can prove to be a node. */
  node_needs_token: { status: 401, error: "node identity needs an API token" },
  no_browser_session: { status: 409, error: "this caller has a token: only a signed-in browser can sign out" },
  wrong_media_type: { status: 415, error: "Content-Type must be application/json" },
  /** A bug: the answer has no details. */
  bug: { status: 500, error: "internal error" },
  history_fault: { status: 502, error: "the history cannot be read" },
  slots_unavailable: {
    status: 503,
    error: "the etcd of the cluster, which keeps the slots, cannot be reached: request it again later",
    retryAfterSeconds: SLOT_RETRY_SECONDS_MAX,
  },
};

function withStatus<Kind extends string>(
  status: number,
  texts: Readonly<Record<Kind, string>>,
  retryAfterSeconds?: number,
): Record<Kind, Description> {
  const retry = retryAfterSeconds === undefined ? {} : { retryAfterSeconds };
  const described = Object.entries<string>(texts).map(([kind, error]) => [kind, { status, error, ...retry }]);
  return Object.fromEntries(described) as Record<Kind, Description>;
}

function isFixed(refusal: Refusal): refusal is Refusal & { readonly kind: keyof typeof FIXED } {
  return Object.hasOwn(FIXED, refusal.kind);
}

export function describeRefusal(refusal: Refusal): Description {
  if (isFixed(refusal)) return FIXED[refusal.kind];
  switch (refusal.kind) {
    case "body_too_large":
      return { status: 413, error: `${refusal.what ?? "request body"} exceeds ${refusal.limitBytes / 1024} KiB` };
    case "invalid_body":
      return { status: 400, error: `invalid JSON body: ${echo(refusal.detail)}` };
    case "invalid_ip":
      return { status: 400, error: `invalid ip: ${echo(refusal.text)}` };
    case "invalid_prefix":
      return { status: 400, error: `invalid prefix: ${echo(refusal.text)}: ${echo(refusal.rule)}` };
    case "invalid_query":
      return { status: 400, error: echo(refusal.detail, 2 * ECHO_CHARACTERS) };
    case "no_active_ban":
      return { status: 404, error: `no active ban for ${refusal.target}` };
    case "source_block_refused":
      return { status: 409, error: BLOCK_REFUSALS[refusal.refusal] };
    case "protection_refused":
      return { status: 409, error: PROTECTION_REFUSALS[refusal.refusal] };
    case "notify_target_refused":
      return { status: 409, error: NOTIFY_TARGET_REFUSALS[refusal.refusal] };
    case "shared_link_refused":
      return { status: 409, error: SHARED_LINK_REFUSALS[refusal.refusal] };
    case "incident_refused":
      return { status: 409, error: INCIDENT_REFUSALS[refusal.refusal] };
    case "filter_rule_refused":
      return { status: 409, error: FILTER_RULE_REFUSALS[refusal.refusal] };
    case "maintenance_refused":
      return { status: 409, error: WINDOW_REFUSALS[refusal.refusal] };
    case "lever_refused":
      return { status: 409, error: LEVER_REFUSALS[refusal.refusal] };
    case "challenge_refused":
      return CHALLENGE_REFUSALS[refusal.refusal];
    case "invalid_config":
      return { status: 400, error: problemText(refusal.problems) };
    case "fault":
      return { status: 503, error: refusal.message };
    case "too_many_of_share":
      return { status: 429, error: OF_SHARE[refusal.what], retryAfterSeconds: 1 };
    default:
      return refusal satisfies never;
  }
}

function problemText(problems: readonly string[]): string {
  const more = problems.length - PROBLEMS_REPORTED_MAX;
  return [...problems.slice(0, PROBLEMS_REPORTED_MAX), ...(more > 0 ? [`and ${more} more`] : [])].join("\n");
}

function echo(text: string, characters = ECHO_CHARACTERS): string {
  return text.length <= characters ? text : `${text.slice(0, characters).toWellFormed()}…`;
}
