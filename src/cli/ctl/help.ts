/** The output of `floodwall ctl help`, and the manual page: both from the commands. */
import { columns } from "../commands.ts";
import type { CtlOption, CtlWord } from "./command.ts";

const usageOf = ({ name, operands }: CtlWord) => `floodwall ctl ${name}${operands === "" ? "" : ` ${operands}`}`;
const wordsOf = ({ name, value }: CtlOption) => `--${name}${value === null ? "" : ` ${value}`}`;

const EXITS = `exit codes: 0 done; 1 the service refused it, the reason is on standard error; 2 wrong usage; 3 no answer, so
  that whether an order was carried out is not known`;

export function ctlHelp(commands: readonly CtlWord[], common: readonly CtlOption[]): string {
  const rows = commands.map(({ name, summary }) => [name, summary] as const);
  return ["usage: floodwall ctl COMMAND ...", "", ...columns(rows), "", ...optionLines(common), "", EXITS].join("\n");
}

export function commandHelp(command: CtlWord, common: readonly CtlOption[]): string {
  return [
    `usage: ${usageOf(command)}`,
    `  ${command.summary}`,
    "",
    ...optionLines([...command.options, ...common]),
    ...(command.options.length + common.length === 0 ? [] : [""]),
    `example: floodwall ctl ${command.example}`,
  ].join("\n");
}

/** The commands as sections of a manual page, in the language of man(7). */
export function manualPage(commands: readonly CtlWord[], common: readonly CtlOption[], version: string): string {
  const option = (each: CtlOption) => `.TP\n.B ${escaped(wordsOf(each))}\n${escaped(each.help)}.`;
  return `.TH FLOODWALL-CTL 1 "" "floodwall ${version}" "Floodwall"
.SH NAME
floodwall-ctl \\- asks a running Floodwall service and gives it orders
.SH SYNOPSIS
.B floodwall ctl
.I COMMAND
[options]
.SH COMMANDS
${commands
  .map((command) => {
    const head = `.SS ${escaped(usageOf(command))}\n${escaped(command.summary)}.`;
    const example = `.PP\nExample:\n.B ${escaped(`floodwall ctl ${command.example}`)}`;
    return [head, ...command.options.map(option), example].join("\n");
  })
  .join("\n")}
.SH OPTIONS OF ALL COMMANDS
${common.map(option).join("\n")}
.SH EXIT STATUS
${escaped(EXITS.replace("exit codes: ", "").replace(/\n */g, " "))}.
.SH SEE ALSO
.BR floodwall (1)
`;
}

function optionLines(options: readonly CtlOption[]): string[] {
  return columns(options.map((each) => [wordsOf(each), each.help] as const));
}

function escaped(text: string): string {
  return text
    .replaceAll("\\", "\\e")
    .replaceAll("-", "\\-")
    .replace(/^([.'])/gm, "\\&$1");
}
