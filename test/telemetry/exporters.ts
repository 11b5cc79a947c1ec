/**
 * Programs of others that export what they see on an interface: softflowd, fprobe, pmacct's probes, and Open vSwitch in
 * user space. Each runs in a network namespace.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runCommand } from "../fixtures/run-command.ts";
import { eventually } from "../fixtures/service.ts";
import type { Undo } from "../fixtures/undo.ts";
import type { Namespace } from "../lab/namespaces.ts";

/** After which a packet has come out of libpcap's buffer. */
const CAPTURED_MS = 600;

const LOOPBACK = "127.0.0.1";

export interface Exporter {
  /** Resolves when it has sent what it has seen until now. */
  flush(): Promise<void>;
}

export interface ExporterPlace {
  readonly namespace: Namespace;
  /** The interface that it watches. */
  readonly device: string;
  /** Where it sends to; default: 127.0.0.1. */
  readonly collector?: string;
  readonly port: number;
  /** One packet in this number, where the kind samples. */
  readonly sampling: number;
  readonly undo: Undo;
}

export interface ExporterKind {
  readonly name: string;
  readonly programs: readonly string[];
  readonly isSflow: boolean;
  /** Whether it can be configured to sample. */
  readonly canSample: boolean;
  /** It loses most of a flood before it has seen it. */
  readonly isSlow?: boolean;
  /** Readers that take its records for something else. */
  readonly misreadBy?: readonly string[];
  start(place: ExporterPlace): Promise<Exporter>;
}

const softflowd = (version: string, text: string): ExporterKind => ({
  ...{ name: `softflowd, ${text}`, programs: ["softflowd", "softflowctl"], isSflow: false, canSample: true },
  async start({ namespace, device, collector = LOOPBACK, port, sampling, undo }) {
    const folder = undo.folder("softflowd");
    const files = ["-p", join(folder, "pid"), "-c", join(folder, "control")];
    const limits = [
      ...["-t", "expint=1", "-t", "maxlife=1"],
      "-m",
      "100000",
      "-B",
      String(16 << 20),
      ...(sampling > 1 ? ["-s", String(sampling)] : []),
    ];
    const to = ["-v", version, "-n", `${collector}:${port}`];
    const probe = new Probe(namespace, ["softflowd", "-d", "-i", device, ...files, ...limits, ...to], undo);
    await eventually(
      () => existsSync(join(folder, "control")),
      () => probe.complaint("softflowd"),
    );
    const flush = async () => {
      // Of libpcap's buffer and its own.
      await Bun.sleep(CAPTURED_MS);
      runCommand(["softflowctl", "-c", join(folder, "control"), "shutdown"]);
      await probe.exited;
    };
    return { flush };
  },
});

const fprobe: ExporterKind = {
  ...{ name: "fprobe, NetFlow v5", programs: ["fprobe"], isSflow: false, canSample: false, isSlow: true },
  async start({ namespace, device, collector = LOOPBACK, port, undo }) {
    const limits = ["-s", "1", "-g", "1", "-d", "1", "-e", "2", "-B", String(4 << 10)];
    // With its messages at its standard output it stays a child of ours.
    const log = ["-l", `2:${process.pid}`];
    const probe = new Probe(namespace, ["fprobe", "-i", device, ...limits, ...log, `${collector}:${port}`], undo);
    await eventually(
      () => probe.output.includes("collector #1"),
      () => probe.complaint("fprobe"),
    );
    const flush = async () => {
      await Bun.sleep(CAPTURED_MS);
      await probe.end("SIGTERM");
    };
    return { flush };
  },
};

const pmacctd = (plugin: "nfprobe" | "sfprobe", version: number, text: string): ExporterKind => ({
  ...{
    name: `pmacct ${plugin}, ${text}`,
    programs: ["pmacctd"],
    isSflow: plugin === "sfprobe",
    canSample: plugin === "sfprobe",
  },
  async start({ namespace, device, collector = LOOPBACK, port, sampling, undo }) {
    const folder = undo.folder("pmacctd");
    const config = join(folder, "conf");
    const aggregate = "src_host, dst_host, src_port, dst_port, proto, tos";
    const settings = {
      ...{ daemonize: "false", pcap_interface: device, plugins: plugin, aggregate, pidfile: join(folder, "pid") },
      ...{ [`${plugin}_receiver`]: `${collector}:${port}`, plugin_pipe_size: 10_240_000 },
      ...(plugin === "nfprobe"
        ? { nfprobe_version: version, nfprobe_timeouts: "expint=1:maxlife=1:general=1:udp=1:tcp=1" }
        : { sfprobe_agentip: "127.0.0.1", ...(sampling > 1 && { sampling_rate: sampling }) }),
    };
    writeFileSync(
      config,
      Object.entries(settings)
        .map(([key, value]) => `${key}: ${value}\n`)
        .join(""),
    );
    const probe = new Probe(namespace, ["pmacctd", "-f", config], undo);
    await eventually(
      () => namespace.run(["cat", "/proc/net/packet"]).trim().split("\n").length > 1,
      () => probe.complaint("pmacctd"),
    );
    return { flush: () => (plugin === "sfprobe" ? Bun.sleep(1500) : probe.end("SIGINT")) };
  },
});

