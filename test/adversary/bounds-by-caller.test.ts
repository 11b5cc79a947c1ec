/**
 * Every bound of src/limits.ts is shared by those who fill it, or is here with the reason why it need not be. A new bound
 * fails this test until it is in one of the two.
 */
import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as limits from "../../src/limits.ts";
import { ROOT } from "../source-tree.ts";

/** By the file in which the table is filled, which has the shares, or the turns by tenant. */
const SHARED: Readonly<Record<string, readonly string[]>> = {
  "src/mitigation/active-bans.ts": ["ACTIVE_BANS_MAX"],
  "src/mitigation/ended-bans.ts": ["ENDED_BANS_KEPT"],
  "src/sourceblock/block-table.ts": ["DYNAMIC_RULES_MAX", "VICTIMS_PER_SOURCE"],
  "src/mitigation/protection/protections.ts": ["PROTECTION_CHOICES_MAX", "PROTECTION_CHOICES_PER_TENANT"],
  "src/http/server/request-shares.ts": ["STATE_ORDERS_MAX", "HISTORY_READS_MAX"],
  "src/storage/sqlite/file-thread.ts": ["HISTORY_QUERY_MS"],
  "src/storage/history-store.ts": ["HISTORY_QUERIES_MAX"],
  "src/storage/write-queue.ts": ["HISTORY_QUEUES_MAX"],
  "src/http/events/event-feed.ts": ["EVENT_STREAMS_MAX", "EVENT_STREAMS_PER_TOKEN"],
  "src/http/hosts/hosts-pages.ts": ["HOSTS_PAGES_MAX", "HOSTS_PAGES_PER_TOKEN"],
  "src/http/table-pass.ts": ["PASS_READERS_MAX"],
  "src/notify/delivery-queue.ts": ["NOTIFY_QUEUE_MAX"],
};

const words = (text: string) => text.trim().split(/\s+/);

