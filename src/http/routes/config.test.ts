import { afterEach, beforeEach, expect, test } from "bun:test";
import { configOf } from "../../../test/fixtures/config/parsed-config.ts";
import { admitCallers, as, type Caller } from "../../../test/fixtures/http/callers.ts";
import { TestServer } from "../../../test/fixtures/http/http.ts";

const CONFIG = `networks: [192.0.2.0/24]
protected_whitelist: [192.0.2.53]
thresholds: {pps: 100000, mbps: 1000, flows_per_sec: 20000}
thresholds_outgoing: {pps: 500}
carpet: {thresholds: {pps: 9000, mbps: 90, flows_per_sec: 900}}
storage: {driver: none}
hostgroups:
  - name: web
    networks: [192.0.2.0/25]
    tenant: acme
    thresholds: {pps: 7000, tcp_syn_pps: 300}
    baseline: {factor: 4, floor: {pps: 100, mbps: 10, flows_per_sec: 5}}
    escalation: [{after_seconds: 0, action: flowspec}, {after_seconds: 60, action: blackhole}]
    ban: {ttl_seconds: 900}
  - {name: mail, networks: [192.0.2.128/25], tenant: other, calculation: total}
`;

let server: TestServer;

beforeEach(() => {
  server = TestServer.started();
  admitCallers(server);
  server.backend.config = configOf(CONFIG);
});
afterEach(() => server.http.stop());

interface Answer {
  readonly hostgroups: readonly { readonly name: string }[];
  readonly service?: object;
}

async function ask(caller: Caller): Promise<Answer> {
  return (await fetch(`${server.base}/api/v1/config`, { headers: as(caller) })).json() as Promise<Answer>;
}

test("GET /api/v1/config of a hostgroup has what is inherited and what is its own #get-api-v1-config", async () => {
  const { hostgroups } = await ask("viewer");
  expect(hostgroups.map(({ name }) => name)).toEqual(["global", "web", "mail"]);
  expect(hostgroups[1]).toEqual({
    name: "web",
    networks: ["192.0.2.0/25"],
    calculation: "per_host",
    tenant: "acme",
    thresholds: { pps: 7000, mbps: 1000, flows_per_sec: 20_000, tcp_syn_pps: 300 },
    thresholds_outgoing: { pps: 500 },
    baseline: {
      factor: 4,
      half_life_seconds: 3600,
      warmup_seconds: 600,
      seasonal: false,
      floor: { pps: 100, mbps: 10, flows_per_sec: 5 },
    },
    ban: true,
    mitigation: "blackhole",
    escalation: [
      { after_seconds: 0, action: "flowspec" },
      { after_seconds: 60, action: "blackhole" },
    ],
    ttl_seconds: 900,
    unban_hysteresis_seconds: 120,
    cooldown_seconds: 0,
    fallback: "blackhole",
  } as never);
  expect(hostgroups[2]).toMatchObject({ calculation: "total", ban: false });
});

test("GET /api/v1/config of an unscoped token has the service as a whole, and what waits for a restart #get-api-v1-config", async () => {
  server.backend.needsRestart = ["capture.interfaces"];
  expect((await ask("viewer")).service).toEqual({
    protected_whitelist: ["192.0.2.53/32"],
    detection: { window_ms: 1000, tick_ms: 100, sustain_ms: 0, sampling_confidence: 0.99999999 },
    carpet: {
      prefix_v4: 24,
      prefix_v6: 48,
      min_hosts: 10,
      thresholds: { pps: 9000, mbps: 90, flows_per_sec: 900 },
      mitigation: "none",
    },
    max_active_bans: 50,
    max_banned_fraction: 0,
    samples: true,
    storage: { driver: "none", retention_days: 30, traffic_interval_seconds: 10 },
    update_check: false,
    needs_restart: ["capture.interfaces"],
  });
});

test("GET /api/v1/config of a tenant has its own hostgroups, and nothing else #get-api-v1-config", async () => {
  const answer = await ask("tenantViewer");
  expect(answer.hostgroups.map(({ name }) => name)).toEqual(["web"]);
  expect(Object.keys(answer)).toEqual(["hostgroups"]);
});

test("a configuration with very many hostgroups is written in several turns, once for all who ask at once", async () => {
  const groups = Array.from({ length: 40 }, (_, i) => `  - {name: g${i}, networks: [192.0.2.${i}/32]}`);
  server.backend.config = configOf(`networks: [192.0.2.0/24]
thresholds: {pps: 1, mbps: 1, flows_per_sec: 1}
hostgroups:
${groups.join("\n")}
`);
  let reads = 0;
  const configured = server.backend.configured.bind(server.backend);
  server.backend.configured = () => {
    const { hostgroups, ...rest } = configured();
    const costly = {
      *keys() {
        reads++;
        for (const i of hostgroups.keys()) {
          server.clock.advance(1);
          yield i;
        }
      },
    };
    return { ...rest, hostgroups: Object.assign([...hostgroups], costly) };
  };
  const answers = await Promise.all(Array.from({ length: 8 }, () => ask("viewer")));
  for (const { hostgroups } of answers) expect(hostgroups).toHaveLength(41);
  expect(reads).toBeLessThan(8);
});
