/** All bounds of the service, with units. The bounds that callers meet are described in docs/interface.md#limits. */

import {
  FILTER_RULES_PER_DESTINATION_MAX,
  FILTER_SOURCES_MAX,
  HOSTS_MAX,
  LOCKED_BYTES_PER_QUEUE,
  NAMED_PREFIXES_MAX,
  NAMED_SETS_MAX,
  PROFILED_HOSTS_MAX,
  SCREENED_ROWS_MAX,
  WATCHED_HOSTS_MAX,
} from "./dataplane/native-constants.ts";

/** The maximum of `capture.link_mbps`: a hundred Tbit/s. */
export const LINK_MBPS_MAX = 100_000_000;
/**
 * Rows of the host table, the maximum of `capture.max_hosts`; hosts that the addon hands over in one tick; memory that
 * AF_XDP locks for each queue at the usual MTU, bytes: twice as much for jumbo frames.
 */
export { HOSTS_MAX, LOCKED_BYTES_PER_QUEUE, SCREENED_ROWS_MAX };

/** Ended attacks that `GET /api/v1/attacks` returns. */
export const ENDED_ATTACKS_KEPT = 100;
/**
 * Attacks in progress at once, beside CARPETS_MAX; a further one replaces a calm or a smaller one, or is counted but not
 * opened. The addon watches each attacked host.
 */
export const ACTIVE_ATTACKS_MAX = WATCHED_HOSTS_MAX;
/** Attacks whose rules wait to be looked for: each is in the list once. */
export const RULE_ORDERS_MAX = ACTIVE_ATTACKS_MAX;
/** Hosts, hostgroups and prefixes whose samples are added up until they are certainly above a threshold, or not. */
export const DOUBTFUL_TARGETS_MAX = 512;
/**
 * Points of the series of one attack, and of all attacks together, about 10 MB: beyond that, points are merged. Ended
 * attacks whose series are kept.
 */
export const SERIES_POINTS_PER_ATTACK = 1024;
export const SERIES_POINTS_MAX = 131_072;
export const MEASURED_ATTACKS_KEPT = 128;
/** Entries of the timeline of one attack. */
export const TIMELINE_ENTRIES_MAX = 128;
/** Sampled packets kept for all attacks together; slightly more if there are very many attacks. */
export const SAMPLED_PACKETS_MAX = 65_536;
/**
 * Headers kept for the capture file of one attack, of at most 160 bytes each in memory and 144 in the file; those of all
 * attacks together; and ended attacks that keep theirs.
 */
export const RECENT_PACKETS_PER_ATTACK = 512;
export const RECENT_PACKETS_MAX = 65_536;
export const RECENT_PACKETS_ENDED_ATTACKS = 32;
/**
 * Hosts whose traffic before an attack is remembered, 2 kB each in the packet counter; as many again of an earlier
 * process, until the counter has new profiles of them.
 */
export const PROFILED_HOSTS_RESTORED_MAX = PROFILED_HOSTS_MAX;
export { PROFILED_HOSTS_MAX };
/** Bytes of a file of address origins; it is kept in memory. */
export const ORIGIN_FILE_BYTES_MAX = 512 * 1024 * 1024;
/**
 * Named sets of prefixes, and prefixes of all of them together: 17 bytes each in memory. Bytes of a plain list; a file
 * of origins has the bound above. Countries and autonomous systems of one set.
 */
