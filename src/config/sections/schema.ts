/** The shape of the configuration file: its keys, their types, ranges and defaults. What the keys mean: README. */
import { type Static, Type } from "@sinclair/typebox";
import {
  CPU_NUMBER_MAX,
  QUEUE_NUMBER_MAX,
  TICK_MS_MAX,
  TICK_MS_MIN,
  WINDOW_MS_MAX,
  WINDOW_MS_MIN,
} from "../../dataplane/native-constants.ts";
import {
  BGP_NEIGHBORS_MAX,
  CAPTURE_INTERFACES_MAX,
  COMMUNITIES_MAX,
  HOSTGROUPS_MAX,
  HOSTS_MAX,
  PREFIXES_MAX,
} from "../../limits.ts";
import { boolean, closed, integer, list, oneOf, text, withDefaults } from "../load/schema-forms.ts";
import { AllThresholds, AnyThresholds, SomeThresholds } from "../load/threshold-forms.ts";
import { ApiSection } from "./api.ts";
import { BaselineSection, GroupBaseline } from "./baseline.ts";
import { CarpetSection } from "./carpet.ts";
import { DataplaneSection } from "./dataplane.ts";
import { EdgeSection } from "./edge.ts";
import { GROUP_MITIGATION_KEYS, MITIGATION_KEYS } from "./mitigation.ts";
import { ScrubbingSection } from "./nodes.ts";
import { NotifySection, UpdateCheckSection } from "./notify.ts";
import { SamplesSection } from "./samples.ts";
import { StorageSection } from "./storage.ts";

const Interface = Type.Object(
  {
    name: text("interfaceName"),
    /** Required: mirror mode takes every frame off the interface, which nobody should get by default. */
    mode: oneOf("mirror", "inline"),
    backend: Type.Optional(oneOf("af_xdp", "pcap")),
    xdp_mode: Type.Optional(oneOf("auto", "native", "generic")),
    queues: Type.Optional(
      Type.Union([
        Type.Literal("auto"),
        list(integer(0, QUEUE_NUMBER_MAX), QUEUE_NUMBER_MAX + 1, { atLeastOne: true }),
      ]),
    ),
    zero_copy: Type.Optional(oneOf("auto", true, false)),
    cpus: list(integer(0, CPU_NUMBER_MAX), CPU_NUMBER_MAX + 1),
  },
  closed,
);

const Capture = Type.Object(
  {
    interfaces: Type.Optional(list(Interface, CAPTURE_INTERFACES_MAX, { atLeastOne: true })),
    pcap_file: Type.Optional(text("path")),
    pace: Type.Optional(oneOf("real", "max")),
    max_hosts: integer(1, HOSTS_MAX, 1_048_576),
  },
  closed,
);

const Detection = Type.Object(
  {
    window_ms: integer(WINDOW_MS_MIN, WINDOW_MS_MAX, 1000),
    tick_ms: integer(TICK_MS_MIN, TICK_MS_MAX, 100),
    sustain_ms: integer(0, 600_000, 0),
  },
  withDefaults,
);

const Group = Type.Object(
  {
    name: text("groupName"),
    networks: list(text("prefix"), PREFIXES_MAX, { atLeastOne: true }),
    calculation: Type.Unsafe<"per_host" | "total">({ ...oneOf("per_host", "total"), default: "per_host" }),
    /** Partial: what is absent is inherited. */
    thresholds: SomeThresholds,
    thresholds_outgoing: Type.Optional(AnyThresholds),
    baseline: Type.Optional(GroupBaseline),
    ...GROUP_MITIGATION_KEYS,
    tenant: Type.Optional(text("tenantName")),
  },
  closed,
);

const Asn = integer(1, 0xffff_ffff);

const Neighbor = Type.Object(
  {
    address: text("address"),
    remote_asn: Asn,
    port: integer(1, 0xffff, 179),
    password_env: Type.Optional(text("variableName")),
    multihop_ttl: integer(0, 255, 0),
  },
  closed,
);

const Bgp = Type.Object(
  {
    speaker: Type.Unsafe<"managed" | "external">({ ...oneOf("managed", "external"), default: "managed" }),
    grpc: Type.Optional(text("grpcTarget")),
    local_asn: Asn,
    router_id: text("ipv4"),
    listen: Type.Optional(text("socketAddress")),
    next_hop: text("ipv4"),
    next_hop6: text("ipv6", { default: "100::1" }),
    communities: Type.Array(text("community"), { maxItems: COMMUNITIES_MAX, default: ["65535:666"] }),
    local_pref: integer(0, 0xffff_ffff, 0),
    neighbors: list(Neighbor, BGP_NEIGHBORS_MAX),
  },
  closed,
);

export const ConfigFile = Type.Object(
  {
    dry_run: boolean(true),
    networks: list(text("prefix"), PREFIXES_MAX, { atLeastOne: true }),
    protected_whitelist: list(text("addressOrPrefix"), PREFIXES_MAX),
    capture: Type.Optional(Capture),
    detection: Detection,
    thresholds: AllThresholds,
    thresholds_outgoing: Type.Optional(AnyThresholds),
    baseline: Type.Optional(BaselineSection),
    carpet: Type.Optional(CarpetSection),
    hostgroups: list(Group, HOSTGROUPS_MAX),
    ...MITIGATION_KEYS,
    state_dir: text("absolutePath", { default: "/var/lib/floodwall" }),
    bgp: Type.Optional(Bgp),
    dataplane: Type.Optional(DataplaneSection),
    samples: SamplesSection,
    storage: StorageSection,
    scrubbing: Type.Optional(ScrubbingSection),
    edge: Type.Optional(EdgeSection),
    notify: Type.Optional(NotifySection),
    update_check: UpdateCheckSection,
    tenant: Type.Optional(text("tenantName")),
    api: ApiSection,
  },
  closed,
);

/** A valid file, defaults filled in. */
export type ConfigFile = Static<typeof ConfigFile>;
