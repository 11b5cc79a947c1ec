/** Settings of a hostgroup over the configuration: from the fields of their dialog to the order. Pure. */
import type { ConfiguredWire, HostgroupConfigWire } from "../../src/http/wire/configured.ts";
import { t } from "../language.ts";
import { BAN_METHODS } from "./ban-order.ts";
import { metricName } from "./format/numbers.ts";

type Settings = NonNullable<HostgroupConfigWire["settings"]>;

export interface SettingsForm {
  /** By metric; "": as the configuration says. */
  readonly thresholds: Readonly<Record<string, string>>;
  readonly mitigation: (typeof BAN_METHODS)[number][0];
  /** Addresses and prefixes. */
  readonly spared: string;
}

/** Methods that the dialog offers in place of the configured one. */
export const SETTINGS_METHODS = BAN_METHODS.map(
  ([method, name]) => [method, method === "" ? t`As the configuration says` : name] as const,
);

/** Fields for the metrics that are on, filled in with what is set. */
export function settingsForm({ thresholds, settings = {} }: HostgroupConfigWire): SettingsForm {
  const { mitigation = "", protected_whitelist: spared = [] } = settings;
  const set: Readonly<Record<string, number | undefined>> = settings.thresholds ?? {};
  const metrics = [...new Set([...Object.keys(thresholds), ...Object.keys(set)])];
  return {
    thresholds: Object.fromEntries(metrics.map((metric) => [metric, set[metric]?.toString() ?? ""])),
    mitigation,
    spared: spared.join(", "),
  };
}

/** It is in the place of what was set before; empty: nothing is set any more. */
export function settingsOrder({ thresholds, mitigation, spared }: SettingsForm): Omit<Settings, "by" | "at"> {
  const limits = Object.entries(thresholds).filter(([, text]) => text.trim() !== "");
  const listed = spared.split(/[\s,]+/).filter((word) => word !== "");
  return {
    ...(limits.length > 0 && { thresholds: Object.fromEntries(limits.map(([key, text]) => [key, Number(text)])) }),
    ...(mitigation !== "" && { mitigation }),
    ...(listed.length > 0 && { protected_whitelist: listed }),
  };
}

/** `Packets, per second`. */
export function thresholdLabel(metric: string): string {
  const name = metricName(metric);
  const capital = name.charAt(0).toUpperCase() + name.slice(1);
  return metric.endsWith("mbps") ? t`${capital}, Mbit/s` : t`${capital}, per second`;
}

/** Whether the hostgroup has just that set. */
export function isSet(name: string, order: Omit<Settings, "by" | "at">, { hostgroups }: ConfiguredWire): boolean {
  const { by: _by, at: _at, ...settings } = hostgroups.find((group) => group.name === name)?.settings ?? {};
  return textOf(settings) === textOf(order);
}

function textOf({ thresholds = {}, mitigation, protected_whitelist: listed = [] }: Settings): string {
  const limits = Object.entries(thresholds).sort(([a], [b]) => (a < b ? -1 : 1));
  // A single address may have its length.
  const addresses = listed.map((text) => text.toLowerCase().replace(/^([\d.]+)\/32$|^(.*)\/128$/, "$1$2")).sort();
  return JSON.stringify([limits, mitigation, addresses]);
}
