/** The metrics of a scrub node's agent, in a registry of their own, since the agent is a separate process. */
import { Counter, collectDefaultMetrics, Gauge, Registry } from "prom-client";

/** Each result of a poll, and of a report. */
const POLL_RESULTS = ["document", "unchanged", "refused", "unreachable", "unusable", "bad_document"] as const;
const REPORT_RESULTS = ["stored", "refused", "unreachable", "unusable"] as const;
const AGENT_FAULTS = ["kernel", "document_file"] as const;

export interface ScrubAgentReading {
  readonly isDryRun: boolean;
  readonly isControllerUp: boolean;
  readonly bans: number;
  readonly virtualBans: number;
  readonly rules: number;
  readonly leftOutRules: number;
  readonly interfaces: readonly { readonly name: string; readonly state: "attached" | "failed" }[];
  readonly verdicts: Readonly<Record<string, { readonly packets: number; readonly bytes: number }>>;
}

export class ScrubAgentMetrics {
  readonly #registry = new Registry();
  readonly #dryRun: Gauge;
  readonly #controllerUp: Gauge;
  readonly #bans: Gauge<"state">;
  readonly #rules: Gauge;
  readonly #leftOut: Gauge;
  readonly #attached: Gauge<"interface">;
  readonly #packets: Counter<"verdict">;
  readonly #bytes: Counter<"verdict">;
  readonly #polls: Counter<"result">;
  readonly #reports: Counter<"result">;
  readonly #faults: Counter<"operation">;

  constructor(version: string) {
    collectDefaultMetrics({ register: this.#registry });
    const registers = [this.#registry];
    const gauge = <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
      new Gauge<Label>({ name, help, labelNames, registers });
    const counter = <Label extends string>(name: string, help: string, ...labelNames: Label[]) =>
      new Counter<Label>({ name, help, labelNames, registers });
    gauge("svc_build_info", "The running build.", "version").set({ version }, 1);
    this.#dryRun = gauge("svc_dry_run", "1 in dry run: this node drops nothing.");
    this.#controllerUp = gauge("svc_scrub_agent_controller_up", "1 if the service answered the last poll, else 0.");
    this.#bans = gauge("svc_scrub_agent_bans", "Bans of the last rule document that have not ended.", "state");
    this.#rules = gauge("svc_scrub_agent_rules", "Rules in the kernel.");
    this.#leftOut = gauge("svc_scrub_agent_rules_left_out", "Rules left out because the kernel maps are full.");
    this.#attached = gauge(
      "svc_scrub_agent_interface_attached",
      "1 if the filter is attached to the interface, else 0.",
      "interface",
    );
    this.#packets = counter("svc_scrub_agent_packets_total", "Packets by verdict.", "verdict");
    this.#bytes = counter("svc_scrub_agent_bytes_total", "Bytes of frames by verdict.", "verdict");
    this.#polls = counter("svc_scrub_agent_polls_total", "Polls of the service by result.", "result");
    this.#reports = counter("svc_scrub_agent_reports_total", "Reports to the service by result.", "result");
    this.#faults = counter(
      "svc_scrub_agent_faults_total",
      "Operations that the kernel or the disk refused.",
      "operation",
    );
    for (const result of POLL_RESULTS) this.#polls.inc({ result }, 0);
    for (const result of REPORT_RESULTS) this.#reports.inc({ result }, 0);
    for (const operation of AGENT_FAULTS) this.#faults.inc({ operation }, 0);
  }

  set(reading: ScrubAgentReading): void {
    this.#dryRun.set(reading.isDryRun ? 1 : 0);
    this.#controllerUp.set(reading.isControllerUp ? 1 : 0);
    this.#bans.set({ state: "real" }, reading.bans);
    this.#bans.set({ state: "virtual" }, reading.virtualBans);
    this.#rules.set(reading.rules);
    this.#leftOut.set(reading.leftOutRules);
    for (const { name, state } of reading.interfaces)
      this.#attached.set({ interface: name }, state === "attached" ? 1 : 0);
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

  failed(operation: (typeof AGENT_FAULTS)[number]): void {
    this.#faults.inc({ operation });
  }

  get contentType(): string {
    return this.#registry.contentType;
  }

  /** The text exposition format. */
  text(): Promise<string> {
    return this.#registry.metrics();
  }
}
