import { expect, test } from "bun:test";
import { configOf } from "../../test/fixtures/config/parsed-config.ts";
import { needsOf } from "./needs.ts";
import { uselessCapabilities } from "./rights.ts";

const BASE = { networks: ["203.0.113.0/24"], thresholds: { pps: 1, mbps: 1, flows_per_sec: 1 } };

function uselessFor(file: object, ports: readonly number[] = []): string {
  return uselessCapabilities(needsOf(configOf(JSON.stringify({ ...BASE, ...file }))), ports)
    .join(" ")
    .replaceAll("CAP_", "");
}

const TELEMETRY = { listen: [{ port: 2055 }], exporters: [{ address: "192.0.2.1", name: "edge1" }] };
const capture = (interfaces: object) => ({ capture: { interfaces: [{ name: "eth0", ...interfaces }] } });

test.each([
  ["a control plane", {}, "NET_BIND_SERVICE NET_ADMIN PERFMON BPF NET_RAW"],
  ["a capture file", { capture: { pcap_file: "/x" } }, "NET_BIND_SERVICE NET_ADMIN PERFMON BPF NET_RAW"],
  ["a mirror port", capture({ mode: "mirror" }), "NET_BIND_SERVICE"],
  ["libpcap", capture({ mode: "mirror", backend: "pcap" }), "NET_BIND_SERVICE NET_ADMIN PERFMON BPF"],
  ["an inline interface", capture({ mode: "inline" }), "NET_BIND_SERVICE NET_RAW"],
  ["telemetry", { telemetry: TELEMETRY }, "NET_BIND_SERVICE PERFMON BPF NET_RAW"],
  ["the data plane alone", { dataplane: { interfaces: ["eth1"] } }, "NET_BIND_SERVICE NET_RAW"],
])("%s", (_, file, useless) => {
  expect(uselessFor(file)).toBe(useless);
});

test.each([
  [[179, 8080], false],
  [[443], false],
  [[1023], false],
  [[1024, 0, -1], true],
])("listeners on %j: binding is useless: %p", (ports, isUseless) => {
  expect(uselessFor({}, ports).includes("NET_BIND_SERVICE")).toBe(isUseless);
});