export const PREFIX_SETS_MAX = NAMED_SETS_MAX;
export const SET_PREFIXES_MAX = NAMED_PREFIXES_MAX;
export const PREFIX_LIST_BYTES_MAX = 128 * 1024 * 1024;
export const SET_ORIGINS_MAX = 4096;
/** How often the files of sets are looked at, and how long reading the changed ones may take, ms. */
export const PREFIX_SETS_WATCH_MS = 10_000;
export const PREFIX_SETS_READ_MS = 120_000;
/** Ended bans kept beside the active ones. */
export const ENDED_BANS_KEPT = 1000;
/** Request bodies, bytes. */
export const BODY_BYTES_MAX = 64 * 1024;
/** Rows read from the addon in one crossing when all hosts are read. */
export const HOST_CHUNK_ROWS = 65_536;
/** Prefixes over which the traffic of hosts is summed, and attacks on such prefixes at once. */
export const CARPET_PREFIXES_MAX = 65_536;
export const CARPETS_MAX = 64;
/** Baselines of hostgroups as a whole, in addition to `capture.max_hosts` baselines of hosts. */
export const BASELINE_GROUPS_MAX = 1025;
/** Hosts with a baseline by hour of the week, 536 bytes for each direction: 35 MB, or 70 MB. */
export const SEASONAL_HOSTS_MAX = 65_536;
/** Rules of the operator for the data plane, and destinations of each. */
export const FILTER_RULES_MAX = 100;
export const FILTER_RULE_DESTINATIONS_MAX = 64;
/** Such rules added by the API beside those, for at most a year, and characters of their reasons. */
export const FILTER_RULE_ORDERS_MAX = 25;
export const FILTER_RULE_SECONDS_MAX = 31_536_000;
export const FILTER_RULE_REASON_MAX = 200;
/** Prefixes in all networks and hostgroups. */
export const PREFIXES_MAX = 100_000;
/** Networks of a tunnel, and bytes of the longest packet within: what a link of Ethernet takes at most, and any link of IPv4 at least. */
export const TUNNEL_NETWORKS_MAX = 1024;
export const TUNNEL_MTU_MAX = 9216;
export const TUNNEL_MTU_MIN = 576;
/** What every link takes at least of IPv6 (RFC 8200, 5), bytes. */
export const IPV6_MTU_MIN = 1280;
/** Bytes of a configuration file. */
export const CONFIG_BYTES_MAX = 16 * 1024 * 1024;
/** Values in the configuration after aliases are resolved, and levels of nesting. */
export const CONFIG_VALUES_MAX = 500_000;
export const CONFIG_DEPTH_MAX = 32;
/** Hostgroups without the implicit one: the addon keeps a sum of rates for each. */
export const HOSTGROUPS_MAX = 1024;
/** Interfaces captured at once. */
export const CAPTURE_INTERFACES_MAX = 64;
/** Addresses that mirrored frames come to in tunnels, and prefixes that they may come from. */
export const CAPTURE_TUNNELS_MAX = 16;
export const TUNNEL_SENDERS_MAX = 256;
/** Sockets that take flow records, and the longest silence of an exporter that is not reported, seconds. */
export const FLOW_LISTENERS_MAX = 16;
export const SILENT_SECONDS_MAX = 86_400;
/** The largest sampling rate, as one packet in this number: that of sFlow (version 5, 24 bits). */
export const EXPORTER_SAMPLING_RATE_MAX = 16_777_215;
/** Exporters with metrics of their own; those of all others together have one name. */
export const MEASURED_EXPORTERS_MAX = 256;
/** How often exporters are read, ms; longer if reading takes long. */
export const EXPORTERS_READ_MS = 2000;
/** BGP neighbors, and communities of one route. */
export const BGP_NEIGHBORS_MAX = 64;
export const BGP_LISTEN_MAX = 16;
export const COMMUNITIES_MAX = 32;
/** State databases that were damaged and moved aside. */
export const DAMAGED_STATES_KEPT = 3;
/** Larger numbers of a service among those of one BGP speaker are chosen at random. */
export const BGP_INSTANCE_MAX = 65_535;
/** Quarantined FlowSpec rules, because of which neighbors reset their sessions. */
export const QUARANTINED_RULES_MAX = 10_000;
/** Active bans at once: the maximum of `ban.max_active_bans`. */
export const ACTIVE_BANS_MAX = 10_000;
/** The longest duration of a ban, seconds. */
export const BAN_SECONDS_MAX = 2_592_000;
/** Pairs and rules in the data plane: the maximum of `dataplane.limits.max_dynamic_rules`. */
export const DYNAMIC_RULES_MAX = 262_144;
/** Sources of TCP in the data plane: the maximum of `dataplane.limits.max_sources`. */
export const VALIDATED_SOURCES_MAX = FILTER_SOURCES_MAX;
/** Policy slots reserved for each ban that `ban.max_active_bans` allows. */
export const SLOTS_PER_BAN = 8;
/**
 * Rules of bans in the kernel for one destination prefix, or for any destination: at most this many are compared with a
 * packet.
 */
