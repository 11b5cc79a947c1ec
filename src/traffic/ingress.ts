/** Where a packet came into the network, as the exporter of flow telemetry that sampled it says. */

/** The numbers in a sampled packet's record. */
export interface IngressKey {
  /** In the table of exporters, from 1 on. */
  readonly exporter: number;
  /** Of the exporter's interface (ifIndex); 0: not known. */
  readonly input: number;
}

/** Fields of a packet that its exporter reported; an absent field is not known. */
export interface ReportedByExporter {
  readonly ingress?: IngressKey;
  /** Autonomous system of the source, in the exporter's routing table. */
  readonly sourceAs?: number;
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
