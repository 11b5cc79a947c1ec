/**
 * Bounds that callers can fill or that several folders share, with units; others are beside what they bound. The bounds
 * that callers meet are described in docs/interface.md#limits.
 */

import { NAMED_SETS_MAX, WATCHED_HOSTS_MAX } from "./native/constants.ts";

/** Ended attacks that `GET /api/v1/attacks` returns. */
export const ENDED_ATTACKS_KEPT = 100;
/**
 * Attacks in progress at once, beside CARPETS_MAX; a further one replaces a calm or a smaller one, or is counted but not
 * opened. The addon watches each attacked host.
 */
export const ACTIVE_ATTACKS_MAX = WATCHED_HOSTS_MAX;
/** Bytes of a file of address origins; it is kept in memory. */
export const ORIGIN_FILE_BYTES_MAX = 512 * 1024 * 1024;
/** Named sets of prefixes. */
export const PREFIX_SETS_MAX = NAMED_SETS_MAX;
/** Ended bans kept beside the active ones. */
export const ENDED_BANS_KEPT = 1000;
/** Request bodies, bytes. */
export const BODY_BYTES_MAX = 64 * 1024;
/** Attacks on prefixes at once. */
export const CARPETS_MAX = 64;
/** Baselines of hostgroups as a whole, in addition to `capture.max_hosts` baselines of hosts. */
export const BASELINE_GROUPS_MAX = 1025;
/** Destinations of a rule of the operator for the data plane. */
export const FILTER_RULE_DESTINATIONS_MAX = 64;
/** Such rules added by the API beside those, for at most a year, and characters of their reasons. */
export const FILTER_RULE_ORDERS_MAX = 25;
export const FILTER_RULE_SECONDS_MAX = 31_536_000;
export const FILTER_RULE_REASON_MAX = 200;
/** Prefixes in all networks and hostgroups. */
export const PREFIXES_MAX = 100_000;
/** Hostgroups without the implicit one: the addon keeps a sum of rates for each. */
export const HOSTGROUPS_MAX = 1024;
/** Addresses that an operator adds by the API to those of a hostgroup that are never banned. */
export const GROUP_WHITELIST_MAX = 256;
/**
 * Communities of a route. A BGP UPDATE has at most 4,096 octets (RFC 4271, 4.1), which the route shares with what routers
 * on its way add; large communities take 12 each, so these leave nine tenths.
 */
export const COMMUNITIES_MAX = 32;
/** Larger numbers of a service among those of one BGP speaker are chosen at random. */
export const BGP_INSTANCE_MAX = 65_535;
/** Active bans at once: the maximum of `ban.max_active_bans`. */
export const ACTIVE_BANS_MAX = 10_000;
/** The longest duration of a ban, seconds. */
export const BAN_SECONDS_MAX = 2_592_000;
/** Pairs and rules in the data plane: the maximum of `dataplane.limits.max_dynamic_rules`. */
export const DYNAMIC_RULES_MAX = 262_144;
/** Policy slots reserved for each ban that `ban.max_active_bans` allows. */
export const SLOTS_PER_BAN = 8;
/** Entries of `dataplane.allowlist`. */
export const ALLOWLIST_MAX = 4096;
/** Victims for which one source may be blocked at once. */
export const VICTIMS_PER_SOURCE = 8;
/** The longest duration of a source block, seconds, and the maximum length of its reason, characters. */
export const SOURCE_BLOCK_SECONDS_MAX = 86_400;
export const SOURCE_BLOCK_REASON_MAX = 1000;
/** Characters of the reason of a command to ban or unban. */
export const BAN_REASON_MAX = 200;
/** Maintenance windows that operators opened, their longest duration, seconds, and characters of a reason. */
export const MAINTENANCE_ORDERS_MAX = 50;
export const MAINTENANCE_SECONDS_MAX = 604_800;
/** How far ahead an order may open one. */
export const MAINTENANCE_AHEAD_SECONDS_MAX = 2_592_000;
export const MAINTENANCE_REASON_MAX = 200;
/** Bans and unbans in one command. */
export const ORDERS_AT_ONCE_MAX = 100;
/** Characters of the reason of the end of a filter rule or a protection. */
export const ORDER_END_REASON_MAX = 200;
/** Orders that wait for the disk at once; further ones are refused. */
export const STATE_ORDERS_MAX = 1024;
/** Services of a profile of victims. */
export const SCRUB_SERVICES_MAX = 32;
/**
 * Protection profiles chosen at once, those that are inactive included; those that callers of one tenant chose; and
 * characters of a note.
 */