export const DYNAMIC_RULES_PER_DESTINATION = FILTER_RULES_PER_DESTINATION_MAX;
/** The shortest time between two updates of all ban rules in the kernel, ms; longer if an update takes long. */
export const KERNEL_RULES_INTERVAL_MS = 100;
/** Source blocks whose drop counters are read; reading more would block the event loop for too long. */
export const PAIRS_COUNTED_MAX = 16_384;
/** Entries of `dataplane.allowlist`. */
export const ALLOWLIST_MAX = 4096;
/** Victims for which one source may be blocked at once. */
export const VICTIMS_PER_SOURCE = 8;
/** The longest duration of a source block, seconds, and the maximum length of its reason, characters. */
export const SOURCE_BLOCK_SECONDS_MAX = 86_400;
export const SOURCE_BLOCK_REASON_MAX = 1000;
/**
 * Source blocks processed in one step on the event loop: checked against a new configuration, installed in the kernel,
 * or written to disk.
 */
export const SOURCE_BLOCKS_PER_PIECE = 2048;
/** Changes of the state database in one transaction. */
export const STATE_BATCH_MAX = 2048;
/** Orders that wait for the disk at once; further ones are refused. */
export const STATE_ORDERS_MAX = 1024;
/** How long an order waits for the disk, ms: longer than two writes to a disk that takes 3 s for each. */
export const STATE_WAIT_MS = 8000;
/** Rungs of an escalation ladder. */
export const ESCALATION_RUNGS_MAX = 5;
/** Profiles of victims in a file, and services of one. */
export const SCRUB_PROFILES_MAX = 64;
export const SCRUB_SERVICES_MAX = 32;
/** Profiles that tenants may choose: all, built-in ones too. */
export const SELECTABLE_PROFILES_MAX = SCRUB_PROFILES_MAX + 8;
/**
 * Protection profiles chosen at once, those that are inactive included; those that callers of one tenant chose; and
 * characters of a note.
 */
export const PROTECTION_CHOICES_MAX = 1024;
export const PROTECTION_CHOICES_PER_TENANT = 64;
export const PROTECTION_NOTE_MAX = 200;
/** Keys of repeated warnings that the log counts separately; all further keys share one entry. */
export const LIMITER_KEYS_MAX = 1024;
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
/** Bytes of the file of environment variables with their secrets. */
export const ENV_FILE_BYTES_MAX = 1024 * 1024;
/** Scrub nodes, and edge nodes. */
export const NODES_MAX = 1024;
/** Zones; origins of one zone; its paths that are never challenged; characters of such a path. */
export const ZONES_MAX = 4096;
export const ORIGINS_MAX = 64;
export const EXEMPT_PATHS_MAX = 64;
export const EXEMPT_PATH_CHARACTERS_MAX = 256;
/** The maximum of rates (requests per second) and bursts in a zone's policy. */
export const ZONE_RATE_MAX = 100_000_000;
/** Days whose clearance masters are kept: after a wrong clock is corrected, the earlier masters are still there. */
export const CLEARANCE_MASTERS_KEPT = 8;
/**
 * The longest life of a clearance cookie, seconds: a cookie signed at the end of a key's day is valid for one more day.
 */
export const CLEARANCE_COOKIE_SECONDS_MAX = 86_400;
/** Bytes of zone documents that are kept; beyond that, the oldest documents are written again for each poll. */
export const ZONE_DOCUMENT_BYTES_KEPT = 256 * 1024 * 1024;
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
/** The longest configurable time without a poll after which a node still counts as alive, seconds. */
export const STALE_SECONDS_MAX = 3600;
/**
 * Levels of nesting in a request body. Reports keep unknown keys; without a bound they could not be serialized again.
 */
export const BODY_DEPTH_MAX = 32;
/** Sources that are read from one window of one zone in an edge node's report. */
export const EDGE_SOURCES_PER_WINDOW = 20;
/**
 * The largest counter of such a window, so that sums over all nodes and 31 days stay safe integers; and its longest
 * duration, seconds.
 */
