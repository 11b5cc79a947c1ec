/**
 * The findings about the machine, read before the process changes anything. The rules of this folder judge them; other
 * folders read them.
 */

import type { ENCAPSULATIONS, XDP_FEATURES } from "../native/constants.ts";

export interface MachineFindings {
  /**
   * `check`: read by a command, which may have other rights than the service. `start`: by a starting service.
   * `running`: by a service that captures already.
   */
  readonly seenBy: "check" | "start" | "running";
  /** Why the addon cannot be loaded, so that nothing about the kernel is known; null: it is loaded. */
  readonly addonError: string | null;
  /** null: not requested. */
  readonly kernel: KernelFindings | null;
  /** By name; null: the interface does not exist. */
  readonly interfaces: ReadonlyMap<string, InterfaceFindings | null>;
  readonly programs: readonly TriedProgram[];
  /** The data plane's pinned programs by interface, of this process or an earlier one. */
  readonly pinned: ReadonlyMap<string, number>;
  /** null: not requested. */
  readonly gobgpd: GobgpdFindings | null;
}

export interface KernelFindings {
  /** `6.1.0-18-amd64`. */
  readonly release: string;
  /** Whether the kernel has type information (/sys/kernel/btf/vmlinux). */
  readonly hasBtf: boolean;
  /** null: unreadable, as in a network namespace. */
  readonly isJitOn: boolean | null;
  /** `none`, `integrity` or `confidentiality`; null: unknown. */
  readonly lockdown: string | null;
  /** Bytes that this process may lock; null: unlimited. */
  readonly lockedBytesMost: number | null;
  /** The relevant capabilities of this process: `CAP_BPF`. */
  readonly capabilities: readonly string[];
  /** The capabilities that are missing to load a program. */
  readonly missingForLoading: readonly string[];
  readonly possibleCpus: number;
  /** null: not requested. */
  readonly pinPath: {
    /** The path, or the nearest existing directory above it. */
    readonly existing: string;
    readonly isOnBpfFileSystem: boolean;
  } | null;
}

export interface InterfaceFindings {
  readonly name: string;
  /** null if the driver does not report it, here and below. */
  readonly driver: string | null;
  readonly driverVersion: string | null;
  /** `0000:01:00.0`. */
  readonly bus: string | null;
  readonly isUp: boolean;
  readonly hasCarrier: boolean;
  readonly mtu: number;
  /** The largest MTU for which the driver supports native XDP with one buffer per frame. */
  readonly nativeMtuMost: number | null;
  /** Number in use, and the maximum. */
  readonly rxQueues: number;
  readonly rxQueuesMost: number | null;
  readonly rxRing: { readonly now: number; readonly most: number } | null;
  readonly lro: boolean | null;
  readonly groHw: boolean | null;
  readonly gro: boolean | null;
  /** The driver takes VLAN tags off the frame before XDP sees it. */
  readonly rxVlan: boolean | null;
  /** Devices for VLANs over this one, or over the bond or bridge that it is a part of. */
  readonly vlanDevices: number;
  /** null: the kernel does not report it (before Linux 6.3). */
  readonly xdpFeatures: readonly XdpFeature[] | null;
  /** Obstacles to native XDP; a remedy has its command in backticks. */
  readonly nativeObstacles: readonly { readonly found: string; readonly remedy: string | null }[];
  /** The attached XDP program; reading its name needs CAP_SYS_ADMIN. */
  readonly attached: { readonly id: number; readonly name: string | null; readonly isGeneric: boolean } | null;
}

type XdpFeature = (typeof XDP_FEATURES)[number];

/** A program of this project as it would be loaded for an interface. */
export type ProgramVariant =
  | { readonly program: "mirror" }
  | { readonly program: "filter"; readonly hasFragments: boolean }
  | {
      readonly program: "inline";
      readonly hasFragments: boolean;
      readonly filters: boolean;
      readonly countsOutgoing: boolean;
      readonly maxHosts: number;
      /** Absent: nothing is taken apart. */
      readonly decapsulate?: readonly (typeof ENCAPSULATIONS)[number][];
    };

/** The result of loading a program without attaching it. */
export interface ProgramProbe {
  readonly instructions: number;
  /** Instructions counted each time the verifier processed them. */
  readonly verifiedInstructions: number;
  readonly totalStates: number;
  readonly peakStates: number;
  /** 0: the JIT compiler is off. */
  readonly jitedBytes: number;
  /** Why the kernel refused it, with the remedy; null: accepted. */
  readonly error: string | null;
}

export interface TriedProgram {
  readonly variant: ProgramVariant;
  readonly probe: ProgramProbe;
}

export interface GobgpdFindings {
  /** null: not installed. */
  readonly path: string | null;
  /** `3.10.0`; null: unknown. */
  readonly version: string | null;
}
