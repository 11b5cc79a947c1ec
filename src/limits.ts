/** Every bound of the service, with its unit. What callers meet of them: docs/interface.md#limits. */

/** Ended attacks that `GET /api/v1/attacks` returns. */
export const ENDED_ATTACKS_KEPT = 100;
/** Attacks in progress at once; more are counted and not opened. */
export const ACTIVE_ATTACKS_MAX = 1024;
/** Sampled packets kept of all attacks together, a few more when there are very many. */
export const SAMPLED_PACKETS_MAX = 65_536;
/** Bytes of a file that tells where addresses are; it is kept in memory. */
export const ORIGIN_FILE_BYTES_MAX = 512 * 1024 * 1024;
/** Ended bans kept beside the active ones. */
export const ENDED_BANS_KEPT = 1000;
/** Request bodies, bytes. */
export const BODY_BYTES_MAX = 64 * 1024;
/** Hosts that the addon hands over in one tick. */
export const SCREENED_ROWS_MAX = 8192;
/** Rows read from the addon in one crossing when all hosts are read. */
export const HOST_CHUNK_ROWS = 65_536;
/** Prefixes that the traffic of all hosts is added up by, and attacks on such at once. */
export const CARPET_PREFIXES_MAX = 65_536;
export const CARPETS_MAX = 64;
/** What is normal of hosts, beside `capture.max_hosts`: of hostgroups as a whole. */
export const BASELINE_GROUPS_MAX = 1025;
/** Hosts whose normal is kept by hour of the week, 536 bytes a direction: 35 MB, or 70. */
export const SEASONAL_HOSTS_MAX = 65_536;
/** Prefixes in all networks and hostgroups. */
export const PREFIXES_MAX = 100_000;
/** Bytes of a configuration file. */
export const CONFIG_BYTES_MAX = 16 * 1024 * 1024;
/** Values in it with its aliases resolved, and levels of nesting. */
export const CONFIG_VALUES_MAX = 500_000;
export const CONFIG_DEPTH_MAX = 32;
/** Hostgroups, the implicit one not counted: the addon keeps a sum of rates for each. */
export const HOSTGROUPS_MAX = 1024;
/** Interfaces captured at once. */
export const CAPTURE_INTERFACES_MAX = 64;
/** BGP neighbors, and communities of one route. */
export const BGP_NEIGHBORS_MAX = 64;
export const COMMUNITIES_MAX = 32;
/** FlowSpec rules that are remembered for the neighbors that reset their sessions over them. */
export const QUARANTINED_RULES_MAX = 10_000;
/** Bans active at once: the most that `ban.max_active_bans` may say. */
export const ACTIVE_BANS_MAX = 10_000;
/** The longest time that a ban can be given, seconds. */
export const BAN_SECONDS_MAX = 2_592_000;
/** Pairs and rules that the data plane may hold: the most that `dataplane.limits.max_dynamic_rules` may say. */
export const DYNAMIC_RULES_MAX = 262_144;
/** Of these, kept free for each ban that `ban.max_active_bans` allows. */
export const SLOTS_PER_BAN = 8;
/** Rules of bans in the kernel for one destination prefix, or for any destination: the most that are held against a packet. */
export const DYNAMIC_RULES_PER_DESTINATION = 256;
/** How often at most the rules of bans are put into the kernel as a whole, ms; where that takes long, less often. */
export const KERNEL_RULES_INTERVAL_MS = 100;
/** Source blocks of which it is shown how much each dropped: with more, reading that would hold up the event loop. */
export const PAIRS_COUNTED_MAX = 16_384;
/** Entries of `dataplane.allowlist`. */
export const ALLOWLIST_MAX = 4096;
/** Victims that one source may be blocked for at once. */
export const VICTIMS_PER_SOURCE = 8;
/** The longest time that a source can be blocked, seconds, and characters of the reason that is given for it. */
export const SOURCE_BLOCK_SECONDS_MAX = 86_400;
export const SOURCE_BLOCK_REASON_MAX = 1000;
/**
 * Source blocks that are handled in one piece of work on the event loop: held against a new configuration, brought into
 * the kernel, or written to disk.
 */
