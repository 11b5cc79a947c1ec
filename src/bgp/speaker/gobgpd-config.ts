/**
 * The configuration file of a managed gobgpd. Neighbors and their passwords are not in it: they are set over the API.
 */
import type { BgpConfig } from "../../config/config.ts";

export type GobgpdConfig = Pick<BgpConfig, "localAsn" | "routerId" | "listen">;

/** As gobgpd reports it back. */
export function listenPort(config: GobgpdConfig): number {
  return config.listen?.port ?? -1;
}

/**
 * Imports nothing and exports only our own routes: a route learned from one neighbor must never reach another through
 * this speaker.
 */
export function gobgpdToml(config: GobgpdConfig): string {
  return `# Written by floodwall whenever it starts gobgpd; changes are lost.
[global.config]
as = ${config.localAsn}
router-id = "${config.routerId}"
port = ${listenPort(config)}
${config.listen === null ? "" : `local-address-list = ["${config.listen.address}"]\n`}
[global.apply-policy.config]
import-policy-list = ["own-routes-only"]
default-import-policy = "reject-route"
export-policy-list = ["own-routes-only"]
default-export-policy = "reject-route"

[[policy-definitions]]
name = "own-routes-only"
[[policy-definitions.statements]]
name = "own-routes"
[policy-definitions.statements.conditions.bgp-conditions]
route-type = "local"
[policy-definitions.statements.actions]
route-disposition = "accept-route"
`;
}

/** Why gobgpd ended, from the end of its log; null: unknown. */
export function lastLogError(log: string): string | null {
  for (const line of log.trimEnd().split("\n").reverse()) {
    const entry = parseLogLine(line);
    // Lower case in GoBGP 3, upper case in GoBGP 4.
    if (entry !== null && /^(fatal|panic|error|warn)/i.test(entry.level)) return entry.text;
  }
  return null;
}

/** `key`: what the line is about, the address of a neighbor for one. */
export function parseLogLine(line: string): { level: string; text: string; key: string } | null {
  try {
    const entry: unknown = JSON.parse(line);
    if (typeof entry !== "object" || entry === null) return null;
    const fields: Readonly<Record<string, unknown>> = { ...entry };
    const { level, msg, Error: cause, Key: key } = fields;
    const text = cause === undefined ? String(msg) : `${String(msg)}: ${errorText(cause)}`;
    return { level: String(level), text, key: String(key) };
  } catch {
    return null;
  }
}

/** Go's network errors are logged as objects. */
function errorText(cause: unknown): string {
  return typeof cause === "string" ? cause : JSON.stringify(cause);
}
