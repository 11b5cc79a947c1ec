/**
 * `floodwall check`: prints the errors and warnings of a configuration; with `--here` also what this machine has and
 * lacks for it.
 */
import { type CheckedRole, type CheckReport, checkConfig } from "../config/check.ts";
import { loadAddon } from "../dataplane/addon.ts";
import { type Item, itemLine, summaryLine } from "../machine/item.ts";
import { needsOf, needsOfNode } from "../machine/needs.ts";
import { lookAtProvider } from "../oidc/provider-check.ts";
import { prefixSetFindings } from "../prefixset/set-findings.ts";
import { fileFindings } from "../service/config-files.ts";
import { etcdItems } from "../service/etcd-items.ts";
import { lookAtMachine } from "../service/machine-watch.ts";
import { systemClock } from "../system/clock.ts";
import { readEnvFile } from "../system/env-file.ts";
import { processEnvironment } from "../system/environment.ts";
import { systemTimers } from "../system/timers.ts";

/** Prints, changes nothing, and returns the exit code. */
export async function check(path: string, isHere: boolean): Promise<number> {
  const report = checkConfig(path, {
    read: (name) => processEnvironment.read(name),
    readFile: readEnvFile,
    fileFindings,
    nodeFileFindings: ({ prefixSets }) => prefixSetFindings(prefixSets),
  });
  const { lines, exitCode } = isHere ? await withMachine(report) : report;
  for (const line of lines) console.log(line);
  return exitCode;
}

/**
 * Adds a line for each item of the machine check. The exit code is 1 if something that is configured does not work
 * here.
 */
async function withMachine(report: CheckReport): Promise<Omit<CheckReport, "checked">> {
  const { lines, exitCode, checked } = report;
  if (checked === null) return { lines, exitCode };
  const needs = checked.role === "service" ? needsOf(checked.config) : needsOfNode(checked.config);
  const looked = [lookAtMachine({ loadAddon }, needs, () => "check"), providerItems(checked), clusterItems(checked)];
  const items = (await Promise.all(looked)).flat();
  return {
    lines: [...lines, ...items.map(itemLine), summaryLine(items)],
    exitCode: items.some(({ level }) => level === "error") ? 1 : exitCode,
  };
}

/** Items about the identity provider, if people sign in by one. */
async function providerItems(checked: CheckedRole): Promise<Item[]> {
  const { oidc, envFile } = checked.role === "service" ? checked.config.api : { oidc: null, envFile: null };
  if (oidc === null) return [];
  const lines = envFile === null ? null : readEnvFile(envFile);
  const variables = lines?.kind === "variables" ? lines.variables : new Map<string, string>();
  const name = oidc.clientSecretEnv;
  return lookAtProvider(oidc, name === null ? null : variables.get(name) || processEnvironment.read(name) || null);
}

/** None without an etcd of a cluster. */
async function clusterItems(checked: CheckedRole): Promise<Item[]> {
  const etcd = checked.role === "service" ? (checked.config.cluster?.etcd ?? null) : null;
  if (etcd === null) return [];
  return etcdItems(etcd, { environment: processEnvironment, clock: systemClock, timers: systemTimers });
}
