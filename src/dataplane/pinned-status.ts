/** What `floodwall dataplane status` says of the pins: to people, to programs, and by its exit code. Pure. */
import type { PinnedFilter } from "./native.d.ts";

export const PINNED_EXIT_CODES = { healthy: 0, detached: 3, missing: 4, wrong_schema: 5 } as const;

const MEANINGS: Readonly<Record<PinnedFilter["state"], string>> = {
  healthy: "a program is on each interface",
  detached: "the tables are there, but no program on each interface: nothing is dropped where it is missing",
  missing: "nothing is pinned: nothing is dropped",
  wrong_schema: "what is pinned is of another version: start the service or the agent of this one, which replaces it",
};

export function pinnedLines(pinPath: string, pinned: PinnedFilter): string[] {
  const { state, schemas, links, pairs, rules, verdicts, isOwned } = pinned;
  const head = [`${pinPath}: ${state}: ${MEANINGS[state]}`];
  if (state === "missing") return head;
  head.push(
    `versions   ${schemas.join(", ")}`,
    `process    ${isOwned ? "running" : "none: what is in force lapses in time"}`,
  );
  if (state === "wrong_schema") return head;
  const programs = links.map(
    ({ name, program }) => `interface  ${name}: ${program === 0 ? "no program" : `program ${program}`}`,
  );
  const counted = Object.entries(verdicts).map(
    ([verdict, { packets, bytes }]) => `${verdict.padEnd(17)}${packets} packets, ${bytes} bytes`,
  );
  return [...head, ...programs, `in force   ${pairs} source blocks, ${rules} rules`, ...counted];
}

export function pinnedJson(pinPath: string, pinned: PinnedFilter): string {
  const { isOwned, ...told } = pinned;
  return JSON.stringify({ pin_path: pinPath, ...told, owned: isOwned });
}
