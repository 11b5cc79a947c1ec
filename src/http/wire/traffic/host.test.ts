import { expect, test } from "bun:test";
import { Value } from "@sinclair/typebox/value";
import { host } from "../../../../test/fixtures/views.ts";
import { HostWire, hostToWire } from "./host.ts";

test("a calm host has rates of both directions and no metric", () => {
  const wire = hostToWire(host());
  expect(wire).toEqual({
    target: "192.0.2.1",
    group: "global",
    rates: { pps: 10, mbps: 0.5, flows_per_sec: 1 },
    rates_out: { pps: 0, mbps: 0, flows_per_sec: 0 },
    in_attack: false,
  });
  expect(Value.Check(HostWire, wire)).toBe(true);
});

test("a sampled host says how exact its rates are", () => {
  const error = { pps: 0.12345, mbps: 0.2 };
  const wire = hostToWire(host({ samplingError: error, samplingErrorOut: error }));
  expect(wire).toMatchObject({ sampling_error: { pps: 0.123, mbps: 0.2 }, sampling_error_out: { pps: 0.123 } });
  expect(Value.Check(HostWire, wire)).toBe(true);
});

test("a host in attack names the attack's metric and direction #host-in-attack", () => {
  const wire = hostToWire(host({ attack: { metric: "tcp_syn_pps", direction: "incoming" } }));
  expect(wire).toMatchObject({ in_attack: true, metric: "tcp_syn_pps", direction: "incoming" });
  expect(Value.Check(HostWire, wire)).toBe(true);
});
