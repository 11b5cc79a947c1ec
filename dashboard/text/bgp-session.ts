/** The state of a BGP session in words (RFC 4271, section 8.2.2). Pure. */
import type { StateWord } from "./nodes.ts";

const DOWN: Readonly<Record<string, string>> = {
  idle: "session down",
  connect: "session down, dialling",
  active: "session down, dialling",
  opensent: "session down, negotiating",
  openconfirm: "session down, negotiating",
};

export function isSessionUp(state: string): boolean {
  return state.toLowerCase() === "established";
}

export function sessionWord(state: string): StateWord {
  if (isSessionUp(state)) return { tone: "ok", text: "up" };
  const key = state.toLowerCase().replaceAll("_", "");
  return { tone: "danger", text: DOWN[key] ?? `session down, ${state.toLowerCase()}` };
}
