/**
 * The section `dataplane`: where XDP drops packets itself, and how much it may hold
 * (docs/interface.md#source-block-refusals).
 */
import { type Static, Type } from "@sinclair/typebox";
import { ALLOWLIST_MAX, CAPTURE_INTERFACES_MAX, DYNAMIC_RULES_MAX } from "../../limits.ts";
import type { Prefix } from "../../net/prefix.ts";
import { boolean, closed, integer, list, oneOf, text, withDefaults } from "../load/schema-forms.ts";
import { parseAddressOrPrefix } from "../load/text-forms.ts";

const XdpMode = oneOf("auto", "native", "generic");
const OnExit = oneOf("keep", "detach");

export const DEFAULT_PIN_PATH = "/sys/fs/bpf/floodwall";

/** A scrub node has the same filter. */
const FILTER_KEYS = {
  interfaces: list(text("interfaceName"), CAPTURE_INTERFACES_MAX, { atLeastOne: true }),
  xdp_mode: Type.Unsafe<Static<typeof XdpMode>>({ ...XdpMode, default: "auto" }),
  pin_path: text("absolutePath", { default: DEFAULT_PIN_PATH }),
  on_exit: Type.Unsafe<Static<typeof OnExit>>({ ...OnExit, default: "keep" }),
  allowlist: list(text("addressOrPrefix"), ALLOWLIST_MAX),
  limits: Type.Object({ max_dynamic_rules: integer(8, DYNAMIC_RULES_MAX, 4096) }, withDefaults),
};

export const DataplaneSection = Type.Object({ enabled: boolean(true), ...FILTER_KEYS }, closed);
export const NodeDataplaneSection = Type.Object(FILTER_KEYS, closed);

export interface DataplaneConfig {
  readonly enabled: boolean;
  /** Names; none twice. */
  readonly interfaces: readonly string[];
  readonly xdpMode: "auto" | "native" | "generic";
  /** The folder of the BPF file system in which maps and links outlive the process. */
  readonly pinPath: string;
  /** What becomes of blocks and rules in force when the service stops. */
  readonly onExit: "keep" | "detach";
  /** Sources of which nothing is ever dropped here. */
  readonly allowlist: readonly Prefix[];
  /** Pairs of source blocks and rules of bans, together. */
  readonly maxDynamicRules: number;
}

export function buildDataplane(file: Static<typeof DataplaneSection>): DataplaneConfig {
  return {
    enabled: file.enabled,
    interfaces: file.interfaces,
    xdpMode: file.xdp_mode,
    pinPath: file.pin_path,
    onExit: file.on_exit,
    // The schema let only such texts through.
    allowlist: file.allowlist.map((entry) => parseAddressOrPrefix(entry) as Prefix),
    maxDynamicRules: file.limits.max_dynamic_rules,
  };
}
