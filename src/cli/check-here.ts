/** `floodwall check --here`: after the file itself, what this machine has and lacks for it, without changing anything. */
import type { CheckReport } from "../config/check.ts";
import { loadAddon } from "../dataplane/addon.ts";
import { itemLine, summaryLine } from "../machine/item.ts";
import { needsOf, needsOfNode } from "../machine/needs.ts";
import { lookAtMachine } from "../service/machine-watch.ts";

/** The report with a line for each item; 1 where something that is configured does not work here. */
export async function checkHere(report: CheckReport): Promise<Omit<CheckReport, "checked">> {
  const { lines, exitCode, checked } = report;
  if (checked === null) return { lines, exitCode };
  const needs = checked.role === "service" ? needsOf(checked.config) : needsOfNode(checked.config);
  const items = await lookAtMachine({ loadAddon }, needs, () => "check");
  return {
    lines: [...lines, ...items.map(itemLine), summaryLine(items)],
    exitCode: items.some(({ level }) => level === "error") ? 1 : exitCode,
  };
}
