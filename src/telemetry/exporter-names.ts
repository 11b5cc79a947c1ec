/**
 * The names of exporters and of their interfaces, by the numbers in sampled headers. Each listener numbers its exporters by
 * itself: where several have the number, the one that has the interface is named.
 */
import type { Ingress, IngressKey } from "../traffic/ingress.ts";
import type { ExporterReading } from "./exporter-reading.ts";

export class ExporterNames {
  #byNumber: ReadonlyMap<number, readonly ExporterReading[]> = new Map();

  /** All exporters as they are now. */
  take(readings: readonly ExporterReading[]): void {
    this.#byNumber = Map.groupBy(readings, ({ number }) => number);
  }

  /** null: the exporter is not known, or more than one may be meant. */
  of({ exporter, input }: IngressKey): Ingress | null {
    const all = this.#byNumber.get(exporter) ?? [];
    const known =
      all.length < 2 ? all : all.filter(({ interfaces }) => interfaces.some(({ index }) => index === input));
    const [reading] = known;
    if (reading === undefined || known.length > 1) return null;
    const name = reading.interfaces.find(({ index }) => index === input)?.name ?? null;
    return { exporter: reading.name ?? reading.address, interface: input, name };
  }
}
