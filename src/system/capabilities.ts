/**
 * Removes the service's rights from programs that it starts. Root's rights are removed by changing the user; ambient
 * capabilities (capabilities(7)) of an unprivileged service would be inherited by every child.
 */
import { readFileSync } from "node:fs";

const SETPRIV = "/usr/bin/setpriv";

/** The right to listen on a port below 1024: its name for setpriv, and its bit in /proc/PID/status. */
const BIND = { name: "net_bind_service", bit: 1n << 10n };

/** The command that runs `argv` without them. `binds`: keeps the right to listen on a low port, if present. */
export function withoutCapabilities(argv: readonly string[], { binds }: { readonly binds: boolean }): string[] {
  const handedOn = ambientCapabilities();
  if (handedOn === 0n) return [...argv];
  const kept = ["-all", ...(binds && (handedOn & BIND.bit) !== 0n ? [`+${BIND.name}`] : [])].join();
  return [SETPRIV, `--inh-caps=${kept}`, `--ambient-caps=${kept}`, ...argv];
}

/** A bit for each capability that a service manager gave this process, and that the programs it starts inherit. */
export function ambientCapabilities(): bigint {
  const bits = /^CapAmb:\s*([0-9a-f]+)$/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1];
  return BigInt(`0x${bits ?? "0"}`);
}
