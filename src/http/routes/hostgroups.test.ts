import { afterEach, beforeEach, expect, test } from "bun:test";
import { thresholds } from "../../../test/fixtures/host-rows.ts";
import { admitCallers, as, type Caller } from "../../../test/fixtures/http/callers.ts";
import { TestServer } from "../../../test/fixtures/http/http.ts";
import type { Thresholds } from "../../traffic/rates.ts";

let server: TestServer;

beforeEach(() => {
  server = TestServer.started();
  admitCallers(server);
});
afterEach(() => server.http.stop());

async function ask(caller: Caller): Promise<unknown> {
  return (await fetch(`${server.base}/api/v1/hostgroups`, { headers: as(caller) })).json();
}

const TRIO = { pps: 0, mbps: 0, flows_per_sec: 0 };
const group = (name: string, thresholdsOutgoing: Thresholds | null = null) => ({
  name,
  thresholds: thresholds({ pps: 1000, mbps: 80.5, flows_per_sec: 300, tcp_syn_pps: 50 }),
  thresholdsOutgoing,
  rates: thresholds({ pps: 5, mbps: 0.1234567, udp_pps: 5 }),
  ratesOut: thresholds({}),
});

test("each hostgroup is listed with its sums in both directions, rounded, and its thresholds #get-api-v1-hostgroups", async () => {
  server.backend.groupRatesViews = [group("global"), group("web", thresholds({ udp_mbps: 7 }))];
  const rates = { ...TRIO, pps: 5, mbps: 0.123, udp_pps: 5 };
  const limits = { pps: 1000, mbps: 80.5, flows_per_sec: 300, tcp_syn_pps: 50 };
  expect(await ask("viewer")).toEqual({
    available: true,
    hostgroups: [
      { name: "global", rates, rates_out: TRIO, thresholds: limits },
      { name: "web", rates, rates_out: TRIO, thresholds: limits, thresholds_out: { ...TRIO, udp_mbps: 7 } },
    ],
  });
});

test("a tenant sees its own hostgroups #get-api-v1-hostgroups", async () => {
  server.backend.groupRatesViews = [group("global"), group("web"), group("mail")];
  expect(await ask("tenantViewer")).toMatchObject({ available: true, hostgroups: [{ name: "web" }] });
});

test("no hostgroup is listed where nothing is captured #get-api-v1-hostgroups", async () => {
  expect(await ask("viewer")).toEqual({ available: false, hostgroups: [] });
});
