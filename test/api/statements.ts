/**
 * What the interface says: each statement by the words that the names of its tests begin with.
 */

export const STATEMENTS: ReadonlyMap<string, readonly string[]> = new Map([
  rows(
    "2.1",
    "dry_run, uptime_seconds, version, update_available, latest_version, role, unscoped, networks, active_attacks, thresholds",
    "hostgroups, bgp, scrubbing, notify, nodes_total, tenant-scoped tokens",
  ),
  rows(
    "2.2",
    "scope, scope group, target, group, tenant, direction, metric, rate, threshold, rates, active, ban_state, method, route, flowspec",
    "dry_run, started_at, ended_at, sample, classification, reason",
  ),
  rows("2.3", "pps, tcp_pps, udp_pps, icmp_pps, tcp_syn_pps, frag_pps"),
  rows(
    "2.4",
    "sample has top_sources, sample has top_src_ports, sample has top_dst_ports, sample has protocols, sample has flows",
    "sample has total_packets, classification has type, classification has confidence, classification has the parts",
    "reason has threshold_source, reason has threshold_source baseline, reason has warming_up, reason has the shares",
  ),
  rows("2.5", "target, group, rates, rates_out, in_attack, baseline, baseline and baseline_out are the learned"),
  rows(
    "2.6",
    "target, prefix, metric, rate, threshold, next_hop, community, local_pref, node, route, state, dry_run, manual",
    "started_at, expires_at, withdrawn_at, reason, method, flowspec, escalation, escalation_step",
  ),
  rows(
    "2.7",
    "available, event_time, action, result, operator, role, tenant, target, target_type, reason, source, ban_state, dry_run",
  ),
  rows("2.8", "source and victim, created_at and expires_at, dry_run, reason, there is no other field"),
  rows(
    "2.9",
    "version is 1, a ban has target, it lists every active diverted victim, flowspec, dry_run marks, expires_at",
    "the same content is the same bytes",
  ),
  rows("2.10", "the report, the inventory"),
  rows(
    "2.11",
    "the content depends on the node's placement scope, version is 1, name, origins, tls, policy, acme_directory",
    "challenge_override, clearance_keys, there are no other fields",
  ),
  rows(
    "2.12",
    "the edge report is stored and returned by the inventory, the edge report keeps the keys that nobody knows",
    "the edge report that came last counts",
  ),
  rows(
    "2.13",
    "the edge inventory has nodes_total, the edge inventory has alive, the edge inventory names the tokens",
    "the edge inventory has a node's hostgroups and zones_placed always, the edge inventory has unbound_agent_tokens",
    "the edge inventory never holds a secret, the edge inventory forgets reports",
  ),
  rows(
    "2.14",
    "the document has nodes_alive, the document has zones_truncated and certs_truncated",
    "a row of a zone without a reporting node, a row has mode and file_challenge, a row has challenge as",
    "a row has rps and counters, a row counts a node as long as it is alive, a row leaves out claims, a row has watch_only",
    "a row has challenge_active, a row has override, a row has would_be with, a row is partial, a row has certs",
    "a row has placement, a row has h3, a row of a lever on a zone that the file has no more",
  ),
  rows(
    "2.15",
    "History is, History has window_seconds, History has node only, History counts windows once",
    "History takes a node's clock, History leaves out claims, Sources are, Sources echo the state, Events are",
  ),
  rows("2.16", "slot request, challenge publication, lever response"),
  rows("3.1", "from none to active, from none to rejected"),
  rows("3.2", "an attack that ends moves"),
  rows(
    "3.3",
    "from none to live, from live to live, from live to removed by its TTL, from live to removed by an install failure",
    "from live to removed when its TTL is reached, a live block is in the kernel, a refresh gives the kernel",
    "an unblock takes the pair out of the kernel, blocks survive, in dry run, a reload removes",
  ),
  rows("3.4", "alive, only agent tokens stamp presence, a node never polled"),
  rows("3.5", "following file, override in force"),
  rows(
    "4",
    "rule 1, rule 2, rule 3, GET /api/v1/status, GET /api/v1/attacks, GET /api/v1/attacks/{id}, GET /api/v1/hosts",
    "GET /api/v1/hosts with parameters, GET /api/v1/bans, GET /api/v1/traffic, POST /api/v1/config/reload",
    "GET /api/v1/openapi.json, GET /metrics, GET /healthz, HEAD",
  ),
  rows("4.1", "tenant-scoped tokens see only their own rows, a tenant's traffic, GET /api/v1/audit"),
  rows(
    "4.2",
    "ban returns, ban in dry run, ban of an address that is banned, ban of 203.0.113.53, ban of 198.51.100.1, ban over the cap",
    "ban of the invalid ip, unban returns, unban without, unban of an invalid ip",
  ),
  rows("4.3", "a reload reads, a file that does not validate, keys that need a restart"),
  rows(
    "4.4",
    "bad input of a block, bad input of an unblock, bad input is what is no JSON, bad input is no ttl_seconds",
    "unblock ignores ttl_seconds, unblock without a live block, audit: a block, audit: an unblock, audit: a refusal",
    "403 for a victim, 403 comes before, 403 for the role of node, 409 for the ninth victim, 409 for more pairs",
    "409 for a data plane that is absent, 409 for a data plane that is disabled, GET /api/v1/dataplane/sources",
    '409 for {"victim":"203.0.113.53"}: victim is in the protected whitelist',
    '409 for {"victim":"192.0.2.1"}: victim is outside configured networks',
    '409 for {"source":"198.51.100.53"}: source is in the data plane allowlist',
    '409 for {"source":"203.0.113.9"}: source is inside the protected networks',
  ),
  rows(
    "4.5",
    "GET /api/v1/dataplane/rules, a token bound to a node, a reload ends a parked poll, only agent tokens stamp presence",
    "POST /api/v1/dataplane/nodes/{name}/report, GET /api/v1/dataplane/nodes, scrub polls have the two caps",
  ),
  rows(
    "4.6",
    "GET /api/v1/edge/zones, binding rules are those of the scrub poll, a reload ends a parked poll, concurrency cap",
    "{release: true}, only the slot's holder may publish, a live challenge is never overwritten",
    "a node may hold 16 live challenges, both calls accept only zones, ACME calls: bad input",
    "POST /api/v1/edge/nodes/{name}/report, GET /api/v1/edge/nodes, GET /api/v1/edge/zones/status, GET /api/v1/edge/events",
    "GET /api/v1/edge/history, GET /api/v1/edge/history/sources",
    "lever fields, lever refusals, a tenant-scoped operator, setting and clearing are audited",
  ),
  [
    "5",
    [
      "5.1",
      "5.2",
      "5.3",
      "5.4",
      "5.5",
      "5.6",
      "5.7",
      "5.8",
      "5, roles and tenants:",
      "5 ACME is an agent's alone",
      "5 open without a token",
    ],
  ],
  rows(
    "6",
    "an event of kind version, an event of kind dry_run, an event of kind document_rendered, an event of kind h3_state",
    "an event of kind generation_installed and generation_refused, an event of kind terminator_alive",
    "an event of kind cert_issued, an event of kind challenge_started and challenge_ended, an event of kind clock_skew",
    "an event of kind report_truncated, an event of kind node_lost and node_alive",
    "rules: the first report after the start is a silent baseline, rules: presence is baselined at the first poll",
    "rules: a node that is down across a start, rules: nothing of the answer waits for them",
  ),
  rows("7", "304, 400, 401, 403, 404, 409, 413, 415, 429, 502, 503"),
  rows(
    "8",
    "ended attacks returned, ban TTL, active-ban cap, source-block ttl_seconds, victims per source, dynamic rules, history range, history step, request body, page of hosts",
    "zones poll hold, parked zone polls, challenge fan-out, lever ttl_seconds, lever reason, clearance key validity",
    "edge stale_after_seconds",
    "listener default, report body, history sources rows, events rows, would-be sources per node window",
  ),
]);

type Section = readonly [section: string, statements: readonly string[]];

/** @param names separated by commas; long lists in several parts. */
function rows(section: string, ...names: readonly string[]): Section {
  return [section, names.flatMap((part) => part.split(", ")).map((name) => `${section} ${name}`)];
}
