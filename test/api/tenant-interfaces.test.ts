/** The interfaces by which an attack came in (docs/interface.md#sample) are for callers without a tenant. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { sourcesOf } from "../../src/detection/attack/attack-sources.ts";
import { address } from "../fixtures/host-rows.ts";
import { ACME_HOST, admitCallers, as, type Caller } from "../fixtures/http/callers.ts";
import { EventReader } from "../fixtures/http/event-reader.ts";
import { TestServer } from "../fixtures/http/http.ts";
import { INTERFACE_SHARES, sampleWithInterfaces } from "../fixtures/telemetry/ingress.ts";
import { attack, NOON } from "../fixtures/views.ts";

const ITS = { target: address(ACME_HOST), sample: sampleWithInterfaces() };
const ACTIVE = { attack: attack({ ...ITS, id: "a1" }), ban: null };
const OVER = { attack: attack({ ...ITS, id: "a2", endedAt: NOON - 1000 }), ban: null };
const SHOWN = /"top_interfaces":\[{"exporter":"edge1","interface":17,"name":"xe-0\/0\/1"/g;
const HIDDEN = /top_interfaces|edge1|xe-0/;

let server: TestServer;
beforeEach(() => {
  server = TestServer.started();
  admitCallers(server);
});
afterEach(() => server.http.stop());

async function textFor(path: string, caller: Caller): Promise<string> {
  const answer = await fetch(`${server.base}/api/v1/${path}`, { headers: as(caller) });
  expect(answer.status).toBe(200);
  return answer.text();
}

test.each([
  ["attacks", 2],
  ["attacks/a1", 1],
  ["attacks/a2", 1],
  ["attacks/history", 1],
  ["attacks/a1/sources", 1],
])(
  "GET /api/v1/%s hides interfaces from tenants, after any other caller #get-api-v1-attacks-history #get-api-v1-attacks",
  async (path, times) => {
    const { backend } = server;
    backend.attacksView = { active: [ACTIVE], recent: [OVER] };
    backend.onEndedAttacks = () => [OVER];
    const sources = { ...sourcesOf([], { top: 1, originOf: null }), totalPackets: 7, topInterfaces: INTERFACE_SHARES };
    backend.attackSources = () => sources;
    for (const caller of ["viewer", "operator"] as const) {
      expect((await textFor(path, caller)).match(SHOWN)).toHaveLength(times);
    }
    for (const caller of ["tenantViewer", "tenantOperator"] as const) {
      const text = await textFor(path, caller);
      expect(text).toContain('"total_packets":7');
      expect(text).not.toMatch(HIDDEN);
    }
  },
);

test("the event stream hides interfaces from tenants, live and missed", async () => {
  const readers: EventReader[] = [];
  const kept = (reader: EventReader) => {
    readers.push(reader);
    return reader;
  };
  const open = async (caller: Caller) => kept(await EventReader.open(server.base, as(caller)));
  try {
    const [tenant, all] = [await open("tenantViewer"), await open("viewer")];
    const starts = [tenant.lastId ?? "", all.lastId ?? ""] as const;
    server.http.events.publish({ kind: "attack", view: ACTIVE });
    for (const reader of [all, kept(await all.resume(starts[1]))]) {
      expect(JSON.stringify((await reader.next())?.data)).toMatch(new RegExp(SHOWN.source));
    }
    for (const reader of [tenant, kept(await tenant.resume(starts[0]))]) {
      const text = JSON.stringify((await reader.next())?.data);
      expect(text).toContain('"total_packets":7');
      expect(text).not.toMatch(HIDDEN);
    }
  } finally {
    for (const reader of readers) reader.leave();
  }
});
