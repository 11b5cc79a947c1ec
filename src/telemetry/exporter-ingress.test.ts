import { expect, test } from "bun:test";
import { address } from "../../test/fixtures/host-rows.ts";
import { ingressOfReadings } from "./exporter-ingress.ts";

const counts = { recordsIn: 1, packetsIn: 1, bytesIn: 1, recordsOut: 0, packetsOut: 0, bytesOut: 0, role: "unset" };

test("the numbers of a sampled packet stand for exporter and interface, by their names where these are known", () => {
  const ingressOf = ingressOfReadings([
    {
      ...{ number: 1, address: address("192.0.2.1"), name: "edge1" },
      interfaces: [{ index: 7, name: "xe-0/0/1", ...counts }],
    },
    { ...{ number: 2, address: address("192.0.2.2"), name: null }, interfaces: [] },
  ]);
  expect(ingressOf({ exporter: 1, input: 7 })).toEqual({ exporter: "edge1", interface: 7, name: "xe-0/0/1" });
  expect(ingressOf({ exporter: 1, input: 8 })).toEqual({ exporter: "edge1", interface: 8, name: null });
  expect(ingressOf({ exporter: 2, input: 0 })).toEqual({ exporter: "192.0.2.2", interface: 0, name: null });
  expect(ingressOf({ exporter: 3, input: 7 })).toBeNull();
});
