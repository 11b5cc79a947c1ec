/** Faults of the files that a configuration names, other than the zones file. */
import type { Config } from "../config/config.ts";
import type { Finding } from "../config/load/shape.ts";
import { originFindings } from "../geo/origins.ts";
import { readTlsPair, TlsFileError } from "../http/server/tls-files.ts";

export function fileFindings({ samples, api }: Config): Finding[] {
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
