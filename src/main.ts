#!/usr/bin/env bun
/** The command line: which role the process takes. */
import { parseArgs } from "node:util";
import { COMMANDS, DEFAULT_CONFIG, DEFAULT_SCRUB_CONFIG, help, helpOf } from "./cli/commands.ts";
import { ctl } from "./cli/ctl/ctl.ts";
import { systemClock } from "./system/clock.ts";
import { environmentNow } from "./system/environment.ts";
import { messageOf } from "./system/error-message.ts";
import { systemTimers } from "./system/timers.ts";
import { VERSION } from "./version.ts";

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
  if (first === "suggest") return asked(argv);
  if (first === "--version") return shown(`floodwall ${VERSION}`);
  if (first === "help") return shown(helpFor(words));
  const {
    role,
    operands,
    config,
    json,
    suggest: isSuggesting,
    here: isHere,
    help: isHelpWanted,
    listen,
    seconds,
    seed,
  } = parse(argv);
  if (isHelpWanted) return shown(helpFor(role === undefined ? [] : [role]));
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
  // Each is loaded for its own role: what the service loads takes longer than all that the others do.
  switch (role) {
    case "serve":
      expectOperands(operands, []);
      return (await import("./cli/serve.ts")).serve(config ?? DEFAULT_CONFIG);
    case "scrub":
      expectOperands(operands, []);
      return (await import("./cli/scrub.ts")).scrub(config ?? DEFAULT_SCRUB_CONFIG);
    case "dataplane":
      if (operands[0] !== "status") throw new UsageError("dataplane knows one command, status");
      expectOperands(operands, ["status"]);
      return (await import("./cli/dataplane-status.ts")).dataplaneStatus({
        configPath: config ?? null,
        format: json ? "json" : "text",
        print: console.log,
      });
    case "check":
      return (await import("./cli/check.ts")).check(checkedFile(operands, config), isHere);
    case "telemetry":
      expectOperands(operands, []);
      return (await import("./cli/telemetry.ts")).telemetry({
        listen,
        seconds: secondsOf(seconds ?? "60"),
        format: json ? "json" : "text",
        print: console.log,
        progress: console.error,
      });
    case "replay":
      return (await import("./cli/replay.ts")).replay({
        capture: expectOperands(operands, ["CAPTURE"]),
        configPath: config ?? DEFAULT_CONFIG,
        format: json ? "json" : "text",
        isSuggesting,
        seed: seedOf(seed ?? "0"),
        print: console.log,
      });
    case "schema": {
      const [of] = operands;
      if (of !== undefined && of !== "customer") throw new UsageError(`schema knows customer, not ${of}`);
      expectOperands(operands, of === undefined ? [] : ["customer"]);
      return shown((await import("./cli/schema.ts")).schema(of ?? "configuration"));
    }
    case "version":
      expectOperands(operands, []);
      return shown(`floodwall ${VERSION}`);
    default:
      throw new UsageError(role === undefined ? "a command is missing" : unknownCommand(role));
  }
}

function helpFor([name]: readonly string[]): string {
  if (name === undefined) return help();
  const text = helpOf(name);
  if (text === null) throw new UsageError(unknownCommand(name));
  return text;
}

function unknownCommand(name: string): string {
  return `unknown command ${name}: one of ${COMMANDS.map((command) => command.name).join(", ")}`;
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

/** As the operand, or as the other commands take it. */
function checkedFile(operands: readonly string[], config: string | undefined): string {
  if (config === undefined) return expectOperands(operands, ["FILE"]);
  if (operands.length > 0) throw new UsageError("check takes FILE or --config FILE, not both");
  return config;
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
