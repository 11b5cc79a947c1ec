/** Sets of thresholds, as the sections of the configuration file that have some write them. */
import { Type } from "@sinclair/typebox";
import { closed, withDefaults } from "./schema-forms.ts";

/** A threshold. The base trio cannot be off. */
const Limit = Type.Number({ exclusiveMinimum: 0 });
/** A threshold; 0 is off. */
const OptionalLimit = Type.Number({ minimum: 0 });
const BASE = { pps: Limit, mbps: Limit, flows_per_sec: Limit };
const OPTIONAL = {
  tcp_pps: Type.Optional(OptionalLimit),
  tcp_mbps: Type.Optional(OptionalLimit),
  udp_pps: Type.Optional(OptionalLimit),
  udp_mbps: Type.Optional(OptionalLimit),
  icmp_pps: Type.Optional(OptionalLimit),
  icmp_mbps: Type.Optional(OptionalLimit),
  tcp_syn_pps: Type.Optional(OptionalLimit),
  tcp_syn_mbps: Type.Optional(OptionalLimit),
  frag_pps: Type.Optional(OptionalLimit),
  frag_mbps: Type.Optional(OptionalLimit),
};

/** Any of them; 0 is off. */
export const AnyThresholds = Type.Object(
  {
    pps: Type.Optional(OptionalLimit),
    mbps: Type.Optional(OptionalLimit),
    flows_per_sec: Type.Optional(OptionalLimit),
    ...OPTIONAL,
  },
  closed,
);

/** The base trio is required. */
export const AllThresholds = Type.Object({ ...BASE, ...OPTIONAL }, closed);

/** What is absent is inherited; the base trio cannot be switched off. */
export const SomeThresholds = Type.Partial(Type.Object({ ...BASE, ...OPTIONAL }), withDefaults);
