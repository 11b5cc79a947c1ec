/** Completion of `floodwall ctl` for shells, from its commands. */
import { COMMANDS as ROLES } from "../commands.ts";
import { type CtlCommand, type CtlOption, CtlUsage, type CtlWord } from "./command.ts";

export const SHELLS = ["bash", "zsh", "fish"] as const;

/** @throws CtlUsage */
export function completion(
  shell: string | undefined,
  commands: readonly CtlCommand[],
  common: readonly CtlOption[],
): string {
  if (shell === "bash") return bash(commands, common);
  if (shell === "zsh") return zsh(commands, common);
  if (shell === "fish") return fish(commands, common);
  throw new CtlUsage(`completion needs one of ${SHELLS.join(", ")}`);
}

/** The commands that ask no service. */
export const OWN: readonly CtlWord[] = [
  {
    name: "completion",
    operands: SHELLS.join("|"),
    summary: `completion for ${SHELLS.join(", ")}: source it from the shell's start-up file`,
    options: [],
    example: "completion bash > ~/.local/share/bash-completion/completions/floodwall",
  },
  {
    name: "help",
    operands: "[COMMAND]",
    summary: "the commands, or one with its options",
    options: [],
    example: "help ban",
  },
];

const flagOf = ([option]: readonly [string, string]) => option.split(" ")[0] ?? "";
const flagsOf = (options: readonly CtlOption[]) => options.map(({ name }) => `--${name}`).join(" ");

const namesOf = (commands: readonly CtlCommand[]) => [...commands, ...OWN].map(({ name }) => name).join(" ");

function bash(commands: readonly CtlCommand[], common: readonly CtlOption[]): string {
  const cases = commands.map(({ name, options }) => `    ${name}) words="${flagsOf([...options, ...common])}" ;;`);
  return `_floodwall() {
  local words="${ROLES.map(({ name }) => name).join(" ")}" current="\${COMP_WORDS[COMP_CWORD]}"
  if [ "\${COMP_WORDS[1]}" != ctl ] && [ "$COMP_CWORD" -ge 2 ]; then
    case "\${COMP_WORDS[1]}" in
${ROLES.map(({ name, options }) => `      ${name}) words="${options.map(flagOf).join(" ")}" ;;`).join("\n")}
    esac
  elif [ "\${COMP_WORDS[1]}" = ctl ] && [ "$COMP_CWORD" -eq 2 ]; then
    words="${namesOf(commands)}"
  elif [ "\${COMP_WORDS[1]}" = ctl ] && [ "$COMP_CWORD" -gt 2 ]; then
    case "\${COMP_WORDS[2]}" in
${cases.map((line) => `  ${line}`).join("\n")}
      completion) words="${SHELLS.join(" ")}" ;;
      help) words="${namesOf(commands)}" ;;
      *) words="" ;;
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _floodwall floodwall`;
}

/** For the completion system of zsh, with descriptions. */
function zsh(commands: readonly CtlCommand[], common: readonly CtlOption[]): string {
  const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
  const described = (name: string, help: string) => quoted(`${name.replaceAll(":", "\\:")}:${help}`);
  const flag = (name: string, value: string | null, help: string) => {
    const meaning = help.replace(/[[\]:]/g, "\\$&");
    const action = value === null ? "" : `:${value}:${value === "FILE" ? "_files" : " "}`;
    return quoted(`${name}[${meaning}]${action}`);
  };
  const roleFlags = ROLES.filter(({ name }) => name !== "ctl").map(({ name, options }) => {
    const flags = options.map(([option, help]) => {
      const [word = "", value = null] = option.split(" ");
      return flag(word, value, help);
    });
    return `    ${name}) _arguments ${[...flags, "'*:operand:_files'"].join(" ")} ;;`;
  });
  const ctlFlags = commands.map(({ name, options }) => {
    const flags = [...options, ...common].map((each) => flag(`--${each.name}`, each.value, each.help));
    return `        ${name}) _arguments ${[...flags, "'*:operand: '"].join(" ")} ;;`;
  });
  return `#compdef floodwall
_floodwall() {
  local -a roles=(${ROLES.map(({ name, summary }) => described(name, summary)).join(" ")})
  local -a orders=(${[...commands, ...OWN].map(({ name, summary }) => described(name, summary)).join(" ")})
  if (( CURRENT == 2 )); then
    _describe command roles
    return
  fi
  case $words[2] in
${roleFlags.join("\n")}
    ctl)
      if (( CURRENT == 3 )); then
        _describe command orders
        return
      fi
      case $words[3] in
${ctlFlags.join("\n")}
        completion) _values shell ${SHELLS.join(" ")} ;;
        help) _describe command orders ;;
      esac ;;
  esac
}
compdef _floodwall floodwall`;
}

function fish(commands: readonly CtlCommand[], common: readonly CtlOption[]): string {
  const quoted = (text: string) => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
  const under = (condition: string) => `complete -c floodwall -n ${quoted(condition)}`;
  const isFirst = "__fish_seen_subcommand_from ctl; and test (count (commandline -opc)) -eq 2";
  const option = (condition: string, { name, value, help }: CtlOption) =>
    `${under(condition)} -l ${name} ${value === null ? "" : "-r "}-d ${quoted(help)}`;
  const none = "test (count (commandline -opc)) -eq 1";
  return [
    ...ROLES.map(({ name, summary }) => `${under(none)} -f -a ${name} -d ${quoted(summary)}`),
    ...[...commands, ...OWN].map(({ name, summary }) => `${under(isFirst)} -f -a ${name} -d ${quoted(summary)}`),
    ...commands.flatMap(({ name, options }) =>
      [...options, ...common].map((each) => option(`__fish_seen_subcommand_from ${name}`, each)),
    ),
    `${under("__fish_seen_subcommand_from completion")} -f -a ${quoted(SHELLS.join(" "))}`,
    `${under("__fish_seen_subcommand_from ctl; and __fish_seen_subcommand_from help")} -f -a ${quoted(namesOf(commands))}`,
  ].join("\n");
}
