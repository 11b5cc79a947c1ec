/** Completion of `floodwall ctl` for shells, from its commands. */
import { type CtlCommand, type CtlOption, CtlUsage } from "./command.ts";

export const SHELLS = ["bash", "zsh", "fish"] as const;

/** @throws CtlUsage */
export function completion(
  shell: string | undefined,
  commands: readonly CtlCommand[],
  common: readonly CtlOption[],
): string {
  if (shell === "bash") return bash(commands, common);
  if (shell === "zsh") return `autoload -U +X bashcompinit && bashcompinit\n${bash(commands, common)}`;
  if (shell === "fish") return fish(commands, common);
  throw new CtlUsage(`completion needs one of ${SHELLS.join(", ")}`);
}

const flagsOf = (options: readonly CtlOption[]) => options.map(({ name }) => `--${name}`).join(" ");

function bash(commands: readonly CtlCommand[], common: readonly CtlOption[]): string {
  const cases = commands.map(({ name, options }) => `    ${name}) words="${flagsOf([...options, ...common])}" ;;`);
  return `_floodwall() {
  local words="ctl" current="\${COMP_WORDS[COMP_CWORD]}"
  if [ "\${COMP_WORDS[1]}" = ctl ] && [ "$COMP_CWORD" -eq 2 ]; then
    words="${commands.map(({ name }) => name).join(" ")} completion help"
  elif [ "\${COMP_WORDS[1]}" = ctl ] && [ "$COMP_CWORD" -gt 2 ]; then
    case "\${COMP_WORDS[2]}" in
${cases.map((line) => `  ${line}`).join("\n")}
      completion) words="${SHELLS.join(" ")}" ;;
      *) words="" ;;
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _floodwall floodwall`;
}

function fish(commands: readonly CtlCommand[], common: readonly CtlOption[]): string {
  const quoted = (text: string) => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
  const under = (condition: string) => `complete -c floodwall -n ${quoted(condition)}`;
  const isFirst = "__fish_seen_subcommand_from ctl; and test (count (commandline -opc)) -eq 2";
  const option = (condition: string, { name, value, help }: CtlOption) =>
    `${under(condition)} -l ${name} ${value === null ? "" : "-r "}-d ${quoted(help)}`;
  return [
    ...commands.map(({ name, summary }) => `${under(isFirst)} -f -a ${name} -d ${quoted(summary)}`),
    ...commands.flatMap(({ name, options }) =>
      [...options, ...common].map((each) => option(`__fish_seen_subcommand_from ${name}`, each)),
    ),
    `${under("__fish_seen_subcommand_from completion")} -f -a ${quoted(SHELLS.join(" "))}`,
  ].join("\n");
}
