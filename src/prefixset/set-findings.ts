/** The faults of the files of sets, for a check of the configuration. */
import { NAMED_PREFIXES_MAX } from "../native/constants.ts";
import type { Finding } from "../schema/shape.ts";
import type { PrefixSetConfig } from "./prefix-set-config.ts";
import { PrefixSetError, readPrefixSet } from "./set-content.ts";

/** Reads all of them: about a second for a million prefixes. @param most of all sets together */
export function prefixSetFindings(sets: readonly PrefixSetConfig[], most = NAMED_PREFIXES_MAX): Finding[] {
  const findings: Finding[] = [];
  let total = 0;
  for (const [i, set] of sets.entries()) {
    const key = set.source.kind === "mmdb" ? "mmdb" : "file";
    try {
      total += readPrefixSet(set).columns.lengths.length;
    } catch (cause) {
      if (!(cause instanceof PrefixSetError)) throw cause;
      findings.push({ path: ["prefix_sets", i, key], rule: cause.message });
    }
  }
  const rule = `${total} prefixes in all are more than ${most}: take smaller lists`;
  return total > most ? [...findings, { path: ["prefix_sets"], rule }] : findings;
}
