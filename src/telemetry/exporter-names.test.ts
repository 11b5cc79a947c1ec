import { expect, test } from "bun:test";
import { address } from "../../test/fixtures/host-rows.ts";
import { exporterReading, interfaceReading } from "../../test/fixtures/telemetry/exporters.ts";
import { ExporterNames } from "./exporter-names.ts";

const of = (...readings: ReturnType<typeof exporterReading>[]) => {
  const names = new ExporterNames();
  names.take(readings);
  return (exporter: number, input: number) => names.of({ exporter, input });
};

test("an interface has the name that its exporter gave it, and an exporter the name of its entry or its address", () => {
  const named = of(exporterReading(), exporterReading({ number: 2, name: null, address: address("192.0.2.9") }));
  expect(named(1, 17)).toEqual({ exporter: "edge1", interface: 17, name: "et-0/0/1" });
  expect(named(2, 3)).toEqual({ exporter: "192.0.2.9", interface: 3, name: null });
  expect(named(3, 17)).toBeNull();
});

test("of two exporters with one number the one that has the interface is named, and none if both have it", () => {
  const own = interfaceReading({ index: 5, name: "xe-1" });
  const named = of(exporterReading(), exporterReading({ listen: "[::]:6343", name: "edge2", interfaces: [own] }));
  expect(named(1, 5)).toEqual({ exporter: "edge2", interface: 5, name: "xe-1" });
  expect(named(1, 17)?.exporter).toBe("edge1");
  expect(of(exporterReading(), exporterReading({ name: "edge2" }))(1, 17)).toBeNull();
});