export const EDGE_COUNT_MAX = 10_000_000_000;
export const EDGE_WINDOW_SECONDS_MAX = 3600;
/** How far the clock of an edge node may be behind and ahead of the service's, ms. */
export const EDGE_CLOCK_BEHIND_MS = 600_000;
export const EDGE_CLOCK_AHEAD_MS = 60_000;
/** Reports of edge nodes that wait for the history: of all nodes, and of one node. */
export const EDGE_REPORTS_WAITING_MAX = 1024;
export const EDGE_REPORTS_WAITING_PER_NODE = 8;
/**
 * Reports of one node that are recorded in the history (the usual period is ten seconds): the shortest period, ms, and
 * the burst.
 */
export const EDGE_REPORT_RECORDED_MS = 1000;
export const EDGE_REPORTS_AT_ONCE = 60;
/** Characters of a node's own text in an edge event. */
export const EDGE_EVENT_DETAIL_MAX = 200;
/** Single-port rules that may replace one rule with port ranges, for a scrub node that does not support ranges. */
export const RULE_FORMS_MAX = 16;
/**
 * Diverted bans for which one tick finds rules for a node whose capabilities changed: it bounds the time that a tick
 * blocks the event loop.
 */
export const NODE_RULES_FOUND_MAX = 16;
/** Bans that a scrub node refuses, by name in its report, their different reasons, and the characters of each. */
export const REFUSED_BANS_LISTED_MAX = 768;
export const REFUSAL_REASONS_MAX = 16;
export const REFUSAL_CHARACTERS_MAX = 120;
/** Refused bans of a node in the inventory; nodes that refuse a ban, in the ban. */
export const REFUSED_BANS_SHOWN = 16;
export const REFUSING_NODES_SHOWN = 8;
/** Documents that a scrub node was sent and has not reported to enforce; nodes to which a ban went one after another. */
export const SENT_DOCUMENTS_MAX = 32;
export const NODES_OF_BAN_MAX = 8;
/** Bytes of a rule document that a scrub node accepts: the largest number of bans with all their rules. */
export const RULE_DOCUMENT_BYTES_MAX = 32 * 1024 * 1024;
/** Bytes of a scrub node's configuration file. */
export const SCRUB_CONFIG_BYTES_MAX = 1024 * 1024;
/** Recipients of one mail. */
export const NOTIFY_RECIPIENTS_MAX = 32;
/** History: time range, ms; buckets in it; and seconds of one. */
export const RANGE_MS_MAX = 31 * 86_400_000;
export const BUCKETS_MAX = 5000;
export const STEP_SECONDS_MAX = 86_400;
/** Parked polls of one channel: for one token and configured node, and the minimum of the total. */
export const HOLDS_PER_TOKEN = 4;
export const HOLDS_PER_NODE = 2;
export const HOLDS_LEAST = 8;
/** How long a poll for the scrub nodes' rules, and for the edge nodes' zones, stays parked, ms. */
export const RULES_HOLD_MS = 30_000;
export const ZONES_HOLD_MS = 25_000;
/** Hosts of one page. */
export const HOSTS_PAGE_MAX = 1000;
/** Pages that are read at once: with one token, and in total. */
export const HOSTS_PAGES_PER_TOKEN = 16;
export const HOSTS_PAGES_MAX = 512;
/** Different views of one table that are written in one pass over it; further views wait for the next pass. */
export const PASS_READERS_MAX = 32;
/** Snapshots of all hosts that are kept, one per tenant; beyond that, they are written for each request. */
export const HOST_SNAPSHOTS_MAX = 256;
/** Events that wait for one notification channel: enough for all attacks to start, be banned and end at once. */
export const NOTIFY_QUEUE_MAX = 4096;
/** Characters of one message for people; Telegram accepts 4096. */
export const NOTIFY_TEXT_CHARACTERS_MAX = 3500;
/**
 * Seconds between two update checks: with a tenth added, the delay must not exceed 24 days, the longest that a timer
 * accepts.
 */
