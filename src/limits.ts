/** Every bound of the service, with its unit. Interface section 8, choices section 4. */

/** Ended attacks that `GET /api/v1/attacks` returns. */
export const ENDED_ATTACKS_KEPT = 100;
/** Attacks in progress at once; more are counted and not opened. */
export const ACTIVE_ATTACKS_MAX = 1024;
/** Ended bans kept beside the active ones. */
export const ENDED_BANS_KEPT = 1000;
/** Request bodies, bytes. */
export const BODY_BYTES_MAX = 64 * 1024;
/** Hosts that the addon hands over in one tick. */
export const SCREENED_ROWS_MAX = 8192;
/** Rows read from the addon in one crossing when all hosts are read. */
export const HOST_CHUNK_ROWS = 65_536;
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
/** Bans active at once: the most that `ban.max_active_bans` may say. */
export const ACTIVE_BANS_MAX = 10_000;
/** Rows of the host table: the most that `capture.max_hosts` may say. */
export const HOSTS_MAX = 16_777_216;
/** Kinds of a repeated warning that are told apart in the log; the rest share one place. */
export const LIMITER_KEYS_MAX = 1024;
/** A host without packets for this long leaves the host table, ms. */
export const HOST_IDLE_MS = 60_000;
/** Tokens of the API. */
export const TOKENS_MAX = 1024;
/** Scrub nodes, and edge nodes. */
export const NODES_MAX = 1024;
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
