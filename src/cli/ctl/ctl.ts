/**
 * `floodwall ctl`: asks a running service and gives it orders, by the public interface alone. Tables for people, JSON for
 * programs.
 */
import { parseArgs } from "node:util";
import { messageOf } from "../../system/error-message.ts";
import { Api, accessOf, BadAccess, Refused, Unreachable } from "./api.ts";
import { BANNING } from "./banning.ts";
import { type CtlCall, type CtlCommand, type CtlOption, CtlUsage, type CtlWord } from "./command.ts";
import { completion, OWN } from "./completion.ts";
import { commandHelp, ctlHelp } from "./help.ts";
import { NOTIFYING } from "./notifying.ts";
import { ORDERING } from "./ordering.ts";
import { JSON_OPTION, READING } from "./reading.ts";
import { REPORTING } from "./reporting.ts";
import { REPORTS } from "./reports.ts";

export const COMMANDS: readonly CtlCommand[] = [
  ...[...READING, ...REPORTS, ...BANNING],
  ...[...ORDERING, ...NOTIFYING, ...REPORTING],
];

export const COMMON: readonly CtlOption[] = [
  JSON_OPTION,
  { name: "url", value: "URL", help: "of the service (default FLOODWALL_URL, else http://127.0.0.1:8080)" },
  {
    name: "token-file",
    value: "FILE",
    help: "file with the token (default FLOODWALL_TOKEN_FILE, else the token in FLOODWALL_TOKEN)",
  },
];

/** Done; refused by the service, for each order of several; wrong usage; no answer. */
export const EXIT = { done: 0, refused: 1, usage: 2, unreachable: 3 } as const;

interface CtlOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: CtlCall["clock"];
  readonly sleep: CtlCall["sleep"];
  readonly print: (line: string) => void;
  readonly complain: (line: string) => void;
}

/** Resolves with the exit code. */
export async function ctl(words: readonly string[], options: CtlOptions): Promise<number> {
  const { print, complain } = options;
  try {
    const [name, ...rest] = words;
    if (name === undefined) throw new CtlUsage("a command is missing");
    if (["help", "--help", "-h"].includes(name)) return printed(helpOf(rest[0]), print);
    if (name === "completion") return printed(completion(rest[0], COMMANDS, COMMON), print);
    return await run(wordOf(name, COMMANDS), rest, options);
  } catch (cause) {
    complain(`floodwall ctl: ${messageOf(cause)}`);
    if (cause instanceof CtlUsage || cause instanceof BadAccess) return EXIT.usage;
    if (cause instanceof Refused) return EXIT.refused;
    if (cause instanceof Unreachable) return EXIT.unreachable;
    throw cause;
  }
}

async function run(command: CtlCommand, words: readonly string[], given: CtlOptions): Promise<number> {
  const { env, clock, sleep, print, complain } = given;
  const { operands, options } = parse(command, words);
  if (options["help"] === true) return printed(commandHelp(command, COMMON), print);
  const [least, most] = command.count;
  if (operands.length < least) throw new CtlUsage(`${command.name} needs ${command.operands}`);
  if (operands.length > most) throw new CtlUsage(`${command.name} does not take ${operands[most]}`);
  const api = new Api(accessOf(options, env));
  let code: number = EXIT.done;
  for await (const item of command.run({ api, operands, options, env, clock, sleep })) {
    if (item instanceof Error) {
      complain(`floodwall ctl: ${item.message}`);
      code = EXIT.refused;
    } else print(options["json"] === true ? JSON.stringify(item.answer) : item.text);
  }
  return code;
}

function parse(command: CtlCommand, words: readonly string[]) {
  const known = [...command.options, ...COMMON].map(
    ({ name, value }) => [name, { type: value === null ? ("boolean" as const) : ("string" as const) }] as const,
  );
  const options = { ...Object.fromEntries(known), help: { type: "boolean" as const, short: "h" } };
  try {
    const { values, positionals } = parseArgs({ args: [...words], options, allowPositionals: true });
    return { operands: positionals, options: values as Record<string, string | boolean | undefined> };
  } catch (cause) {
    // The runtime adds how to write operands with a dash, which is seldom what was meant.
    const [why] = messageOf(cause).split(". To specify");
    throw new CtlUsage(`${why}; see floodwall ctl help ${command.name}`);
  }
}

function wordOf<Word extends CtlWord>(name: string, words: readonly Word[]): Word {
  const word = words.find((each) => each.name === name);
  if (word !== undefined) return word;
  throw new CtlUsage(`unknown command ${name}: one of ${words.map((each) => each.name).join(", ")}`);
}

function helpOf(name: string | undefined): string {
  const all: readonly CtlWord[] = [...COMMANDS, ...OWN];
  if (name === undefined) return ctlHelp(all, COMMON);
  const isOwn = OWN.some((word) => word.name === name);
  return commandHelp(wordOf(name, all), isOwn ? [] : COMMON);
}

function printed(text: string, print: (line: string) => void): number {
  print(text);
  return EXIT.done;
}
