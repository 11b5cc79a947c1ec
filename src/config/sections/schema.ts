/**
 * The schema of the configuration file: keys, types, ranges, defaults and descriptions. `make docs` generates the
 * reference, docs/configuration.md, from it.
 */
import { type Static, Type } from "@sinclair/typebox";
import { HOSTGROUPS_MAX, PREFIXES_MAX } from "../../limits.ts";
import { TICK_MS_MAX, TICK_MS_MIN, WINDOW_MS_MAX, WINDOW_MS_MIN } from "../../native/constants.ts";
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
import { AllThresholds, AnyThresholds, SomeThresholds } from "../load/threshold-forms.ts";
import { ApiSection } from "./api.ts";
import { BaselineSection, GroupBaseline } from "./baseline.ts";
import { BgpSection } from "./bgp.ts";
import { Capture } from "./capture.ts";
import { CarpetSection } from "./carpet.ts";
import { ClusterSection } from "./cluster.ts";
import { DataplaneSection } from "./dataplane.ts";
import { EdgeSection } from "./edge.ts";
import { FilterRules } from "./filter-rules.ts";
import { Maintenance } from "./maintenance.ts";
import { GROUP_MITIGATION_KEYS, MITIGATION_KEYS } from "./mitigation.ts";
import { ScrubbingSection } from "./nodes.ts";
import { NotifySection, UpdateCheckSection } from "./notify.ts";
import { OrderTemplates } from "./order-templates.ts";
import { PrefixSetsSection } from "./prefix-sets.ts";
import { SamplesSection } from "./samples.ts";
import { StorageSection } from "./storage.ts";
import { TelemetrySection } from "./telemetry.ts";

const INCLUDES_MAX = 64;

/** Beyond the maximum, a probability has no digits left beside 1. */
const CONFIDENCE_MIN = 0.9;
const CONFIDENCE_MAX = 0.999_999_999_999;
export const CONFIDENCE_DEFAULT = 0.999_999_99;

const Detection = described(
  defaultedObject({
    window_ms: described(
      integer(WINDOW_MS_MIN, WINDOW_MS_MAX, 1000),
      "The length of the sliding window over which rates are measured. A shorter window detects sooner and raises more false alarms.",
    ),
    tick_ms: described(
      integer(TICK_MS_MIN, TICK_MS_MAX, 100),
      "How often rates are compared with thresholds. `window_ms` must be a multiple of it.",
    ),
    sustain_ms: described(integer(0, 600_000, 0), "How long a rate must stay above a threshold to become an attack."),
    sampling: described(
      defaultedObject({
        confidence: described(
          Type.Number({ minimum: CONFIDENCE_MIN, maximum: CONFIDENCE_MAX, default: CONFIDENCE_DEFAULT }),
          "The probability with which such a rate must be above a threshold to start an attack, in each judgement.",
        ),
      }),
      "How rates of [sampled traffic](sampling.md), which are estimates, are judged.",
    ),
  }),
  "How rates are measured and judged.",
  { examples: [{ window_ms: 500, tick_ms: 50 }] },
);

/** Contacts of a hostgroup. */
const CONTACTS_MAX = 8;

export const Group = closedObject({
  name: described(
    text("groupName"),
    "The name of the group, unique. `global` is not allowed: it is the name of the group that all other addresses are in.",
  ),
  networks_file: described(
    Type.Optional(text("path")),
    "A file with further prefixes of the group, one a line; what follows a `#` is a comment. Relative to the file that names it, at most 1 MiB, and read at each reload.",
  ),
  contacts: described(
    list(text("description"), CONTACTS_MAX),
    "Contacts for the group, shown beside it to callers without a tenant.",
  ),
  networks: described(
    list(text("prefix"), PREFIXES_MAX, { atLeastOne: true }),
    "The prefixes of the group, inside the top-level `networks` and in no other group. An address belongs to the group with the longest prefix.",
  ),
  calculation: described(
    Type.Unsafe<"per_host" | "total">({ ...oneOf("per_host", "total"), default: "per_host" }),
    "`per_host` judges each host of the group. `total` judges the sum of all its hosts instead; such a group raises attacks and never bans.",
  ),
  /** Partial: absent thresholds are inherited. */
  thresholds: described(SomeThresholds, "Thresholds of the group, in place of the top-level ones.", {
    ifAbsent: "inherited",
  }),
  thresholds_outgoing: described(
    Type.Optional(AnyThresholds),
    "Thresholds for the traffic that hosts of the group send, in place of the top-level ones; 0 switches an inherited one off.",
    { ifAbsent: "inherited" },
  ),
  baseline: described(Type.Optional(GroupBaseline), "Learned limits of the group, in place of the top-level ones.", {
    ifAbsent: "inherited",
  }),
  ...GROUP_MITIGATION_KEYS,
  tenant: described(Type.Optional(text("tenantName")), "The tenant that the addresses of the group belong to."),
});

