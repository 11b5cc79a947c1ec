/** The state of a BGP session in words (RFC 4271, section 8.2.2). Pure. */

import { t } from "../language.ts";
import type { StateWord } from "./nodes.ts";

const DOWN: Readonly<Record<string, string>> = {
  idle: t`session down`,
  connect: t`session down, dialling`,
  active: t`session down, dialling`,
  opensent: t`session down, negotiating`,
  openconfirm: t`session down, negotiating`,
};

export function isSessionUp(state: string): boolean {
  return state.toLowerCase() === "established";
}

export function sessionWord(state: string): StateWord {
  if (isSessionUp(state)) return { tone: "ok", text: t`up` };
  const key = state.toLowerCase().replaceAll("_", "");
  return { tone: "danger", text: DOWN[key] ?? t`session down, ${state.toLowerCase()}` };
}
