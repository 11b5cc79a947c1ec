/** The output of `floodwall dataplane status`, as text, JSON and exit code. Pure. */
import type { PinnedFilter } from "./native.d.ts";

export const PINNED_EXIT_CODES = { healthy: 0, detached: 3, missing: 4, wrong_schema: 5 } as const;

const MEANINGS: Readonly<Record<PinnedFilter["state"], string>> = {
  healthy: "a program is on each interface",
  detached: "the tables exist, but an interface lacks its program: nothing is dropped there",
  missing: "nothing is pinned: nothing is dropped",
  wrong_schema:
    "the pinned tables are of another version: start the service or the agent of this version, which replaces them",
};

export function pinnedLines(pinPath: string, pinned: PinnedFilter): string[] {
  const { state, schemas, links, pairs, rules, verdicts, isOwned } = pinned;
  const head = [`${pinPath}: ${state}: ${MEANINGS[state]}`];
  if (state === "missing") return head;
  head.push(
    `versions   ${schemas.join(", ")}`,
    `process    ${isOwned ? "running" : "none: rules and blocks expire in time"}`,
  );
  if (state === "wrong_schema") return head;
  const programs = links.map(
    ({ name, program }) => `interface  ${name}: ${program === 0 ? "no program" : `program ${program}`}`,
  );
  const counted = Object.entries(verdicts).map(
    ([verdict, { packets, bytes }]) => `${verdict.padEnd(17)}${packets} packets, ${bytes} bytes`,
  );
  const names = namesIn(pinned);
  const sets = names.length === 0 ? [] : [`sets       ${names.join(", ")}`];
  const forwarded = Object.entries(pinned.forward?.outcomes ?? {})
    .filter(([, { packets }]) => packets > 0)
    .map(([outcome, { packets, bytes }]) => `${outcome.padEnd(21)}${packets} packets, ${bytes} bytes`);
  if (pinned.forward !== null) forwarded.unshift("forwarded  by XDP, since the process started:");
  const inForce = `in force   ${pairs} source blocks, ${rules} rules`;
  return [...head, ...programs, inForce, ...sets, ...counted, ...forwarded];
}

export function pinnedJson(pinPath: string, pinned: PinnedFilter): string {
  const { isOwned, namedSets: _, verdicts, ...others } = pinned;
  return JSON.stringify({ pin_path: pinPath, ...others, named_sets: namesIn(pinned), verdicts, owned: isOwned });
}

function namesIn({ namedSets }: PinnedFilter): string[] {
  return namedSets.filter((name) => name !== "");
}