const HOSTGROUP_EXAMPLE = {
  name: "web",
  networks: ["192.0.2.0/25"],
  thresholds: { pps: 500_000, tcp_syn_pps: 50_000 },
  baseline: { floor: { pps: 20_000, mbps: 200, flows_per_sec: 10_000 } },
  mitigation: "flowspec",
  scrub: { services: [{ protocol: "tcp", ports: ["80", "443"] }, { protocol: "icmp" }] },
  ban: { ttl_seconds: 300 },
};

export const ConfigFile = described(
  closedObject({
    dry_run: described(
      boolean(true),
      "While true, attacks are detected and bans recorded, but nothing is announced and no packet is dropped.",
    ),
    networks: described(
      list(text("prefix"), PREFIXES_MAX, { atLeastOne: true }),
      "The protected prefixes. They must not overlap, and together with those of hostgroups there may be 100000. An IPv6 prefix must not contain `::ffff:0:0/96`.",
    ),
    protected_whitelist: described(
      list(text("addressOrPrefix"), PREFIXES_MAX),
      "Addresses that are never banned. They are still judged and shown. Those that the service itself needs (router id, listeners, neighbors, next hops, scrub nodes, exporters, mirrors, ends of tunnels) need no entry; of exporters and mirrors in a prefix wider than a /24, or an IPv6 /64, list the addresses here.",
    ),
    capture: Type.Optional(Capture),
    telemetry: Type.Optional(TelemetrySection),
    detection: Detection,
    thresholds: described(
      AllThresholds,
      "The rates of a host above which it is under attack. The first threshold that is exceeded, in this order, names the attack.",
      { valueIfAbsent: 0, examples: [{ pps: 100_000, mbps: 1000, flows_per_sec: 50_000, tcp_syn_pps: 20_000 }] },
    ),
    thresholds_outgoing: described(
      Type.Optional(AnyThresholds),
      "The same for the traffic that a host sends; at least one must be above 0. Without this section outgoing traffic is neither counted nor judged.",
      { valueIfAbsent: 0, examples: [{ pps: 100_000, udp_mbps: 500 }] },
    ),
    baseline: Type.Optional(BaselineSection),
    carpet: Type.Optional(CarpetSection),
    hostgroups: described(
      list(Group, HOSTGROUPS_MAX),
      "Groups of networks with settings of their own. All other addresses are in the group `global`, which has the top-level settings.",
      { examples: [[HOSTGROUP_EXAMPLE]] },
    ),
    include: described(
      Type.Optional(Type.Union([text("path"), list(text("path"), INCLUDES_MAX, { atLeastOne: true })])),
      "Files with the keys of one hostgroup each: one file for each customer. In the name of a file `*` stands for any text (`customers/*.yaml`). Relative to this file; at most 4096 files of 1 MiB, and 16 MiB together. They are read at each reload, which is refused while one has an error.",
      { examples: ["customers/*.yaml"] },
    ),
    ...MITIGATION_KEYS,
    state_dir: described(
      text("absolutePath", { default: "/var/lib/floodwall" }),
      "The directory of the state that must survive a restart: bans, source blocks, baselines, profiles of hosts, keys.",
    ),
    bgp: Type.Optional(BgpSection),
    dataplane: Type.Optional(DataplaneSection),
    order_templates: OrderTemplates,
    maintenance: Maintenance,
    filter_rules: FilterRules,
    prefix_sets: PrefixSetsSection,
    samples: SamplesSection,
    storage: StorageSection,
    scrubbing: Type.Optional(ScrubbingSection),
    edge: Type.Optional(EdgeSection),
    notify: Type.Optional(NotifySection),
    update_check: UpdateCheckSection,
    tenant: described(Type.Optional(text("tenantName")), "The tenant of all addresses that are in no hostgroup."),
    api: ApiSection,
    cluster: Type.Optional(ClusterSection),
  }),
  "The service reads its configuration from `/etc/floodwall/floodwall.yaml`, or from the file that `--config` names. `networks` and `thresholds` are required.",
  {
    examples: [
      {
        dry_run: true,
        networks: ["192.0.2.0/24", "2001:db8::/32"],
        protected_whitelist: ["192.0.2.53"],
        thresholds: { pps: 100_000, mbps: 1000, flows_per_sec: 50_000 },
        mitigation: "blackhole",
        state_dir: "/var/lib/floodwall",
        tenant: "example",
      },
    ],
  },
);

/** A valid file with defaults. */
export type ConfigFile = Static<typeof ConfigFile>;
