/**
 * The forms of text that requests hold, as the API's description has them: programs that are made from it send nothing
 * that is refused. What judges a request are the parsers, whose refusals name what is wrong.
 */
import { Type } from "@sinclair/typebox";

/** As parseAddress takes it: an IPv4 address in its mapped form is no other spelling of it. */
export const ADDRESS_TEXTS = [
  Type.String({ format: "ipv4" }),
  Type.String({ format: "ipv6", not: { pattern: "^(::|(0{1,4}:){5})[fF]{4}:" } }),
] as const;
export const AddressText = Type.Union([...ADDRESS_TEXTS]);

/** As parseTimestamp takes it. */
export const TimeText = Type.String({ format: "date-time", examples: ["2026-01-31T12:00:00Z"] });

/** Of a zone, a node or a hostgroup. */
export const NameText = Type.String({ minLength: 1 });
