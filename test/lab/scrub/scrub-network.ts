/**
 * The network of the scrubbing lab. The router's kernel sends a victim's traffic straight there, or by the scrub node where a
 * route says so; answers go straight. Each place is a network namespace of its own. Knows nothing of Floodwall.
 *
 *   attacker ──┐  ┌── mirror port, BGP ──► brain
 *   client ────┴─ router ──────────────────────────────► victim
 *                   └── 203.0.113.7/32 ──► scrub node ─────┘
 */
import type { Namespace, Namespaces } from "../namespaces.ts";

export const VICTIM = "203.0.113.7";
export const PREFIX = `${VICTIM}/32`;
export const ORIGIN = `http://${VICTIM}:80`;
export const NODE_HOP = "192.0.2.2";

export type Places = Readonly<Record<"attacker" | "client" | "router" | "brain" | "node" | "victim", Namespace>>;

/** Place, device, address. */
type End = readonly [Namespace, string, ...string[]];

export function connectPlaces(namespaces: Namespaces): Places {
  const add = (name: string) => namespaces.add(name);
  const [attacker, client, router] = [add("attacker"), add("client"), add("router")];
  const [brain, node, victim] = [add("brain"), add("node"), add("victim")];
  const end = ([namespace, device, ...addresses]: End) => ({ namespace, device, addresses });
  const link = (near: End, far: End) => namespaces.connect(end(near), end(far));
  // The first one has the MAC that the traffic source sends to.
  link([attacker, "wire0", "198.18.255.1/15"], [router, "wire0", "198.18.255.2/15"]);
  link([client, "net0", "192.0.2.130/25"], [router, "client0", "192.0.2.129/25"]);
  link([router, "victim0", "203.0.113.1/24"], [victim, "net0", `${VICTIM}/24`]);
  link([router, "scrub0", "192.0.2.1/25"], [node, "net0", `${NODE_HOP}/25`]);
  link([node, "clean0", "10.0.0.1/30"], [victim, "clean0", "10.0.0.2/30"]);
  link([router, "span0"], [brain, "mirror0"]);
  link([brain, "bgp0", "198.51.100.1/24"], [router, "bgp0", "198.51.100.2/24"]);
  link([brain, "nodes0", "10.0.0.5/30"], [node, "brain0", "10.0.0.6/30"]);
  client.run(["ip", "route", "add", "default", "via", "192.0.2.129"]);
  victim.run(["ip", "route", "add", "default", "via", "203.0.113.1"]);
  node.run(["ip", "route", "add", PREFIX, "via", "10.0.0.2"]);
  for (const forwarder of [router, node]) forwarder.run(["sh", "-ec", "echo 1 > /proc/sys/net/ipv4/ip_forward"]);
  for (const device of ["wire0", "client0"]) mirror(router, device);
  return { attacker, client, router, brain, node, victim };
}

/** All that comes in there goes to the mirror port too, as a switch does it. */
function mirror(router: Namespace, device: string): void {
  const everything = ["protocol", "all", "u32", "match", "u32", "0", "0"];
  const copy = ["action", "mirred", "egress", "mirror", "dev", "span0"];
  try {
    router.run(["tc", "qdisc", "add", "dev", device, "ingress"]);
    router.run(["tc", "filter", "add", "dev", device, "ingress", ...everything, ...copy]);
  } catch (cause) {
    const needs = "CONFIG_NET_SCH_INGRESS, CONFIG_NET_CLS_U32 and CONFIG_NET_ACT_MIRRED";
    throw new Error(`a kernel that mirrors traffic is needed (${needs}): ${String(cause)}`, { cause });
  }
}

/** Resolves when the victim's web server serves. It ends with its namespace. */
export async function serve(victim: Namespace): Promise<void> {
  const answer = "({ url }) => new Response('served ' + new URL(url).pathname)";
  const program = `Bun.serve({ hostname: "${VICTIM}", port: 80, fetch: ${answer} }); console.log("up");`;
  const command = victim.command([process.execPath, "-e", program]);
  const server = Bun.spawn(command, { stdin: "ignore", stdout: "pipe", stderr: "inherit" });
  for await (const _ of server.stdout) return;
  throw new Error("the victim's web server did not start");
}
