/** Faults of the files that a configuration names, other than the zones file. */
import { readLinkFiles } from "../cluster/link/certificate.ts";
import type { Config } from "../config/config.ts";
import { originFindings } from "../geo/origins.ts";
import { readTlsPair } from "../http/server/tls-files.ts";
import { prefixSetFindings } from "../prefixset/set-findings.ts";
import type { Finding } from "../schema/shape.ts";
import { PemFileError } from "../system/pem-files.ts";

/** All of them, for an operator who checks a configuration. A start and a reload do not depend on them. */
export function fileFindings(config: Config): Finding[] {
  return [...quickFileFindings(config), ...linkFindings(config.cluster), ...prefixSetFindings(config.prefixSets)];
}

/** Without prefix sets, which take long to read, and what only a start uses: warnings of a reload. */
export function quickFileFindings({ samples, api }: Config): Finding[] {
  return [...originFindings(samples), ...tlsFindings(api.tls)];
}

function linkFindings(cluster: Config["cluster"]): Finding[] {
  return cluster === null ? [] : pemFindings(["cluster"], () => readLinkFiles(cluster));
}

function tlsFindings(files: Config["api"]["tls"]): Finding[] {
  return files === null ? [] : pemFindings(["api", "tls"], () => readTlsPair(files));
}

function pemFindings(section: readonly string[], read: () => unknown): Finding[] {
  try {
    read();
    return [];
  } catch (cause) {
    if (!(cause instanceof PemFileError)) throw cause;
    return [{ path: [...section, cause.key], rule: cause.message }];
  }
}