const ovs = (table: "NetFlow" | "IPFIX" | "sFlow", text: string): ExporterKind => ({
  ...{ name: `Open vSwitch, ${text}`, programs: ["ovs-vswitchd", "ovsdb-server", "ovsdb-tool", "ovs-vsctl"] },
  ...{ isSflow: table === "sFlow", canSample: table === "sFlow" },
  // nfcapd 1.7.1 adds up several counters of one record; FastNetMon 1.2.4 finds none.
  misreadBy: table === "IPFIX" ? ["nfcapd", "FastNetMon"] : [],
  async start({ namespace, device, collector = LOOPBACK, port, sampling, undo }) {
    const folder = undo.folder("ovs");
    const socket = `unix:${folder}/db.sock`;
    const run = { OVS_RUNDIR: folder, OVS_LOGDIR: folder, OVS_DBDIR: folder, OVS_SYSCONFDIR: folder };
    const env = ["env", ...Object.entries(run).map(([name, value]) => `${name}=${value}`)];
    runCommand(["ovsdb-tool", "create", `${folder}/db`, "/usr/share/openvswitch/vswitch.ovsschema"]);
    const database = ["ovsdb-server", `${folder}/db`, `--remote=p${socket}`, `--unixctl=${folder}/db.ctl`];
    new Probe(namespace, [...env, ...database, "--no-chdir"], undo);
    await eventually(() => existsSync(`${folder}/db.sock`), "ovsdb-server did not start");
    const control = (...words: string[]) => runCommand(["ovs-vsctl", `--db=${socket}`, ...words]);
    await eventually(() => control("--no-wait", "init") === "", "ovsdb-server does not answer");
    const probe = new Probe(
      namespace,
      [...env, "ovs-vswitchd", socket, `--unixctl=${folder}/vs.ctl`, "--no-chdir"],
      undo,
    );
    const target = `targets="${collector}:${port}"`;
    const settings = {
      NetFlow: ["active_timeout=1"],
      // Without the second record of each packet, as it leaves.
      IPFIX: [
        `sampling=${sampling}`,
        "other_config:enable-output-sampling=false",
        "cache_active_timeout=1",
        "cache_max_flows=100000",
      ],
      sFlow: ["agent=lo", `sampling=${sampling}`, "polling=0", "header=128"],
    }[table];
    await eventually(
      () => existsSync(`${folder}/vs.ctl`),
      () => probe.complaint("ovs-vswitchd"),
    );
    control("add-br", "br0", "--", "set", "bridge", "br0", "datapath_type=netdev", "--", "add-port", "br0", device);
    control(
      "--",
      "--id=@e",
      "create",
      table,
      target,
      ...settings,
      "--",
      "set",
      "bridge",
      "br0",
      `${table.toLowerCase()}=@e`,
    );
    return { flush: () => Bun.sleep(table === "NetFlow" ? 6500 : table === "IPFIX" ? 5000 : 1500) };
  },
});

export const EXPORTERS: readonly ExporterKind[] = [
  softflowd("5", "NetFlow v5"),
  softflowd("9", "NetFlow v9"),
  softflowd("10", "IPFIX"),
  fprobe,
  pmacctd("nfprobe", 9, "NetFlow v9"),
  pmacctd("nfprobe", 10, "IPFIX"),
  pmacctd("sfprobe", 0, "sFlow"),
  ovs("NetFlow", "NetFlow v5"),
  ovs("IPFIX", "IPFIX"),
  ovs("sFlow", "sFlow"),
];

class Probe {
  readonly #child: Bun.Subprocess;
  readonly #log: string;

  constructor(namespace: Namespace, command: readonly string[], undo: Undo) {
    this.#log = join(undo.folder("probe"), "log");
    const output = { stdin: "ignore", stdout: Bun.file(this.#log), stderr: Bun.file(this.#log) } as const;
    this.#child = Bun.spawn(namespace.command(command), output);
    undo.add(() => this.end("SIGTERM"));
  }

  get exited(): Promise<number> {
    return this.#child.exited;
  }

  get output(): string {
    return existsSync(this.#log) ? readFileSync(this.#log, "utf8") : "";
  }

  complaint(name: string): string {
    return `${name} did not start: ${this.output.slice(-2000)}`;
  }

  /** It sends what it has before it ends. */
  async end(signal: NodeJS.Signals): Promise<void> {
    this.#child.kill(signal);
    const isOver = await Promise.race([this.#child.exited.then(() => true), Bun.sleep(4000).then(() => false)]);
    if (!isOver) this.#child.kill("SIGKILL");
    await this.#child.exited;
  }
}
