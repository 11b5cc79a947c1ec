/** The report of an exporter about a packet that it sampled: where it came into the network, and more. */
import { REPORTED_FIELDS } from "../native/constants.ts";

/** The numbers in a sampled packet's record. */
export interface IngressKey {
  /** In the table of exporters, from 1 on. */
  readonly exporter: number;
  /** Number of the exporter's interface (ifIndex); 0: not known. */
  readonly input: number;
}

/** A field that an exporter reports of a packet: the lines IN_SAMPLE of addon/abi/flow_fields_abi.h define each. */
export type ReportedField = keyof typeof REPORTED_FIELDS;

/** Those that do not say where it came into the network. */
export type CarriedField = Exclude<ReportedField, keyof IngressKey>;
export const CARRIED_FIELDS = (Object.keys(REPORTED_FIELDS) as ReportedField[]).filter(
  (field): field is CarriedField => field !== "exporter" && field !== "input",
);

/** Fields of a packet that its exporter reported; an absent field is not known. */
export interface ReportedByExporter extends Readonly<Partial<Record<CarriedField, number>>> {
  readonly ingress?: IngressKey;
}

export interface Ingress {
  /** Its name, or its address if it has none. */
  readonly exporter: string;
  readonly interface: number;
  /** null: the exporter did not say. */
  readonly name: string | null;
}

/** Never throws; null: the exporter is not known any more. */
export type IngressOf = (key: IngressKey) => Ingress | null;

/** Without a table of exporters. */
export const numberedIngress: IngressOf = ({ exporter, input }) => ({
  exporter: `exporter ${exporter}`,
  interface: input,
  name: null,
});

/** `edge1 xe-0/0/1`, or `edge1 interface 17`. */
export function ingressText({ exporter, interface: number, name }: Ingress): string {
  return `${exporter} ${name ?? `interface ${number}`}`;
}
