/**
 * Every bound of src is shared by those who fill it, or is here with the reason why it need not be: by its name, in whatever
 * file it stands, or by a folder whose tables no caller fills. A new bound fails this test until it is in one of these.
 */
import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { importsOf, isTest, ROOT, sourceFiles, withoutComments } from "../source-tree.ts";

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
  "src/storage/history-store.ts": ["HISTORY_QUERIES_MAX"],
  "src/storage/write-queue.ts": ["HISTORY_QUEUES_MAX"],
  "src/http/events/event-feed.ts": ["EVENT_STREAMS_MAX", "EVENT_STREAMS_PER_TOKEN"],
  "src/http/list-pages.ts": ["LIST_PAGES_MAX", "LIST_PAGES_PER_TOKEN"],
  "src/http/table-pass.ts": ["PASS_READERS_MAX"],
  "src/notify/delivery-queue.ts": ["NOTIFY_QUEUE_MAX"],
  "src/notify/target-queues.ts": [
    "NOTIFICATIONS_KEPT_MAX",
    "NOTIFICATIONS_KEPT_PER_TENANT",
    "NOTIFICATIONS_KEPT_OF_TENANTS",
  ],
  "src/notify/name-lookups.ts": ["LOOKUPS_MAX"],
  "src/divert/diversions.ts": ["DIVERSIONS_MAX"],
  "src/divert/hook-turns.ts": ["ASKED_AT_ONCE", "AT_ONCE_OF"],
};

/** Files whose callers take turns, each with one question at a time, or with a bound that is elsewhere. */
const TURNS = ["src/storage/sqlite/file-thread.ts", "src/http/server/request-turns.ts"];

const words = (text: string) => text.trim().split(/\s+/);

const REASONS: Readonly<Record<string, readonly string[]>> = {
  "the configuration alone fills it, which the administrator writes": words(`ORIGIN_FILE_BYTES_MAX PREFIX_SETS_MAX
    BASELINE_GROUPS_MAX PREFIXES_MAX HOSTGROUPS_MAX BGP_INSTANCE_MAX COMMUNITIES_MAX SLOTS_PER_BAN ALLOWLIST_MAX
    SCRUB_SERVICES_MAX TOKENS_MAX NODES_MAX ZONES_MAX BYTES_MAX`),
  "only tokens without a tenant may fill it": words(
    "GROUP_WHITELIST_MAX FILTER_RULE_ORDERS_MAX MAINTENANCE_ORDERS_MAX HISTORY_LIST_MAX",
  ),
  "it bounds one request, record or answer, not what several callers fill": words(`BODY_BYTES_MAX
    SHARED_INCIDENTS_MAX FILTER_RULE_DESTINATIONS_MAX ORDERS_AT_ONCE_MAX EDGE_ORDER_BYTES_MAX ATTACKS_PAGE_MAX BUCKETS_MAX
    HISTORY_ROWS_MAX HISTORY_ATTACKS_MAX HOSTS_PAGE_MAX DEFAULT_LIMIT DEFAULT_LIMIT DEFAULT_LIMIT PART_KEYS_MAX PAGES_MAX
    REPORTED_ATTACKS_MAX PROBLEMS_REPORTED_MAX DAYS_MAX MARGIN_MAX BRAIN_NAME_MAX KEPT_FIELDS
    PAGERDUTY_SUMMARY_MAX OPSGENIE_MESSAGE_MAX OPSGENIE_DESCRIPTION_MAX MESSAGE_BYTES_MAX ADDRESSES_MAX ADDRESSES_MAX
    FORMS_MAX HOSTGROUPS_NAMED_MAX NAME_MAX ITEMS_MAX ORDER_NEIGHBORS_MAX TARGETS_MAX MINUTES_MAX SERVICES_MAX
    ROUTES_LISTED_MAX MOVED_NAMED_MAX IDS_MAX NOTES_MAX TEXT_MAX SUGGEST_ROWS_MAX SUGGEST_HOSTS_MAX`),
  "there is one for each zone, of which the configuration has no more; those of removed zones are replaced":
    words("LEVERS_MAX"),
  "there is one for each tenant, or the same number": words(
    "HOST_SNAPSHOTS_MAX TENANT_TARGETS_PER_TENANT TENANT_TARGETS_MAX",
  ),
  "each node has its own part of it, and each node with a token of its own a place to wait":
    words(`LIVE_CHALLENGES_MAX EDGE_REPORTS_WAITING_MAX EDGE_REPORTS_WAITING_PER_NODE EDGE_REPORTS_AT_ONCE EDGE_SOURCES_PER_WINDOW
    EDGE_COUNT_MAX REFUSED_BANS_LISTED_MAX REFUSAL_REASONS_MAX SENT_DOCUMENTS_MAX FAULTS_MAX NODES_OF_BAN_MAX RULE_FORMS_MAX
    HOLDS_PER_TOKEN HOLDS_PER_NODE`),
  "senders of packets fill it, not callers; the largest attacks have the room, or each attack the same":
    words(`ENDED_ATTACKS_KEPT ACTIVE_ATTACKS_MAX CARPETS_MAX INCIDENTS_KEPT INCIDENT_MEMBERS_KEPT ATTACKS_MAX RULE_ORDERS_MAX
    TRAFFIC_ROWS_MAX MEASURED_EXPORTERS_MAX REPLACEMENTS_AT_ONCE`),
  "an address fills it before its token is known: it is divided by address, or the oldest is of no use any more": words(
    "CONNECTIONS_MAX CONNECTIONS_PER_ADDRESS_MAX SIGN_INS_AT_ONCE_MAX SIGN_INS_PER_PEER USED_ATTEMPTS_MAX",
  ),
  "nothing is lost over it, for whomever: it is made again, done later or joined, or read otherwise":
    words(`EVENT_QUEUE_BYTES EVENT_RING_BYTES EVENT_KEYS_MAX ZONE_DOCUMENT_BYTES_KEPT ANSWERS_KEPT MILDEST_MAX AT_ONCE
    EXACT_MAX JOINED_PROBLEMS_MAX ORDER_KINDS_MAX PROBLEMS_MAX LIMITER_KEYS_MAX LINES_AT_ONCE LINES_PER_SECOND
    ENDS_RECORDED_MAX LOGGED_MAX WAITING_SHOWN FAULTS_KEPT`),
  "another brain fills it with what was within the shares there; over it each brain has its own":
    words(`PENDING_MAX KEPT_MAX RENAMED_MAX ENTRIES_MAX MARKS_MAX ENDED_MAX ENDED_BLOCKS_MAX DONE_MESSAGES_AT_ONCE
    ALIASES_MAX`),
  "it is the size of a step, a file or a time of the service's own work": words(`CLEARANCE_MASTERS_KEPT BYTES_MAX
    FILE_BYTES_MAX FILE_BYTES_MAX JOURNAL_BYTES_KEPT SLICES_MAX FINE_TIER_KEPT DAMAGED_STATES_KEPT HISTORY_TRIES_MAX
    STATE_BATCH_MAX KEPT HOLDERS_MAX HISTORY_BATCH_MAX MEMBERS_AT_ONCE SOURCE_BLOCKS_PER_PIECE ATTACKS_AT_ONCE
    ROUNDS_AT_ONCE KEPT_MAX LARGE_MAX SEPARABLE_USERS_MAX RELAPSES_MAX PART_MAX NO_LIMIT`),
};

