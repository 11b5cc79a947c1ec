/** Which of the capabilities that the units give a configuration has no use for, until the next start. */
import { type MachineNeeds, usesXdp } from "./needs.ts";

/** Numbers of linux/capability.h. */
export const CAPABILITY_NUMBERS = {
  CAP_NET_BIND_SERVICE: 10,
  CAP_NET_ADMIN: 12,
  CAP_NET_RAW: 13,
  CAP_PERFMON: 38,
  CAP_BPF: 39,
} as const;
export type Capability = keyof typeof CAPABILITY_NUMBERS;

/**
 * Interfaces, the data plane, gobgpd and listeners change with a restart only. What these use is needed for as long as
 * they run: an interface that comes back gets its program again, and gobgpd is started again.
 *
 * @param ports that this process, or a program that it starts, listens on
 */
export function uselessCapabilities(needs: MachineNeeds, ports: readonly number[]): Capability[] {
  const hasXdp = needs.interfaces.some(usesXdp) || needs.pinPath !== null;
  const capturesFrames = needs.interfaces.some(({ uses }) => uses.includes("mirror") || uses.includes("pcap"));
  const bindsLowPort = ports.some((port) => port > 0 && port < 1024);
  return [
    ...(bindsLowPort ? [] : (["CAP_NET_BIND_SERVICE"] as const)),
    ...(hasXdp || needs.receivesFlows ? [] : (["CAP_NET_ADMIN"] as const)),
    ...(hasXdp ? [] : (["CAP_PERFMON", "CAP_BPF"] as const)),
    ...(capturesFrames ? [] : (["CAP_NET_RAW"] as const)),
  ];
}
