/** Which parts of the configuration a reload changed, by the names of the file: for records. Never what is in them. */
import type { Config } from "./config.ts";

type Section = readonly [name: string, read: (config: Config) => unknown];

/** Without values that are derived from several sections. A hostgroup changes with what it inherits, too. */
const SECTIONS: readonly Section[] = [
  ["dry_run", ({ dryRun }) => dryRun],
  ["networks", ({ networks }) => networks],
  ["protected_whitelist", ({ protectedWhitelist }) => protectedWhitelist],
  ["capture", ({ capture }) => capture],
  ["telemetry", ({ telemetry }) => telemetry],
  ["detection", ({ detection }) => detection],
  ["thresholds", ({ hostgroups }) => [hostgroups[0]?.thresholds, hostgroups[0]?.thresholdsOutgoing]],
  ["baseline", ({ hostgroups }) => hostgroups[0]?.baseline],
  ["carpet", ({ carpet }) => carpet],
  ["hostgroups", ({ hostgroups, mitigations }) => [hostgroups.slice(1), mitigations.slice(1)]],
  ["mitigation", ({ mitigations }) => mitigations[0]?.method],
  ["escalation", ({ mitigations }) => mitigations[0]?.ladder],
  ["flowspec", ({ mitigations }) => mitigations[0]?.flowspec],
  ["scrub", ({ mitigations }) => [mitigations[0]?.scrub, mitigations[0]?.selectable]],
  ["scrub_profiles", ({ scrubProfiles }) => scrubProfiles],
  ["ban", ({ ban, mitigations }) => [ban, mitigations[0]?.ban]],
  // Without the key the methods of the ladder.
  ["ban.order_methods", ({ mitigations }) => mitigations[0]?.orderMethods],
  ["bgp", ({ bgp, mitigations }) => [bgp, mitigations[0]?.blackhole]],
  ["dataplane", ({ dataplane }) => dataplane],
  ["dry_run_directions", ({ mitigations }) => mitigations[0]?.dryRunDirections],
  ["maintenance", ({ maintenance }) => maintenance],
  ["order_templates", ({ orderTemplates }) => orderTemplates],
  ["filter_rules", ({ filterRules }) => filterRules],
  ["prefix_sets", ({ prefixSets }) => prefixSets],
  ["samples", ({ samples }) => samples],
  ["storage", ({ storage }) => storage],
  ["scrubbing", ({ scrubbing, diversionHook, mitigations }) => [scrubbing, diversionHook, mitigations[0]?.divert]],
  ["edge", ({ edge }) => edge],
  ["notify", ({ notify }) => notify],
  ["update_check", ({ updateCheck }) => updateCheck],
  ["api", ({ api }) => api],
  ["cluster", ({ cluster }) => cluster],
];

/** Empty: nothing is different, as far as it takes effect without a restart. */
export function changedSections(before: Config, after: Config): string[] {
  return SECTIONS.filter(([, read]) => JSON.stringify(read(before)) !== JSON.stringify(read(after))).map(
    ([name]) => name,
  );
}