export const UPDATE_INTERVAL_SECONDS_MAX = 1_209_600;
/** Bytes of the answer to an update check. */
export const UPDATE_ANSWER_BYTES_MAX = 64 * 1024;
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
/** Records of one write. */
export const HISTORY_BATCH_MAX = {
  audit: 512,
  attacks: 256,
  traffic: 1,
  edge_windows: 1024,
  edge_events: 512,
} as const;
/**
 * How long records wait to be written together, ms: windows arrive by the hundred, one report at a time, and change the
 * same pages.
 */
export const HISTORY_GATHER_MS = { audit: 0, attacks: 0, traffic: 0, edge_windows: 200, edge_events: 0 } as const;
/** Queries of the history store at once, further ones wait; requests of tenants and their share for which they are made. */
export const HISTORY_QUERIES_MAX = 32;
export const HISTORY_READS_MAX = 512;
/** How long a command waits for its audit row, and a query for its answer, ms. */
export const AUDIT_WAIT_MS = 1000;
export const HISTORY_QUERY_MS = 5000;
/**
 * A stopping service exits within 5 s. It waits this long for each of these, one after the other, ms: answers in
 * progress, the BGP speaker, and notifications and history.
 */
export const STOP_STEP_MS = 1500;
/** Part of the last step: writing the remaining history and closing the store, ms. */
export const HISTORY_FLUSH_MS = 1000;
export const HISTORY_CLOSE_MS = STOP_STEP_MS - HISTORY_FLUSH_MS;
/**
 * Attempts to write a batch that the store refuses. While the store is unreachable, batches wait as long as there is
 * room.
 */
export const HISTORY_TRIES_MAX = 5;
/** The size of the SQLite file of traffic and edge history, bytes: the smallest that can be configured, and the default. */
export const HISTORY_BYTES_MIN = 16 * 1024 * 1024;
export const HISTORY_BYTES_DEFAULT = 50_000_000_000;
/**
 * Free space that history leaves on its disk for the state database, bytes: traffic and edge history stop first, then
 * audit and attacks. On a small disk it is a share of it.
 */
export const HISTORY_RESERVES = {
  series: { bytes: 256 * 1024 * 1024, share: 0.1 },
  records: { bytes: 64 * 1024 * 1024, share: 0.025 },
} as const;
/**
 * Autonomous systems, countries, prefixes and interfaces, of each kind: counted at once (twice as many for a moment),
 * stored of each interval, and in an answer. A counted key misses at most 1/1024 of all bytes.
 */
export const PART_KEYS_COUNTED = 1024;
export const PART_KEYS_STORED = 50;
export const PART_KEYS_MAX = 100;
/** Rows of one traffic snapshot, each for a host in one direction; the busiest hosts are kept. */
export const TRAFFIC_ROWS_MAX = 20_000;
/** Event streams: with one token, and in total. */
export const EVENT_STREAMS_PER_TOKEN = 8;
export const EVENT_STREAMS_MAX = 64;
/** Bytes of events that a reader has not received yet, and bytes of events kept for readers that reconnect. */
export const EVENT_QUEUE_BYTES = 8 * 1024 * 1024;
export const EVENT_RING_BYTES = 4 * 1024 * 1024;
/** Attacks and bans with an event within the last second. */
export const EVENT_KEYS_MAX = 16_384;
/** How long a reload may take to read and check the configuration file, ms. */
export const CONFIG_READ_MS = 45_000;
/** Errors and warnings of a configuration that the service shows; `floodwall check` shows all. */
export const CONFIG_FINDINGS_SHOWN = 1000;
/** For `replay --suggest`: rows judged in one tick, hosts counted separately, and busiest hosts listed. */
export const SUGGEST_ROWS_MAX = 65_536;
export const SUGGEST_HOSTS_MAX = 65_536;
export const SUGGEST_BUSIEST_HOSTS = 5;
/** How long a start waits for the machine check, ms; later findings are logged later. */
export const MACHINE_LOOK_MS = 500;
/** How long gobgpd may take to print its version or options, ms. */
export const GOBGPD_ANSWER_MS = 5000;