const REASONS: Readonly<Record<string, readonly string[]>> = {
  "the configuration alone fills it, which the administrator writes": words(`LINK_MBPS_MAX HOSTS_MAX
    ORIGIN_FILE_BYTES_MAX PREFIX_SETS_MAX SET_PREFIXES_MAX PREFIX_LIST_BYTES_MAX SET_ORIGINS_MAX BASELINE_GROUPS_MAX
    FILTER_RULES_MAX PREFIXES_MAX TUNNEL_NETWORKS_MAX TUNNEL_MTU_MAX TUNNEL_MTU_MIN IPV6_MTU_MIN CONFIG_BYTES_MAX
    CONFIG_VALUES_MAX CONFIG_DEPTH_MAX HOSTGROUPS_MAX CAPTURE_INTERFACES_MAX CAPTURE_TUNNELS_MAX TUNNEL_SENDERS_MAX
    FLOW_LISTENERS_MAX SILENT_SECONDS_MAX EXPORTER_SAMPLING_RATE_MAX MEASURED_EXPORTERS_MAX BGP_NEIGHBORS_MAX
    BGP_LISTEN_MAX COMMUNITIES_MAX BGP_INSTANCE_MAX BAN_SECONDS_MAX SLOTS_PER_BAN ALLOWLIST_MAX ESCALATION_RUNGS_MAX
    SCRUB_PROFILES_MAX SCRUB_SERVICES_MAX SELECTABLE_PROFILES_MAX TOKENS_MAX ENV_FILE_BYTES_MAX NODES_MAX ZONES_MAX
    ORIGINS_MAX EXEMPT_PATHS_MAX EXEMPT_PATH_CHARACTERS_MAX ZONE_RATE_MAX STALE_SECONDS_MAX SCRUB_CONFIG_BYTES_MAX
    NOTIFY_RECIPIENTS_MAX UPDATE_INTERVAL_SECONDS_MAX HISTORY_BYTES_MIN HISTORY_BYTES_DEFAULT CLICKHOUSE_BYTES_DEFAULT
    CONFIG_FINDINGS_SHOWN`),
  "only tokens without a tenant may fill it": words("FILTER_RULE_ORDERS_MAX HISTORY_LIST_STEP HISTORY_LIST_MAX"),
  "it bounds one request, record or answer, not what several callers fill": words(`BODY_BYTES_MAX BODY_DEPTH_MAX
    FILTER_RULE_DESTINATIONS_MAX FILTER_RULE_SECONDS_MAX FILTER_RULE_REASON_MAX SOURCE_BLOCK_SECONDS_MAX
    SOURCE_BLOCK_REASON_MAX PROTECTION_NOTE_MAX EDGE_ORDER_BYTES_MAX LEVER_SECONDS_MIN LEVER_SECONDS_MAX
    LEVER_REASON_MAX ACME_TOKEN_CHARACTERS_MAX KEY_AUTHORIZATION_CHARACTERS_MAX HOSTS_PAGE_MAX RANGE_MS_MAX BUCKETS_MAX
    STEP_SECONDS_MAX HISTORY_ROWS_MAX HISTORY_ATTACKS_MAX PART_KEYS_MAX NOTIFY_TEXT_CHARACTERS_MAX
    UPDATE_ANSWER_BYTES_MAX EVENT_QUEUE_BYTES`),
  "there is one for each zone, of which the configuration has no more; those of removed zones give way":
    words("LEVERS_MAX"),
  "there is one for each tenant": words("HOST_SNAPSHOTS_MAX"),
  "each node has its own part of it": words(`EDGE_SOURCES_PER_WINDOW EDGE_COUNT_MAX EDGE_WINDOW_SECONDS_MAX
    EDGE_CLOCK_BEHIND_MS EDGE_CLOCK_AHEAD_MS EDGE_REPORTS_WAITING_MAX EDGE_REPORTS_WAITING_PER_NODE
    EDGE_REPORT_RECORDED_MS EDGE_REPORTS_AT_ONCE EDGE_EVENT_DETAIL_MAX REFUSED_BANS_LISTED_MAX REFUSAL_REASONS_MAX
    REFUSAL_CHARACTERS_MAX REFUSED_BANS_SHOWN REFUSING_NODES_SHOWN SENT_DOCUMENTS_MAX NODES_OF_BAN_MAX
    LIVE_CHALLENGES_MAX SLOT_LEASE_MS CHALLENGE_LIFE_MS SLOT_RETRY_SECONDS_MAX RULE_FORMS_MAX NODE_RULES_FOUND_MAX
    RULE_DOCUMENT_BYTES_MAX`),
  "polls are of nodes and of the administrator alone, and each node with a token of its own has a place beyond the bound":
    words("HOLDS_PER_TOKEN HOLDS_PER_NODE HOLDS_LEAST RULES_HOLD_MS ZONES_HOLD_MS"),
  "senders of packets fill it, not callers; the largest attacks have the room, or each attack the same": words(`
    ENDED_ATTACKS_KEPT ACTIVE_ATTACKS_MAX RULE_ORDERS_MAX DOUBTFUL_TARGETS_MAX SERIES_POINTS_PER_ATTACK
    SERIES_POINTS_MAX MEASURED_ATTACKS_KEPT TIMELINE_ENTRIES_MAX SAMPLED_PACKETS_MAX RECENT_PACKETS_PER_ATTACK
    RECENT_PACKETS_MAX RECENT_PACKETS_ENDED_ATTACKS PROFILED_HOSTS_RESTORED_MAX PROFILED_HOSTS_MAX CARPET_PREFIXES_MAX
    CARPETS_MAX SEASONAL_HOSTS_MAX VALIDATED_SOURCES_MAX DYNAMIC_RULES_PER_DESTINATION QUARANTINED_RULES_MAX
    PART_KEYS_COUNTED PART_KEYS_STORED TRAFFIC_ROWS_MAX SCREENED_ROWS_MAX`),
  "an address fills it before its token is known: it is divided by address": words(
    "CONNECTIONS_MAX CONNECTIONS_PER_ADDRESS_MAX",
  ),
  "a reader that misses an event reads the lists again": words("EVENT_RING_BYTES EVENT_KEYS_MAX"),
  "beyond it the drops of no pair are counted, whoever blocked them, and all stay in force": words("PAIRS_COUNTED_MAX"),
  "its keys are of the code and of configured names, not of what callers send": words("LIMITER_KEYS_MAX"),
  "it is the size of a step or a time of the service's own work": words(`LOCKED_BYTES_PER_QUEUE PREFIX_SETS_WATCH_MS
    PREFIX_SETS_READ_MS HOST_CHUNK_ROWS EXPORTERS_READ_MS DAMAGED_STATES_KEPT KERNEL_RULES_INTERVAL_MS
    SOURCE_BLOCKS_PER_PIECE STATE_BATCH_MAX STATE_WAIT_MS HOST_IDLE_MS CLEARANCE_MASTERS_KEPT
    CLEARANCE_COOKIE_SECONDS_MAX ZONE_DOCUMENT_BYTES_KEPT HISTORY_BATCH_MAX HISTORY_GATHER_MS AUDIT_WAIT_MS
    STOP_STEP_MS HISTORY_FLUSH_MS HISTORY_CLOSE_MS HISTORY_TRIES_MAX HISTORY_RESERVES CONFIG_READ_MS SUGGEST_ROWS_MAX
    SUGGEST_HOSTS_MAX SUGGEST_BUSIEST_HOSTS MACHINE_LOOK_MS GOBGPD_ANSWER_MS`),
};

const stated = [...Object.values(SHARED), ...Object.values(REASONS)].flat();

describe("bounds", () => {
  test("each is shared, or has a reason not to be", () => {
    expect(stated.toSorted()).toEqual(Object.keys(limits).sort());
  });

  test.each(Object.keys(SHARED))("the file %s has the shares or the turns", (path) => {
    const text = readFileSync(join(ROOT, path), "utf8");
    expect(text).toMatch(/access\/(shares|fair-queue)\.ts/);
  });
});
