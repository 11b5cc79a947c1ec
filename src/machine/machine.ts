/**
 * What was found out about the machine that this process runs on, before anything of it was changed: the record that the
 * rules of this folder judge. How it is found out is the rim's.
 */

import type { XDP_FEATURES } from "../dataplane/native-constants.ts";

export interface MachineFindings {
  /** `check`: by a command, which may have other rights than the service. `running`: by a service that captures by now. */
  readonly seenBy: "check" | "start" | "running";
  /** Why the addon cannot be loaded, and with it nothing of the kernel be found out; null: it is there. */
  readonly addonError: string | null;
  /** null: not asked for. */
  readonly kernel: KernelFindings | null;
  /** By name; null: there is no such interface. */
  readonly interfaces: ReadonlyMap<string, InterfaceFindings | null>;
  readonly programs: readonly TriedProgram[];
  /** The data plane's pinned programs by interface, of this process or one before it. */
  readonly pinned: ReadonlyMap<string, number>;
  /** null: not asked for. */
  readonly gobgpd: GobgpdFindings | null;
}

export interface KernelFindings {
  /** `6.1.0-18-amd64`. */
  readonly release: string;
  /** Whether the kernel describes its types (/sys/kernel/btf/vmlinux). */
  readonly hasBtf: boolean;
  /** null: not to be read, as in a network namespace. */
  readonly isJitOn: boolean | null;
  /** `none`, `integrity` or `confidentiality`; null: not shown. */
  readonly lockdown: string | null;
  /** kernel.unprivileged_bpf_disabled; null: not to be read. */
  readonly unprivilegedBpfDisabled: number | null;
  /** Bytes that this process may lock; null: as many as it wants. */
  readonly lockedBytesMost: number | null;
  /** Of this process, those that matter here: `CAP_BPF`. */
  readonly capabilities: readonly string[];
  /** What it lacks to load a program. */
  readonly missingForLoading: readonly string[];
  readonly possibleCpus: number;
  /** null: not asked for. */
  readonly pinPath: {
    /** The path itself or the nearest directory above it that exists. */
    readonly existing: string;
    readonly isOnBpfFileSystem: boolean;
  } | null;
}

export interface InterfaceFindings {
  readonly name: string;
  /** null where the driver does not say, here and below. */
  readonly driver: string | null;
  readonly driverVersion: string | null;
  /** `0000:01:00.0`. */
  readonly bus: string | null;
  readonly isUp: boolean;
  readonly hasCarrier: boolean;
  readonly mtu: number;
  /** The largest MTU with which the driver takes native XDP in one buffer a frame. */
  readonly nativeMtuMost: number | null;
  /** In use now, and at most. */
  readonly rxQueues: number;
  readonly rxQueuesMost: number | null;
  readonly rxRing: { readonly now: number; readonly most: number } | null;
  readonly lro: boolean | null;
  readonly groHw: boolean | null;
  readonly gro: boolean | null;
  /** null: this kernel does not say (before Linux 6.3). */
  readonly xdpFeatures: readonly XdpFeature[] | null;
  /** What stands in the way of native XDP; a remedy has its command in backticks. */
  readonly nativeObstacles: readonly { readonly found: string; readonly remedy: string | null }[];
  /** The XDP program on it; its name takes CAP_SYS_ADMIN to read. */
  readonly attached: { readonly id: number; readonly name: string | null; readonly isGeneric: boolean } | null;
}

export type XdpFeature = (typeof XDP_FEATURES)[number];

/** A program of ours as it would be loaded for some interface. */
export type ProgramVariant =
  | { readonly program: "mirror" }
  | { readonly program: "filter"; readonly hasFragments: boolean }
  | {
      readonly program: "inline";
      readonly hasFragments: boolean;
      readonly filters: boolean;
      readonly countsOutgoing: boolean;
      readonly maxHosts: number;
    };

/** What came of loading a program that was attached to nothing. */
export interface ProgramProbe {
  readonly instructions: number;
  /** Each as often as the verifier came by. */
  readonly verifiedInstructions: number;
  readonly totalStates: number;
  readonly peakStates: number;
  /** 0: the JIT is off. */
  readonly jitedBytes: number;
  /** Why the kernel refused it, with the remedy; null: it is taken. */
  readonly error: string | null;
}

export interface TriedProgram {
  readonly variant: ProgramVariant;
  readonly probe: ProgramProbe;
}

export interface GobgpdFindings {
  /** null: not installed. */
  readonly path: string | null;
  /** `3.10.0`; null: it does not say. */
  readonly version: string | null;
}
