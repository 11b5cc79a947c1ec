/** All findings about a machine for a configuration, in the order in which an operator would check them. */
import { interfaceItems } from "./interface-items.ts";
import { error, type Item, ok, warning } from "./item.ts";
import { kernelItems } from "./kernel-items.ts";
import type { GobgpdFindings, MachineFindings } from "./machine.ts";
import type { MachineNeeds } from "./needs.ts";
import { programItems } from "./program-items.ts";

/** The GoBGP versions with a supported API. */
const GOBGPD_VERSIONS = /^[34]\./;
/** Those before 4.5 (CVE-2026-42285). */
const CRASHED_BY_PEERS = /^(3\.|4\.[0-4]\.)/;

export function judgeMachine(needs: MachineNeeds, found: MachineFindings): Item[] {
  const { addonError } = found;
  return [
    ...(addonError === null ? [] : [error("addon", addonError, null)]),
    ...kernelItems(needs, found),
    ...(found.gobgpd === null ? [] : [gobgpdItem(found.gobgpd, found.seenBy)]),
    ...needs.interfaces.flatMap((need) => interfaceItems(need, found)),
    ...programItems(found),
  ];
}

function gobgpdItem({ path, version }: GobgpdFindings, seenBy: MachineFindings["seenBy"]): Item {
  const about = "gobgpd";
  if (path === null) {
    return error(about, "is not installed, and bgp.speaker is managed", "`apt-get install gobgpd`");
  }
  if (version === null) return warning(about, `${path} does not report its version`, `see \`${path} --version\``);
  if (!GOBGPD_VERSIONS.test(version))
    return error(about, `${version}, ${path}, has another API`, "install gobgpd 3.x or 4.x, as Debian has them");
  if (seenBy !== "check" || !CRASHED_BY_PEERS.test(version)) return ok(about, `${version}, ${path}`);
  const remedy = "install 4.5 or later, or let only routers that you trust be neighbors (docs/operations/security.md)";
  return warning(about, `${version}, ${path}: a peer can crash it (CVE-2026-42285), and it is started again`, remedy);
}
