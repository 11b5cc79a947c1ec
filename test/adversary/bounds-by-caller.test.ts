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
  "src/sourceblock/block-index.ts": ["DYNAMIC_RULES_MAX", "VICTIMS_PER_SOURCE"],
  "src/mitigation/protection/protections.ts": ["PROTECTION_CHOICES_MAX", "PROTECTION_CHOICES_PER_TENANT"],
  "src/access/guest-links.ts": ["SHARED_LINKS_MAX"],
  "src/access/browser-sessions.ts": ["SESSIONS_MAX", "SESSIONS_PER_USER"],
  "src/incident/work.ts": ["INCIDENT_NOTES_MAX"],
  "src/http/server/request-shares.ts": ["STATE_ORDERS_MAX", "HISTORY_READS_MAX"],
  "src/storage/sqlite/file-thread.ts": ["HISTORY_QUERY_MS"],
  "src/storage/history-store.ts": ["HISTORY_QUERIES_MAX"],
  "src/storage/write-queue.ts": ["HISTORY_QUEUES_MAX"],
  "src/http/events/event-feed.ts": ["EVENT_STREAMS_MAX", "EVENT_STREAMS_PER_TOKEN"],
  "src/http/list-pages.ts": ["LIST_PAGES_MAX", "LIST_PAGES_PER_TOKEN"],
  "src/http/table-pass.ts": ["PASS_READERS_MAX"],
  "src/notify/delivery-queue.ts": ["NOTIFY_QUEUE_MAX"],
};

const words = (text: string) => text.trim().split(/\s+/);

const REASONS: Readonly<Record<string, readonly string[]>> = {
  "the configuration alone fills it, which the administrator writes": words(`ORIGIN_FILE_BYTES_MAX PREFIX_SETS_MAX
    BASELINE_GROUPS_MAX PREFIXES_MAX HOSTGROUPS_MAX BGP_INSTANCE_MAX BAN_SECONDS_MAX
    COMMUNITIES_MAX SLOTS_PER_BAN ALLOWLIST_MAX SCRUB_SERVICES_MAX TOKENS_MAX NODES_MAX ZONES_MAX`),
  "only tokens without a tenant may fill it": words(
    "GROUP_WHITELIST_MAX FILTER_RULE_ORDERS_MAX MAINTENANCE_ORDERS_MAX HISTORY_LIST_STEP HISTORY_LIST_MAX",
  ),
  "it bounds one request, record or answer, not what several callers fill": words(`BODY_BYTES_MAX SHARED_INCIDENTS_MAX
    FILTER_RULE_DESTINATIONS_MAX FILTER_RULE_SECONDS_MAX FILTER_RULE_REASON_MAX SOURCE_BLOCK_SECONDS_MAX
    SOURCE_BLOCK_REASON_MAX BAN_REASON_MAX ORDERS_AT_ONCE_MAX MAINTENANCE_SECONDS_MAX MAINTENANCE_AHEAD_SECONDS_MAX
    MAINTENANCE_REASON_MAX ORDER_END_REASON_MAX SHARED_LINK_SECONDS_MIN SHARED_LINK_SECONDS_MAX SHARED_LINK_REASON_MAX PROTECTION_NOTE_MAX
    INCIDENT_NOTE_MAX EDGE_ORDER_BYTES_MAX LEVER_SECONDS_MIN LEVER_SECONDS_MAX LEVER_REASON_MAX
    ACME_TOKEN_CHARACTERS_MAX KEY_AUTHORIZATION_CHARACTERS_MAX ATTACKS_PAGE_MAX
    RANGE_MS_MAX BUCKETS_MAX
    STEP_SECONDS_MAX HISTORY_ROWS_MAX HISTORY_ATTACKS_MAX NOTIFY_TEXT_CHARACTERS_MAX`),
  "there is one for each zone, of which the configuration has no more; those of removed zones are replaced":
    words("LEVERS_MAX"),
  "each node has its own part of it": words(
    "REFUSED_BANS_SHOWN LIVE_CHALLENGES_MAX SLOT_LEASE_MS CHALLENGE_LIFE_MS SLOT_RETRY_SECONDS_MAX",
  ),
  "senders of packets fill it, not callers; the largest attacks have the room, or each attack the same": words(
    "ENDED_ATTACKS_KEPT ACTIVE_ATTACKS_MAX CARPETS_MAX INCIDENTS_KEPT",
  ),
  "an address fills it before its token is known: it is divided by address": words(
    "CONNECTIONS_MAX CONNECTIONS_PER_ADDRESS_MAX SIGN_INS_AT_ONCE_MAX SIGN_INS_PER_PEER",
  ),
  "it is the size of a step or a time of the service's own work": words(
    "HOST_IDLE_MS CLEARANCE_MASTERS_KEPT STOP_STEP_MS",
  ),
};

const stated = [...Object.values(SHARED), ...Object.values(REASONS)].flat();

describe("bounds", () => {
  test("each is shared, or has a reason not to be", () => {
    expect(stated.toSorted()).toEqual(Object.keys(limits).sort());
  });

  test.each(Object.keys(SHARED))("the file %s has the shares or the turns", (path) => {
    const text = readFileSync(join(ROOT, path), "utf8");
    expect(text).toMatch(/(access|"\.)\/(shares|fair-queue)\.ts/);
  });
});