export const SOURCE_BLOCKS_PER_PIECE = 2048;
/** Rungs of an escalation ladder. */
export const ESCALATION_RUNGS_MAX = 5;
/** Rows of the host table: the most that `capture.max_hosts` may say. */
export const HOSTS_MAX = 16_777_216;
/** Kinds of a repeated warning that are told apart in the log; the rest share one place. */
export const LIMITER_KEYS_MAX = 1024;
/** A host without packets for this long leaves the host table, ms. */
export const HOST_IDLE_MS = 60_000;
/** Tokens of the API. */
export const TOKENS_MAX = 1024;
/** Bytes of the file that their secrets may come from. */
export const ENV_FILE_BYTES_MAX = 1024 * 1024;
/** Scrub nodes, and edge nodes. */
export const NODES_MAX = 1024;
/** Zones, the origins of one, the paths of one that are never challenged, and characters of such a path. */
export const ZONES_MAX = 4096;
export const ORIGINS_MAX = 64;
export const EXEMPT_PATHS_MAX = 64;
export const EXEMPT_PATH_CHARACTERS_MAX = 256;
/** Requests per second, or at once, that a zone's policy may say. */
export const ZONE_RATE_MAX = 100_000_000;
/** Days whose clearance masters are kept: a clock that was set wrongly, and right again, finds those it had. */
export const CLEARANCE_MASTERS_KEPT = 8;
/** The longest life of a clearance cookie, seconds: what a key signs in its last moment is honoured for a day more. */
export const CLEARANCE_COOKIE_SECONDS_MAX = 86_400;
/** Bytes of zone documents that are kept; beyond, the oldest are written anew for each poll that gets one. */
export const ZONE_DOCUMENT_BYTES_KEPT = 256 * 1024 * 1024;
/** Bytes of an order of the edge channel: for a lever, a slot or a challenge. */
export const EDGE_ORDER_BYTES_MAX = 4096;
/** Levers set at once, those on zones that are gone from the file among them; how long, seconds; and characters of the reason. */
export const LEVERS_MAX = 4096;
export const LEVER_SECONDS_MIN = 60;
export const LEVER_SECONDS_MAX = 86_400;
export const LEVER_REASON_MAX = 200;
/** How long a node holds the slot of a zone, and how long a challenge is told, ms. */
export const SLOT_LEASE_MS = 600_000;
export const CHALLENGE_LIFE_MS = 600_000;
/** The longest that a node which waits for a slot is asked to wait before it asks again, seconds. */
export const SLOT_RETRY_SECONDS_MAX = 30;
/** Live challenges of one node; characters of an ACME token and of a key authorization. */
export const LIVE_CHALLENGES_MAX = 16;
export const ACME_TOKEN_CHARACTERS_MAX = 256;
export const KEY_AUTHORIZATION_CHARACTERS_MAX = 512;
/** The longest time that a node may be silent and still count as alive, seconds. */
export const STALE_SECONDS_MAX = 3600;
/** Levels of nesting in a body. Reports keep keys that nobody knows: nested without end they could not be written again. */
export const BODY_DEPTH_MAX = 32;
/** Sources of one window of one zone in an edge node's report that are read. */
export const EDGE_SOURCES_PER_WINDOW = 20;
/** The most that a counter of such a window may say: sums over all nodes and 31 days stay whole numbers. And its seconds. */
export const EDGE_COUNT_MAX = 10_000_000_000;
export const EDGE_WINDOW_SECONDS_MAX = 3600;
/** How far the clock of an edge node may be behind and ahead of the service's, ms. */
export const EDGE_CLOCK_BEHIND_MS = 600_000;
export const EDGE_CLOCK_AHEAD_MS = 60_000;
/** Reports of edge nodes whose windows are still to go to the history: of all nodes, and of one, which may report too often. */
export const EDGE_REPORTS_WAITING_MAX = 1024;
export const EDGE_REPORTS_WAITING_PER_NODE = 8;
/** Reports of one node that go to the history, where ten seconds are the rule: one in so many ms, and so many at once. */
export const EDGE_REPORT_RECORDED_MS = 1000;
export const EDGE_REPORTS_AT_ONCE = 60;
/** Characters of what an event of an edge node tells in the node's own words. */
export const EDGE_EVENT_DETAIL_MAX = 200;
/** Rules of one port each that stand for one with ranges of ports, for a scrub node that knows no ranges. */
export const RULE_FORMS_MAX = 16;
/** Bytes of a rule document that a scrub node takes: all bans that there can be, with all their rules. */
export const RULE_DOCUMENT_BYTES_MAX = 32 * 1024 * 1024;
/** Bytes of a scrub node's configuration file. */
export const SCRUB_CONFIG_BYTES_MAX = 1024 * 1024;
/** Recipients of one mail. */
export const NOTIFY_RECIPIENTS_MAX = 32;
/** History: time range, ms; buckets in it; and seconds of one. */
export const RANGE_MS_MAX = 31 * 86_400_000;
export const BUCKETS_MAX = 5000;
export const STEP_SECONDS_MAX = 86_400;
/** Parked polls of one channel: of one token, for each configured node, and how many in all at least. */
export const HOLDS_PER_TOKEN = 4;
export const HOLDS_PER_NODE = 2;
export const HOLDS_LEAST = 8;
/** How long a poll of the scrub nodes' rules, and of the edge nodes' zones, stays parked, ms. */
export const RULES_HOLD_MS = 30_000;
export const ZONES_HOLD_MS = 25_000;
/** Hosts of one page, when they are asked for in pages. */
export const HOSTS_PAGE_MAX = 1000;
/** Pages that are read at once: of one token, and in all. */
export const HOSTS_PAGES_PER_TOKEN = 16;
export const HOSTS_PAGES_MAX = 512;
/** Different views of one table that are written in one pass over it; the others wait for the next. */
export const PASS_READERS_MAX = 32;
/** Snapshots of all hosts that are kept, one a tenant; beyond, they are written anew each time. */
export const HOST_SNAPSHOTS_MAX = 256;
/** Events that wait for one notification channel: all attacks at once start, are banned and end. */
export const NOTIFY_QUEUE_MAX = 4096;
/** Characters of one message for people; Telegram takes 4096. */
export const NOTIFY_TEXT_CHARACTERS_MAX = 3500;
/** Seconds between two update checks: a tenth more must be a delay that a timer takes, which is 24 days at most. */
export const UPDATE_INTERVAL_SECONDS_MAX = 1_209_600;
/** Bytes of the update check's answer. */
export const UPDATE_ANSWER_BYTES_MAX = 64 * 1024;
/** Rows of one answer from the history: one more than a page of 1000, so that a reader sees that there are more. */
export const HISTORY_ROWS_MAX = 1001;
/** Refused orders in the audit trail of SQLite, about 250 MB: any caller can bring them about. */
export const AUDIT_REFUSALS_KEPT = 1_000_000;
/** Records that wait for the history store, by kind; of traffic, snapshots. */
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
/** How long they wait for others to be written with, ms: windows come by the hundred, a report each time, for the same pages. */
export const HISTORY_GATHER_MS = { audit: 0, attacks: 0, traffic: 0, edge_windows: 200, edge_events: 0 } as const;
/** Questions to the history store at once. */
export const HISTORY_QUESTIONS_MAX = 32;
/** How long an order waits for its audit row, and a question for its answer, ms. */
export const AUDIT_WAIT_MS = 1000;
export const HISTORY_QUESTION_MS = 5000;
/**
 * A stopping service is gone within 5 s. One after the other it waits so long for answers in progress, for the BGP
 * speaker, and for what is to be told and kept, ms.
 */