/** Folders whose tables no caller fills, and by whom they are filled. But for the first two they do not know callers. */
const FOLDERS: Readonly<Record<string, string>> = {
  config: "the administrator's file",
  cli: "a process of its own",
  "scrub/agent": "a process of its own, by documents of its brains",
  bgp: "routes of bans, which have shares, and routers",
  cluster: "other brains, within the shares there",
  dataplane: "rules of bans, blocks and protections, which have shares",
  detection: "senders of packets",
  "mitigation/rules": "packets of attacks; rules of bans, which have shares",
  telemetry: "exporters",
  traffic: "senders of packets",
  geo: "files of the administrator",
  prefixset: "files of the administrator",
  machine: "the machine",
  native: "constants of the addon",
  net: "no table",
  nodes: "nodes of the configuration",
  release: "the answer to an update check",
  schema: "values of files and requests",
  system: "the machine and files",
};

/** Not a number of things that are kept: a duration, or the length of one text. */
const ONE_VALUE = /_(MS|SECONDS|CHARACTERS|CHARS)(_MAX)?$|(REASON|NOTE|DETAIL|DEPTH)_MAX$|CHARACTERS_PER_MS$/;
const BOUND = /(^|_)(MAX|KEPT|LIMIT|MOST|WAITING|RING|AT_ONCE)(_|$)|_PER_|_QUEUE(S|_|$)/;
const CONSTANT = /\b(?:const|static|readonly)\s+#?([A-Z][A-Z0-9_]+)\b(?:: [^=;]+)? =/g;

const sources = sourceFiles("src").filter((file) => !isTest(file) && file.path.endsWith(".ts"));
const isIn = (path: string, folder: string) => path.startsWith(`src/${folder}/`);
const boundsOf = (text: string) =>
  [...withoutComments(text).matchAll(CONSTANT)]
    .map(([, name = ""]) => name)
    .filter((name) => BOUND.test(name) && !ONE_VALUE.test(name));

describe("bounds", () => {
  test("each is shared, or has a reason not to be", () => {
    const outside = sources.filter(({ path }) => !Object.keys(FOLDERS).some((folder) => isIn(path, folder)));
    const stated = [...Object.values(SHARED), ...Object.values(REASONS)].flat();
    expect(outside.flatMap(({ text }) => boundsOf(text)).toSorted()).toEqual(stated.toSorted());
  });

  test("one that moves, is private or is the member of a class is found", () => {
    const text = "const ROWS_MAX = 7;\nexport const A_PER_B: number = 1;\nclass C { static readonly #KEPT = 2; }";
    expect(boundsOf(text)).toEqual(["ROWS_MAX", "A_PER_B", "KEPT"]);
  });

  test("folders without a caller's table do not know callers", () => {
    const [, , ...folders] = Object.keys(FOLDERS);
    const knowing = sources.filter(
      (file) =>
        folders.some((folder) => isIn(file.path, folder)) &&
        importsOf(file).some((path) => /^src\/(access|http)\//.test(path)),
    );
    expect(knowing.map(({ path }) => path)).toEqual([]);
  });

  test.each([...Object.keys(SHARED), ...TURNS])("the file %s has the shares or the turns", (path) => {
    const text = readFileSync(join(ROOT, path), "utf8");
    expect(text).toMatch(/(access|"\.)\/(shares|fair-queue)\.ts/);
  });
});
