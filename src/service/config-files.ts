/** Faults of the files that a configuration names, other than the zones file. */
import { LinkFileError, readLinkFiles } from "../cluster/link/certificate.ts";
import type { Config } from "../config/config.ts";
import { originFindings } from "../geo/origins.ts";
import { readTlsPair, TlsFileError } from "../http/server/tls-files.ts";
import { prefixSetFindings } from "../prefixset/set-findings.ts";
import type { Finding } from "../schema/shape.ts";

/** All of them, for an operator who checks a configuration. A start and a reload do not depend on them. */
export function fileFindings(config: Config): Finding[] {
  return [...quickFileFindings(config), ...linkFindings(config.cluster), ...prefixSetFindings(config.prefixSets)];
}

/** Without prefix sets, which take long to read, and what only a start uses: warnings of a reload. */
export function quickFileFindings({ samples, api }: Config): Finding[] {
  return [...originFindings(samples), ...tlsFindings(api.tls)];
}

function linkFindings(cluster: Config["cluster"]): Finding[] {
  try {
    if (cluster !== null) readLinkFiles(cluster);
    return [];
  } catch (cause) {
    if (!(cause instanceof LinkFileError)) throw cause;
    return [{ path: ["cluster", cause.key], rule: cause.message }];
  }
}

function tlsFindings(files: Config["api"]["tls"]): Finding[] {
  try {
    if (files !== null) readTlsPair(files);
    return [];
  } catch (cause) {
    if (!(cause instanceof TlsFileError)) throw cause;
    return [{ path: ["api", "tls", cause.key], rule: cause.message }];
  }
}
