/** Which exporter and interface the numbers in a sampled packet stand for. */
import type { IngressOf } from "../traffic/ingress.ts";
import type { ExporterReading } from "./exporter-reading.ts";

export function ingressOfReadings(
  readings: readonly Pick<ExporterReading, "number" | "address" | "name" | "interfaces">[],
): IngressOf {
  const exporters = new Map(
    readings.map(({ number, address, name, interfaces }) => [
      number,
      { exporter: name ?? address, names: new Map(interfaces.map((one) => [one.index, one.name])) },
    ]),
  );
  return ({ exporter: number, input }) => {
    const known = exporters.get(number);
    if (known === undefined) return null;
    return { exporter: known.exporter, interface: input, name: known.names.get(input) ?? null };
  };
}
