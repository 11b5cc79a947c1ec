/** The commands of `floodwall`: what help, completion and the message about an unknown one say of each. */

interface Command {
  readonly name: string;
  /** The operands after the name in the usage; empty: none. */
  readonly operands: string;
  readonly summary: string;
  /** Each with its placeholder and meaning. */
  readonly options: readonly (readonly [option: string, meaning: string])[];
  readonly example: string;
}

export const DEFAULT_CONFIG = "/etc/floodwall/floodwall.yaml";
export const DEFAULT_SCRUB_CONFIG = "/etc/floodwall/scrub.yaml";

export const COMMANDS: readonly Command[] = [
  {
    name: "serve",
    operands: "",
    summary: "run the service; SIGHUP reads the configuration again, SIGTERM ends it",
    options: [["--config FILE", `the configuration (default ${DEFAULT_CONFIG})`]],
    example: "floodwall serve --config ./floodwall.yaml",
  },
  {
    name: "scrub",
    operands: "",
    summary: "run the agent of a scrub node",
    options: [["--config FILE", `the configuration (default ${DEFAULT_SCRUB_CONFIG})`]],
    example: "floodwall scrub --config ./scrub.yaml",
  },
  {
    name: "check",
    operands: "FILE",
    summary:
      "every error of a configuration with its file and line, then warnings; also of a scrub node, or a zones file alone",
    options: [
      ["--config FILE", "the same as FILE"],
      ["--here", "then what this machine has and lacks for it, with the remedies; changes nothing, best as root"],
    ],
    example: `floodwall check ${DEFAULT_CONFIG} --here`,
  },
  {
    name: "schema",
    operands: "[customer]",
    summary: "the JSON Schema of the configuration, or of a customer's file that it includes, for editors",
    options: [],
    example: "floodwall schema > floodwall.schema.json",
  },
  {
    name: "dataplane",
    operands: "status",
    summary: "what XDP drops on this machine, whether or not a service runs",
    options: [
      ["--config FILE", "of either role; only dataplane.pin_path is taken from it"],
      ["--json", "as one JSON document"],
    ],
    example: "floodwall dataplane status --json",
  },
  {
    name: "telemetry",
    operands: "",
    summary:
      "listens for sFlow, NetFlow and IPFIX, and prints what is understood of each exporter and its configuration",
    options: [
      ["--listen ADDRESS:PORT", "may be given several times (default: ports 6343, 2055 and 4739)"],
      ["--seconds N", "how long (default 60)"],
      ["--json", "as one JSON document"],
    ],
    example: "floodwall telemetry --listen 0.0.0.0:2055 --seconds 300",
  },
  {
    name: "replay",
    operands: "CAPTURE",
    summary: "what would have happened, from a capture file",
    options: [
      ["--config FILE", `the configuration (default ${DEFAULT_CONFIG})`],
      ["--suggest", "thresholds and a baseline for normal traffic like this, and the false alarms of each choice"],
      ["--seed N", "chooses other packets where not all are sampled (default 0, as the service)"],
      ["--json", "an event each as in the webhook, then a summary; with --suggest one document"],
    ],
    example: "floodwall replay monday.pcap --suggest",
  },
  {
    name: "suggest",
    operands: "",
    summary: "thresholds by hostgroup from the history of a running service, as lines for the configuration",
    options: [
      ["--days N", "of the history, 7 to 31 (default 28)"],
      ["--margin N", "over what was seen, 1 to 100 (default 2)"],
      ["--json", "as one JSON document; the address and the token as with ctl"],
    ],
    example: "floodwall suggest --margin 3 > thresholds.yaml",
  },
  {
    name: "ctl",
    operands: "COMMAND ...",
    summary: "asks a running service and gives it orders: see floodwall ctl help",
    options: [],
    example: "floodwall ctl attacks",
  },
  { name: "version", operands: "", summary: "the version of this program", options: [], example: "floodwall version" },
  {
    name: "help",
    operands: "[COMMAND]",
    summary: "the commands, or the options of one",
    options: [],
    example: "floodwall help replay",
  },
];

const EXITS = `exit codes: 0 done; 1 not done, the reason is on standard error; 2 wrong usage;
  3 the capture is damaged: what came before that is printed;
  of dataplane status 0 healthy, 3 no program on an interface, 4 nothing is there, 5 of another version`;

const usageOf = ({ name, operands }: Command) => `floodwall ${name}${operands === "" ? "" : ` ${operands}`}`;

/** All commands. */
export function help(): string {
  const rows = COMMANDS.map((command) => [usageOf(command), command.summary] as const);
  return ["usage:", ...columns(rows), "options of a command: floodwall help COMMAND", EXITS].join("\n");
}

/** null: there is no such command. */
export function helpOf(name: string): string | null {
  const command = COMMANDS.find((each) => each.name === name);
  if (command === undefined) return null;
  const options = command.options.length === 0 ? [] : ["", ...columns(command.options)];
  return [`usage: ${usageOf(command)}`, `  ${command.summary}`, ...options, "", `example: ${command.example}`].join(
    "\n",
  );
}

export function columns(rows: readonly (readonly [string, string])[]): string[] {
  const width = Math.max(...rows.map(([left]) => left.length));
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`);
}
