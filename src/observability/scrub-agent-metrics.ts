/** The metrics of a scrub node's agent, in a registry of their own, since the agent is a separate process. */
import { Registry } from "prom-client";
import { exposition } from "./exposition.ts";
import { FileMetrics } from "./file-metrics.ts";
import { FilterRuleCounts, type FilterRuleReading } from "./filter-rule-metrics.ts";
import { ForwardMetrics, type ForwardReading } from "./forward-metrics.ts";
import { MetricGroup } from "./metric-group.ts";
import { PrefixSetMetrics } from "./prefix-set-metrics.ts";
import { collectProcessMetrics } from "./process-metrics.ts";

/** Each result of a poll, and of a report. */
const POLL_RESULTS = [
  "document",
  "unchanged",
  "refused",
  "unreachable",
  "unusable",
  "bad_document",
  "out_of_bounds",
] as const;
const REPORT_RESULTS = ["stored", "refused", "unreachable", "unusable"] as const;
const REFUSALS = ["unreadable", "out_of_bounds", "no_room"] as const;
const AGENT_FAULTS = ["kernel", "document_file"] as const;

interface ScrubAgentReading {
  readonly isDryRun: boolean;
  readonly isControllerUp: boolean;
  readonly bans: number;
  readonly virtualBans: number;
  readonly rules: number;
  readonly leftOutRules: number;
  readonly refusedBans: readonly { readonly cause: (typeof REFUSALS)[number] }[];
  readonly interfaces: readonly { readonly name: string; readonly state: "attached" | "failed" }[];
  readonly verdicts: Readonly<Record<string, { readonly packets: number; readonly bytes: number }>>;
  readonly forward: ForwardReading | null;
  /** Destinations and attacked addresses that this node's own rules are not tried for, since there is no room. */
  readonly localLeftOut: number;
  /** Counts of this node's own rules, by name. */
  readonly localCounts: ReadonlyMap<string, Omit<FilterRuleReading, "name">>;
}

export class ScrubAgentMetrics extends MetricGroup {
  readonly #dryRun = this.gauge("svc_dry_run", "1 in dry run: this node drops nothing.");
  readonly #controllerUp = this.gauge(
    "svc_scrub_agent_controller_up",
    "1 if the service answered the last poll, and so did each other brain, else 0.",
  );
  readonly #bans = this.gauge("svc_scrub_agent_bans", "Bans of the last rule document that have not ended.", "state");
  readonly #rules = this.gauge("svc_scrub_agent_rules", "Rules in the kernel.");
  readonly #leftOut = this.gauge(
    "svc_scrub_agent_rules_left_out",
    "Rules of bans for which there is no room in the kernel.",
  );
  readonly #refused = this.gauge(
    "svc_scrub_agent_bans_refused",
    "Bans of the last rule document that this node refuses; the others are in force.",
    "cause",
  );
  readonly #refusals = this.counterOf(
    "svc_scrub_agent_ban_refusals_total",
    "Bans that this node began to refuse.",
    "cause",
    REFUSALS,
  );
  readonly #localLeftOut = this.gauge(
    "svc_scrub_agent_filter_rules_left_out",
    "Destinations and attacked addresses that filter_rules of this node are not tried for, since there was no room.",
  );
  readonly #attached = this.gauge(
    "svc_scrub_agent_interface_attached",
    "1 if the filter is attached to the interface, else 0.",
    "interface",
  );
  readonly #packets = this.counter("svc_scrub_agent_packets_total", "Packets by verdict.", "verdict");
  readonly #bytes = this.counter("svc_scrub_agent_bytes_total", "Bytes of frames by verdict.", "verdict");
  readonly #polls = this.counterOf(
    "svc_scrub_agent_polls_total",
    "Polls of the service by result.",
    "result",
    POLL_RESULTS,
  );
  readonly #reports = this.counterOf(
    "svc_scrub_agent_reports_total",
    "Reports to the service by result.",
    "result",
    REPORT_RESULTS,
  );
  readonly #faults = this.counterOf(
    "svc_scrub_agent_faults_total",
    "Operations that the kernel or the disk refused.",
    "operation",
    AGENT_FAULTS,
  );

  constructor(version: string) {
    super(new Registry());
    this.gauge("svc_build_info", "The running build.", "version").set({ version }, 1);
  }

  readonly #forward = new ForwardMetrics(this.registry, "svc_scrub_agent");
  readonly #local = new FilterRuleCounts(this.registry, "svc_scrub_agent_filter_rule");
  readonly prefixSets = new PrefixSetMetrics(this.registry);
  readonly files = new FileMetrics(this.registry);
  readonly #readings: (() => void)[] = [];

  /** Those of the process too: of a registry that is the process's own. */
  collectProcess(): void {
    collectProcessMetrics(this.registry);
  }

  /** Runs `read` before each scrape. */
  beforeScrape(read: () => void): void {
    this.#readings.push(read);
  }

  set(reading: ScrubAgentReading): void {
    this.#dryRun.set(reading.isDryRun ? 1 : 0);
    this.#controllerUp.set(reading.isControllerUp ? 1 : 0);
    this.#bans.set({ state: "real" }, reading.bans);
    this.#bans.set({ state: "virtual" }, reading.virtualBans);
    this.#rules.set(reading.rules);
    this.#leftOut.set(reading.leftOutRules);
    for (const cause of REFUSALS) {
      this.#refused.set({ cause }, reading.refusedBans.filter((ban) => ban.cause === cause).length);
    }
    this.#localLeftOut.set(reading.localLeftOut);
    this.#local.set([...reading.localCounts].map(([name, counts]) => ({ name, ...counts })));
    for (const { name, state } of reading.interfaces)
      this.#attached.set({ interface: name }, state === "attached" ? 1 : 0);
    this.#forward.set(reading.forward);
    this.#packets.reset();
    this.#bytes.reset();
    for (const [verdict, { packets, bytes }] of Object.entries(reading.verdicts)) {
      this.#packets.inc({ verdict }, packets);
      this.#bytes.inc({ verdict }, bytes);
    }
  }

  polled(result: (typeof POLL_RESULTS)[number]): void {
    this.#polls.inc({ result });
  }

  reported(result: (typeof REPORT_RESULTS)[number]): void {
    this.#reports.inc({ result });
  }

  refusedBan(cause: (typeof REFUSALS)[number]): void {
    this.#refusals.inc({ cause });
  }

  failed(operation: (typeof AGENT_FAULTS)[number]): void {
    this.#faults.inc({ operation });
  }

  get contentType(): string {
    return this.registry.contentType;
  }

  /** The text exposition format. Not while another one is written. */
  text(): Promise<string> {
    for (const read of this.#readings) read();
    return exposition(this.registry);
  }
}
