/** Faults of the files that a configuration names, other than the zones file. */
import type { Config } from "../config/config.ts";
import type { Finding } from "../config/load/shape.ts";
import { originFindings } from "../geo/origins.ts";
import { readTlsPair, TlsFileError } from "../http/server/tls-files.ts";
import { prefixSetFindings } from "../prefixset/set-findings.ts";

/** Before a start, at which all files must be good. */
export function fileFindings(config: Config): Finding[] {
  return [...reloadFileFindings(config), ...prefixSetFindings(config.prefixSets)];
}

/** Before a reload: a set whose file is damaged keeps its last good prefixes, and must not be in the way of others. */
export function reloadFileFindings({ samples, api }: Config): Finding[] {
  return [...originFindings(samples), ...tlsFindings(api.tls)];
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
