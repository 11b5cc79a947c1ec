import { expect, test } from "bun:test";
import { telemetryPath } from "./telemetry-path.ts";

test("the list, and one exporter at a port", () => {
  expect(telemetryPath(undefined, undefined)).toBe("/api/v1/telemetry");
  expect(telemetryPath("2001:db8::1", "[::]:2055")).toBe("/api/v1/telemetry?address=2001%3Adb8%3A%3A1");
});

test("an exporter without a datagram is taken from the list: its address may be a prefix, which the query refuses", () => {
  expect(telemetryPath("198.51.100.0/28", undefined)).toBe("/api/v1/telemetry");
  expect(telemetryPath("192.0.2.77", undefined)).toBe("/api/v1/telemetry");
});
