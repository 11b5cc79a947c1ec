import { describe, expect, test } from "bun:test";
import { queue } from "../../test/fixtures/dataplane/capture-views.ts";
import { filledMetrics } from "../../test/fixtures/metrics.ts";
import { ban } from "../../test/fixtures/views.ts";
import { CountedBans, countBans } from "../mitigation/counted-bans.ts";
import { Metrics } from "./metrics.ts";

/** Names from the client library, kept although they violate the naming rule for gauges. */
const LIBRARY_COMPLAINTS = [
  'nodejs_active_handles_total non-counter metrics should not have "_total" suffix',
  'nodejs_active_requests_total non-counter metrics should not have "_total" suffix',
  'nodejs_active_resources_total non-counter metrics should not have "_total" suffix',
];

async function lines(metrics: Metrics): Promise<string[]> {
  return (await metrics.text()).split("\n");
}

describe("metrics", () => {
  test("show what each was given", async () => {
    const shown = (await lines(filledMetrics())).filter((line) => line.startsWith("svc_"));
    const names = Map.groupBy(shown, (line) => line.replace(/(_bucket|_sum|_count)?[ {].*/, ""));
    const zeros = [...names].filter(([, samples]) => samples.every((line) => line.endsWith(" 0")));
    expect(zeros.map(([name]) => name)).toEqual([]);
  });

  test("count by interface and queue what the sources counted, and lose nothing between scrapes", async () => {
    const metrics = new Metrics("1");
    let receivedPackets = 10;
    metrics.beforeScrape(() => {
      const queues = [
        queue({
          receivedPackets,
          parseErrors: { truncated: 4, not_ip: 0 },
          notIp: { arp: 5 },
          droppedFillEmpty: 2,
          lostSamples: 3,
        }),
        queue({ queue: 1, receivedPackets: 1 }),
      ];
      metrics.capture.setSources([{ name: "eth0", kind: "af_xdp", state: "running", queues }]);
    });
    expect(await lines(metrics)).toContain('svc_capture_received_packets_total{interface="eth0",queue="0"} 10');
    receivedPackets = 25;
    const second = await lines(metrics);
    expect(second).toContain('svc_capture_received_packets_total{interface="eth0",queue="0"} 25');
    expect(second).toContain('svc_capture_received_packets_total{interface="eth0",queue="1"} 1');
    expect(second).toContain('svc_capture_not_ip_frames_total{interface="eth0",queue="0",kind="arp"} 5');
    expect(second).toContain('svc_capture_parse_errors_total{interface="eth0",queue="0",reason="truncated"} 4');
    expect(second).toContain('svc_capture_dropped_packets_total{interface="eth0",queue="0",reason="fill_empty"} 2');
    expect(second).toContain('svc_capture_lost_samples_total{interface="eth0",queue="0"} 3');
  });

  test("say whether look-ups of routes are shared only where packets are forwarded by XDP", async () => {
    const metrics = filledMetrics();
    const kept = async () =>
      (await lines(metrics)).filter((line) => line.startsWith("svc_dataplane_forward_keeps_routes"));
    expect(await kept()).toEqual(["svc_dataplane_forward_keeps_routes 1"]);
    const filter = { pairs: 0, rules: 0, maxRules: 8, interfaces: [], verdicts: {}, forward: null };
    metrics.dataplane.set({ state: "up", rulesLeftOut: {}, filterRulesLeftOut: 0, filter });
    expect(await kept()).toEqual([]);
  });

  test("name one state for each source and forget sources that are gone", async () => {
    const metrics = new Metrics("1");
    metrics.capture.setSources([
      { name: "eth0", kind: "af_xdp", state: "failed", queues: [] },
      { name: "eth1", kind: "pcap_live", state: "running", queues: [queue({ queue: -1 })] },
    ]);
    const first = await lines(metrics);
    expect(first).toContain('svc_capture_source_state{interface="eth0",kind="af_xdp",state="failed"} 1');
    expect(first).toContain('svc_capture_source_state{interface="eth0",kind="af_xdp",state="running"} 0');
    expect(first).toContain('svc_capture_received_packets_total{interface="eth1",queue="all"} 0');
    metrics.capture.setSources([]);
    expect((await metrics.text()).includes("eth0")).toBe(false);
  });

  test("show attacks by metric, with a zero before the first", async () => {
    const metrics = new Metrics("1");
    metrics.detection.setActive([{ metric: "pps" }, { metric: "pps" }]);
    metrics.detection.attackStarted("tcp_syn_pps");
    const text = await lines(metrics);
    expect(text).toContain('svc_attacks_active{metric="pps"} 2');
    expect(text).toContain('svc_attacks_active{metric="mbps"} 0');
    expect(text).toContain('svc_attacks_total{metric="tcp_syn_pps"} 1');
    expect(text).toContain('svc_attacks_total{metric="pps"} 0');
  });

  test("show bans by state and method, and neighbors by state only", async () => {
    const metrics = new Metrics("1");
    const bans = new CountedBans<string>();
    for (const target of ["192.0.2.1", "192.0.2.2"]) bans.set(target, ban({ target }));
    metrics.mitigation.setBans(countBans([bans]));
    metrics.mitigation.setBgp({
      connected: true,
      neighbors: [{ state: "established" }, { state: "idle" }, { state: "idle" }],
      routesWanted: 3,
      routesAnnounced: 2,
    });
    const text = await lines(metrics);
    expect(text).toContain('svc_bans{state="active",method="blackhole"} 2');
    expect(text).toContain('svc_bans{state="rejected",method="blackhole"} 0');
    expect(text).toContain('svc_bgp_neighbors{state="idle"} 2');
    expect(text).toContain("svc_bgp_routes_wanted 3");
    expect(text).toContain("svc_bgp_routes_announced 2");
  });

  test("never take a label from a client's words", async () => {
    const metrics = new Metrics("1");
    metrics.api.answered({ route: "unknown", method: "PROPFIND", status: 404, seconds: 0.001 });
    expect(await lines(metrics)).toContain('svc_api_requests_total{route="unknown",method="other",status="404"} 1');
  });
});

describe("the registry", () => {
  test("holds names that all start with svc_ or are the client library's own, and counters end in _total", async () => {
    const metrics = filledMetrics();
    const types = (await lines(metrics)).filter((line) => line.startsWith("# TYPE ")).map((line) => line.split(" "));
    expect(types.length).toBeGreaterThan(30);
    for (const [, , name = "", type] of types) {
      expect(name).toMatch(/^(svc_|process_|nodejs_)/);
      if (name.startsWith("svc_")) expect(name.endsWith("_total")).toBe(type === "counter");
    }
  });

  test("is not shared between two services in one process", async () => {
    const first = new Metrics("1");
    first.api.failed("status");
    expect(await new Metrics("2").text()).not.toContain('svc_api_faults_total{route="status"}');
  });
});

const promtool = Bun.which("promtool");
const skipped = promtool === null ? " (skipped: promtool is not installed)" : "";

test.skipIf(promtool === null)(`promtool finds nothing amiss in our metrics${skipped}`, async () => {
  const metrics = filledMetrics({ interfaces: 64, queues: 16 });
  const check = Bun.spawn(["promtool", "check", "metrics"], {
    stdin: new Blob([await metrics.text()]),
    stdout: "pipe",
    stderr: "pipe",
  });
  const output = `${await check.stdout.text()}${await check.stderr.text()}`;
  const complaints = output.split("\n").filter((line) => line !== "" && !LIBRARY_COMPLAINTS.includes(line));
  expect(complaints).toEqual([]);
});
