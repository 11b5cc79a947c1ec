/**
 * The configuration file of a managed gobgpd. Neighbors and their passwords are not in it: they are set over the API.
 */
import type { BgpConfig } from "../bgp-config.ts";

type GobgpdConfig = Pick<BgpConfig, "localAsn" | "routerId" | "listen">;

/** As gobgpd reports it back. */
export function listenPort(config: GobgpdConfig): number {
  return config.listen?.port ?? -1;
}

/** Extended over the API by what neighbors do not get. */
export const POLICY = "own-routes-only";

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
${config.listen === null ? "" : `local-address-list = ${JSON.stringify(config.listen.addresses)}\n`}
[global.apply-policy.config]
import-policy-list = ["${POLICY}"]
default-import-policy = "reject-route"
export-policy-list = ["${POLICY}"]
default-export-policy = "reject-route"

[[policy-definitions]]
name = "${POLICY}"
[[policy-definitions.statements]]
name = "own-routes"
[policy-definitions.statements.conditions.bgp-conditions]
route-type = "local"
[policy-definitions.statements.actions]
route-disposition = "accept-route"
`;
}