export const STOP_STEP_MS = 1500;
/** Of the last step: for history that is not written yet, and for the store to be closed, ms. */
export const HISTORY_FLUSH_MS = 1000;
export const HISTORY_CLOSE_MS = STOP_STEP_MS - HISTORY_FLUSH_MS;
/** Times that a batch is tried which the store refuses; what does not reach the store waits as long as there is room. */
export const HISTORY_TRIES_MAX = 5;
/** Rows of one snapshot of traffic, each a host in one direction; the busiest are kept. */
export const TRAFFIC_ROWS_MAX = 20_000;
/** Streams of events: of one token, and in all. */
export const EVENT_STREAMS_PER_TOKEN = 8;
export const EVENT_STREAMS_MAX = 64;
/** Events that a reader has not taken yet, and those kept for readers that come back, bytes. */
export const EVENT_QUEUE_BYTES = 8 * 1024 * 1024;
export const EVENT_RING_BYTES = 4 * 1024 * 1024;
/** Attacks and bans that were told of within a second. */
export const EVENT_KEYS_MAX = 16_384;
/** How long a reload may take to read and check the configuration file, ms. */
export const CONFIG_READ_MS = 45_000;
/** Faults and warnings of a configuration that the service tells of; `floodwall check` tells them all. */
export const CONFIG_FINDINGS_SHOWN = 1000;
/** Of a capture that thresholds are suggested from: rows judged in one tick, hosts told apart, and the busiest that are named. */
export const SUGGEST_ROWS_MAX = 65_536;
export const SUGGEST_HOSTS_MAX = 65_536;
export const SUGGEST_BUSIEST_HOSTS = 5;
/** Memory that AF_XDP locks for a queue, bytes, at the usual MTU; twice as much for longer packets. */
export const LOCKED_BYTES_PER_QUEUE = 16 * 1024 * 1024;
/** How long a start waits to learn what the machine lacks, ms; what comes later is told later. */
export const MACHINE_LOOK_MS = 500;
/** How long gobgpd may take to print its version, or its options, ms. */
export const GOBGPD_ANSWER_MS = 5000;
