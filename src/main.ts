#!/usr/bin/env bun
/** The command line: which role the process takes. */
import { parseArgs } from "node:util";
import { check } from "./cli/check.ts";
import { ctl } from "./cli/ctl/ctl.ts";
import { dataplaneStatus } from "./cli/dataplane-status.ts";
import { replay } from "./cli/replay.ts";
import { scrub } from "./cli/scrub.ts";
import { serve } from "./cli/serve.ts";
import { telemetry } from "./cli/telemetry.ts";
import { systemClock } from "./system/clock.ts";
import { environmentNow } from "./system/environment.ts";
import { messageOf } from "./system/error-message.ts";
import { systemTimers } from "./system/timers.ts";
import { VERSION } from "./version.ts";

const DEFAULT_CONFIG = "/etc/floodwall/floodwall.yaml";
const DEFAULT_SCRUB_CONFIG = "/etc/floodwall/scrub.yaml";
const USAGE = `usage:
  floodwall serve [--config FILE]            run the service (default ${DEFAULT_CONFIG})
  floodwall scrub [--config FILE]            run the agent of a scrub node (default ${DEFAULT_SCRUB_CONFIG})
  floodwall check FILE                       every error of a configuration with its line, then warnings
    --here      then what this machine has and lacks for it, with the remedies; changes nothing, best as root
  floodwall dataplane status [--config FILE] what XDP drops on this machine, whether or not a service runs; of the
    --json                                   configuration (of either role) only dataplane.pin_path is taken
  floodwall telemetry                        listens for sFlow, NetFlow and IPFIX, and prints what is understood of each
    --listen ADDRESS:PORT                    exporter and the lines of the configuration for it; may be given several
    --seconds N                              times (default: ports 6343, 2055 and 4739), for N seconds (default 60)
    --json                                   as one JSON document
  floodwall replay CAPTURE [--config FILE]   what would have happened, from a capture file
    --suggest   thresholds and a baseline for normal traffic like this, and the false alarms of each choice
    --seed N    chooses other packets where not all are sampled (default 0, as the service)
    --json      as JSON Lines: an event each as in the webhook, with the rows of the API, then a summary;
                with --suggest one JSON document
  floodwall ctl COMMAND ...                  asks a running service and gives it orders: see floodwall ctl help
  floodwall version
  floodwall help
exit codes: 0 done; 1 not done, the reason is on standard error; 2 wrong usage;
  3 the capture is damaged: what came before that is printed;
  of dataplane status 0 healthy, 3 no program on an interface, 4 nothing is there, 5 of another version`;

/** The command line cannot be obeyed. */
class UsageError extends Error {}

// Not by running out of work: a timer that someone left behind must not keep a stopped service alive.
process.exit(await main(Bun.argv.slice(2)));

async function main(argv: readonly string[]): Promise<number> {
  try {
    return await run(argv);
  } catch (cause) {
    if (cause instanceof UsageError) {
      console.error(`floodwall: ${cause.message}; see floodwall help`);
      return 2;
    }
    throw cause;
  }
}

async function run(argv: readonly string[]): Promise<number> {
  const [first, ...words] = argv;
  if (first === "ctl") return asked(words);
  if (first === "help" || first === "--version") return shown(first === "help" ? USAGE : `floodwall ${VERSION}`);
  const {
    role,
    operands,
    config,
    json,
    suggest: isSuggesting,
    here: isHere,
    help,
    listen,
    seconds,
    seed,
  } = parse(argv);
  if (help) return shown(USAGE);
  if (json && role !== "replay" && role !== "dataplane" && role !== "telemetry") {
    throw new UsageError("--json goes with replay, telemetry and dataplane status alone");
  }
  if ((listen.length > 0 || seconds !== undefined) && role !== "telemetry") {
    throw new UsageError("--listen and --seconds go with telemetry alone");
  }
  if (isSuggesting && role !== "replay") throw new UsageError("--suggest goes with replay alone");
  if (seed !== undefined && (role !== "replay" || isSuggesting)) {
    throw new UsageError("--seed goes with replay alone, without --suggest");
  }
  if (isHere && role !== "check") throw new UsageError("--here goes with check alone");
  switch (role) {
    case "serve":
      expectOperands(operands, []);
      return serve(config ?? DEFAULT_CONFIG);
    case "scrub":
      expectOperands(operands, []);
      return scrub(config ?? DEFAULT_SCRUB_CONFIG);
    case "dataplane":
      if (operands[0] !== "status") throw new UsageError("dataplane knows one command, status");
      expectOperands(operands, ["status"]);
      return dataplaneStatus({ configPath: config ?? null, format: json ? "json" : "text", print: console.log });
    case "check":
      return check(expectOperands(operands, ["FILE"]), isHere);
    case "telemetry":
      expectOperands(operands, []);
      return telemetry({
        listen,
        seconds: secondsOf(seconds ?? "60"),
        format: json ? "json" : "text",
        print: console.log,
        progress: console.error,
      });
    case "replay":
      return replay({
        capture: expectOperands(operands, ["CAPTURE"]),
        configPath: config ?? DEFAULT_CONFIG,
        format: json ? "json" : "text",
        isSuggesting,
        seed: seedOf(seed ?? "0"),
        print: console.log,
      });
    case "version":
      expectOperands(operands, []);
      return shown(`floodwall ${VERSION}`);
    default:
      throw new UsageError(role === undefined ? "a command is missing" : `unknown command ${role}`);
  }
}

function asked(words: readonly string[]): Promise<number> {
  const sleep = (ms: number) => new Promise<void>((resolve) => systemTimers.after(ms, resolve));
  const io = { env: environmentNow(), clock: systemClock, sleep };
  return ctl(words, { ...io, print: console.log, complain: console.error });
}

function shown(text: string): number {
  console.log(text);
  return 0;
}

function parse(argv: readonly string[]) {
  try {
    const options = {
      config: { type: "string" },
      json: { type: "boolean", default: false },
      suggest: { type: "boolean", default: false },
      here: { type: "boolean", default: false },
      listen: { type: "string", multiple: true, default: [] as string[] },
      seconds: { type: "string" },
      seed: { type: "string" },
      help: { type: "boolean", short: "h", default: false },
    } as const;
    const { values, positionals } = parseArgs({ args: [...argv], options, allowPositionals: true });
    const [role, ...operands] = positionals;
    return { role, operands, ...values };
  } catch (cause) {
    throw new UsageError(messageOf(cause));
  }
}

function secondsOf(text: string): number {
  const seconds = Number(text);
  if (/^\d{1,5}$/.test(text) && seconds > 0) return seconds;
  throw new UsageError(`--seconds ${text}: write a number of seconds from 1 to 99999`);
}

function seedOf(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new UsageError(`--seed ${text}: write a whole number from 0 to 999999999`);
}

/** Returns the first operand, or the empty string where none is expected. */
function expectOperands(operands: readonly string[], names: readonly string[]): string {
  if (operands.length < names.length) throw new UsageError(`${names[operands.length]} is missing`);
  if (operands.length > names.length) throw new UsageError(`unexpected ${operands[names.length]}`);
  return operands[0] ?? "";
}
