import { afterEach, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Namespace, Namespaces, namespacesUnavailable } from "./namespaces.ts";
import { type Sent, TRAFFIC_SOURCE } from "./world.ts";

const XDP_PASS = join(TRAFFIC_SOURCE, "../xdp_pass.bpf.o");

const unavailable = namespacesUnavailable() ?? (existsSync(TRAFFIC_SOURCE) ? null : "needs build/lab/traffic_source");

let namespaces: Namespaces;
afterEach(() => namespaces?.close());

function pair(): { readonly near: Namespace; readonly far: Namespace } {
  namespaces = new Namespaces();
  const [near, far] = [namespaces.add("near"), namespaces.add("far")];
  namespaces.connect({ namespace: near, device: "veth" }, { namespace: far, device: "veth" });
  return { near, far };
}

function send(from: Namespace, ...options: string[]): Sent & { readonly path: string } {
  return JSON.parse(from.run([TRAFFIC_SOURCE, "--dev", "veth", "--dst", "10.0.0.1", ...options]));
}

describe.skipIf(unavailable !== null)(`traffic source${unavailable === null ? "" : ` (${unavailable})`}`, () => {
  test("reports exactly what arrives at the far end", () => {
    const { near, far } = pair();
    const report = send(near, "--profile", "mixed", "--hosts", "10", "--pps", "10000", "--count", "1000");
    expect(report).toMatchObject({ path: "socket", packets: 1000, device_drops: 0 });
    const received = /veth:\s*(\d+)\s+(\d+)/.exec(far.run(["cat", "/proc/net/dev"]));
    expect(received?.slice(1).map(Number)).toEqual([report.bytes, 1000]);
  });

  test("sends UDP frames of the requested length", () => {
    const { near } = pair();
    expect(send(near, "--bytes", "1496", "--count", "10")).toMatchObject({ packets: 10, bytes: 14_960 });
  });

  test("reports when a marked packet was sent, by both paths", () => {
    const { near, far } = pair();
    const marked = (...options: string[]) => send(near, "--count", "100", "--mark", ...options).marked_packet_ns;
    const last = send(near, "--count", "100", "--mark", "100");
    expect(last.marked_packet_ns).toBe(last.duration_ns);
    expect(marked("1")).toBeGreaterThan(0);
    expect(marked("101")).toBe(0);
    far.run(["ip", "link", "set", "dev", "veth", "xdp", "object", XDP_PASS, "section", "xdp"]);
    expect(marked("50", "--path", "live")).toBeGreaterThan(0);
    expect(marked("101", "--path", "live")).toBe(0);
  });

  test("reports by how much the latest packet was late", () => {
    const { near } = pair();
    // After a break of the sender, the packets that were due meanwhile are late.
    const isUnderWay = "[ $(cat /sys/class/net/veth/statistics/tx_packets) -ge 20 ]";
    const pause = "kill -STOP $pid; sleep 0.2; kill -CONT $pid";
    const stopped = `"$@" & pid=$!; until ${isUnderWay}; do sleep 0.01; done; ${pause}; wait $pid`;
    const options = ["--dev", "veth", "--dst", "10.0.0.1", "--pps", "100", "--seconds", "2"];
    const late: Sent = JSON.parse(near.run(["sh", "-c", stopped, "sh", TRAFFIC_SOURCE, ...options]));
    expect(late.late_ns).toBeGreaterThan(100e6);
    expect(send(near, "--pps", "0", "--count", "10", "--path", "socket").late_ns).toBe(0);
  });

  test("refuses to send from the network namespace of the host", () => {
    const result = Bun.spawnSync([TRAFFIC_SOURCE, "--dev", "lo", "--dst", "10.0.0.1"], { stderr: "pipe" });
    expect(result.exitCode).toBe(1);
    expect(result.stderr.toString()).toMatch(
      /this (is the network namespace of the host|network namespace has no name)/,
    );
  });

  test.each([
    // Without an XDP program at the far end frames of the kernel are lost.
    [["--pps", "100000", "--count", "100"], "attach an XDP program to the far end"],
    [["--pps", "many"], "--pps: not a number"],
    [["--profile", "teardrop"], "unknown profile teardrop"],
    [["--dst", "10.0.0.256"], "not an address"],
    [["--ports", "0"], "--ports: not a number from 1 to 45536"],
    [["--speed", "1"], "unknown option --speed"],
  ])("refuses %j and says why", (options, message) => {
    const { near } = pair();
    expect(() => send(near, ...options)).toThrow(message);
  });
});
