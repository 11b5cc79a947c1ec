/**
 * The formats of texts in requests, for the API's description, so that generated clients send valid values. Requests
 * themselves are checked by parsers, whose refusals say what is wrong.
 */
import { Type } from "@sinclair/typebox";

/** As accepted by parseAddress: the IPv4-mapped form is not another spelling of an IPv4 address. */
export const ADDRESS_TEXTS = [
  Type.String({ format: "ipv4" }),
  Type.String({ format: "ipv6", not: { pattern: "^(::|(0{1,4}:){5})[fF]{4}:" } }),
] as const;
export const AddressText = Type.Union([...ADDRESS_TEXTS]);

/** As accepted by parseTarget; the host bits of a prefix are ignored. */
export const TargetText = Type.Union([
  ...ADDRESS_TEXTS,
  Type.String({ pattern: "^([1-9]?[0-9]\\.){3}[1-9]?[0-9]/([1-9]|[12][0-9]|3[0-2])$", examples: ["192.0.2.0/24"] }),
]);

/** As accepted by parseTimestamp. */
export const TimeText = Type.String({ format: "date-time", examples: ["2026-01-31T12:00:00Z"] });

/** Name of a zone, a node or a hostgroup. */
export const NameText = Type.String({ minLength: 1 });