export const PROTECTION_CHOICES_MAX = 1024;
export const PROTECTION_CHOICES_PER_TENANT = 64;
export const PROTECTION_NOTE_MAX = 200;
/** Shared links at once; for how long one may last, seconds; and characters of its reason. */
export const SHARED_LINKS_MAX = 256;
export const SHARED_LINK_SECONDS_MIN = 60;
export const SHARED_LINK_SECONDS_MAX = 2_592_000;
export const SHARED_LINK_REASON_MAX = 200;
/** Browsers in which a user is signed in, of all users and of one; and sign-ins at once that ask the provider. */
export const SESSIONS_MAX = 1024;
export const SESSIONS_PER_USER = 8;
export const SIGN_INS_AT_ONCE_MAX = 32;
/** Sign-ins from one address, or one IPv6 /64: behind a proxy all come from one. */
export const SIGN_INS_PER_PEER = 8;
/** Incidents kept, of which the oldest closed ones go first. */
export const INCIDENTS_KEPT = 500;
/** Incidents of a customer in a shared link: the newest. */
export const SHARED_INCIDENTS_MAX = 100;
/** Notes of one incident, and characters of a note. */
export const INCIDENT_NOTES_MAX = 32;
export const INCIDENT_NOTE_MAX = 500;
/** A host without packets for this long leaves the host table, ms. */
export const HOST_IDLE_MS = 60_000;
/**
 * Connections that the listener keeps, and those of one peer (an IPv4 address, or an IPv6 /64): all nodes behind one
 * address, with as many again.
 */
export const CONNECTIONS_MAX = 16_384;
export const CONNECTIONS_PER_ADDRESS_MAX = 4096;
/** Tokens of the API. */
export const TOKENS_MAX = 1024;
/** Scrub nodes, and edge nodes. */
export const NODES_MAX = 1024;
/** Zones. */
export const ZONES_MAX = 4096;
/** Days whose clearance masters are kept: after a wrong clock is corrected, the earlier masters are still there. */
export const CLEARANCE_MASTERS_KEPT = 8;
/** Bytes of a command on the edge channel: for a lever, a slot or a challenge. */
export const EDGE_ORDER_BYTES_MAX = 4096;
/**
 * Levers set at once, including those on zones that were removed from the file; their longest duration, seconds; and
 * characters of the reason.
 */
export const LEVERS_MAX = 4096;
export const LEVER_SECONDS_MIN = 60;
export const LEVER_SECONDS_MAX = 86_400;
export const LEVER_REASON_MAX = 200;
/** How long a node holds the slot of a zone, and how long a challenge is in the zone document, ms. */
export const SLOT_LEASE_MS = 600_000;
export const CHALLENGE_LIFE_MS = 600_000;
/** The longest retry time that is returned to a node that waits for a slot, seconds. */
export const SLOT_RETRY_SECONDS_MAX = 30;
/** Live challenges of one node; characters of an ACME token and of a key authorization. */
export const LIVE_CHALLENGES_MAX = 16;
export const ACME_TOKEN_CHARACTERS_MAX = 256;
export const KEY_AUTHORIZATION_CHARACTERS_MAX = 512;
/** Refused bans of a node in the inventory. */
export const REFUSED_BANS_SHOWN = 16;
/** History: time range, ms; buckets in it; and seconds of one. */
export const RANGE_MS_MAX = 31 * 86_400_000;
export const BUCKETS_MAX = 5000;
export const STEP_SECONDS_MAX = 86_400;
/** Attacks of one page: each has up to 4 kB, and a page is written in one turn of the event loop. */
export const ATTACKS_PAGE_MAX = 200;
/** Pages and filtered views of lists that are read at once: with one token, and in total. */
export const LIST_PAGES_PER_TOKEN = 16;
export const LIST_PAGES_MAX = 512;
/** Different views of one table that are written in one pass over it; further views wait for the next pass. */
export const PASS_READERS_MAX = 32;
/** Events that wait for one notification channel: enough for all attacks to start, be banned and end at once. */
export const NOTIFY_QUEUE_MAX = 4096;
/** Characters of one message for people; Telegram accepts 4096. */
export const NOTIFY_TEXT_CHARACTERS_MAX = 3500;
/** Rows of one answer from the history: one more than a page of 1000, so that a reader sees that there are more. */
export const HISTORY_ROWS_MAX = 1001;
/** Attacks of one answer from the history, whose rows are long: one more than a page of 100. */
export const HISTORY_ATTACKS_MAX = 101;
/** Attacks of the history that the dashboard reads for one list and one file: at once, and in all. */
export const HISTORY_LIST_STEP = 1000;
export const HISTORY_LIST_MAX = 10_000;
/** Records that wait for the history store, by kind; for traffic, snapshots. */
export const HISTORY_QUEUES_MAX = {
  audit: 4096,
  attacks: 4096,
  traffic: 6,
  edge_windows: 16_384,
  edge_events: 4096,
} as const;
/** Queries of the history store at once, further ones wait; requests of tenants and their share for which they are made. */
export const HISTORY_QUERIES_MAX = 32;
export const HISTORY_READS_MAX = 512;
/** How long a query of the history waits for its answer, ms. */
export const HISTORY_QUERY_MS = 5000;
/**
 * A stopping service exits within 5 s. It waits this long for each of these, one after the other, ms: answers in
 * progress, the BGP speaker, and notifications and history.
 */
export const STOP_STEP_MS = 1500;
/** Event streams: with one token, and in total. */
export const EVENT_STREAMS_PER_TOKEN = 8;
export const EVENT_STREAMS_MAX = 64;
