/** The section `dataplane`: where XDP drops packets itself, and how much it may hold (docs/interface.md#source-block-refusals). */
import { type Static, Type } from "@sinclair/typebox";
import { type DataplaneConfig, DEFAULT_PIN_PATH } from "../../dataplane/dataplane-config.ts";
import { ALLOWLIST_MAX, DYNAMIC_RULES_MAX } from "../../limits.ts";
import { FILTER_SOURCES_MAX } from "../../native/constants.ts";
import type { Prefix } from "../../net/prefix.ts";
import {
  boolean,
  closedObject,
  defaultedObject,
  described,
  integer,
  list,
  oneOf,
  text,
} from "../../schema/schema-forms.ts";
import { parseAddressOrPrefix } from "../../schema/text-forms.ts";
import { CAPTURE_INTERFACES_MAX } from "./capture.ts";
import { buildTunnel, FORWARD_EXAMPLE, FORWARD_KEYS } from "./forward.ts";

const XdpMode = oneOf("auto", "native", "generic");
const OnExit = oneOf("keep", "detach");

/** Shared with the configuration of scrub nodes. */
const FILTER_KEYS = {
  interfaces: described(
    list(text("interfaceName"), CAPTURE_INTERFACES_MAX, { atLeastOne: true }),
    "The interfaces on which arriving packets are dropped. Each may be listed once.",
  ),
  xdp_mode: described(
    Type.Unsafe<Static<typeof XdpMode>>({ ...XdpMode, default: "auto" }),
    "Where the XDP program runs: `native` in the driver, `generic` in the kernel (any driver, slower), `auto` native where the driver can.",
  ),
  pin_path: described(
    text("absolutePath", { default: DEFAULT_PIN_PATH }),
    "A directory in a BPF file system. Programs and rules are kept there, so that they outlive the process.",
  ),
  on_exit: described(
    Type.Unsafe<Static<typeof OnExit>>({ ...OnExit, default: "keep" }),
    "Whether blocks and rules outlive the process: `keep` leaves each in force until it expires, `detach` lets all packets pass.",
  ),
  ...FORWARD_KEYS,
  allowlist: described(
    list(text("addressOrPrefix"), ALLOWLIST_MAX),
    "Sources whose packets are never dropped here. With `decapsulate` of an inline interface, a packet inside of a tunnel is judged by its own addresses.",
  ),
  limits: described(
    defaultedObject({
      max_dynamic_rules: described(
        integer(8, DYNAMIC_RULES_MAX, 4096),
        "The number of rules in the kernel: source blocks and rules of bans together. The service needs at least 8 for each of `ban.max_active_bans`, and where bans scrub as many more as the largest filter has: one for each service, and up to eight; and at least 4 for each of `filter_rules`.",
      ),
      max_sources: described(
        integer(1024, FILTER_SOURCES_MAX, 262_144),
        "The number of sources of TCP that the kernel knows to be real, at 16 bytes each. In a full table, sources that were seen once make room first, then those that have not sent for longest. Half of it is kept for sources that were learned before an attack, if there are as many.",
      ),
    }),
    "Bounds of the tables in the kernel.",
  ),
};

export const DataplaneSection = described(
  closedObject({
    enabled: described(boolean(true), "`false` has the same effect as leaving the section out."),
    ...FILTER_KEYS,
  }),
  "Drops packets on this machine by XDP, before its network stack sees them. Without this section no source can be blocked. An interface that `capture` reads as a mirror port with `af_xdp` cannot be listed.",
  { examples: [{ interfaces: ["eth0"], allowlist: ["198.51.100.0/24"] }, FORWARD_EXAMPLE] },
);
export const NodeDataplaneSection = described(
  closedObject(FILTER_KEYS),
  "Drops packets on this node by XDP. Beside a service with `dataplane` on the same machine, one of the two needs another `pin_path`.",
  { examples: [{ interfaces: ["eth1"] }, FORWARD_EXAMPLE] },
);

export function buildDataplane(file: Static<typeof DataplaneSection>): DataplaneConfig {
  return {
    enabled: file.enabled,
    interfaces: file.interfaces,
    xdpMode: file.xdp_mode,
    pinPath: file.pin_path,
    onExit: file.on_exit,
    forward: file.forward,
    tunnels: file.tunnels.map(buildTunnel),
    // The schema accepts only valid texts.
    allowlist: file.allowlist.map((entry) => parseAddressOrPrefix(entry) as Prefix),
    maxDynamicRules: file.limits.max_dynamic_rules,
    maxSources: file.limits.max_sources,
  };
}
