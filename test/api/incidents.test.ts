/** Incidents by the whole service: the list, one of them, and what people add (docs/interface.md#incident). */
import { beforeEach, describe, expect, test } from "bun:test";
import { Value } from "@sinclair/typebox/value";
import type { Attack } from "../../src/detection/attack/attack.ts";
import { type IncidentRowWire, IncidentsWire, IncidentWire } from "../../src/http/wire/incident.ts";
import { INCIDENT_QUIET_MS } from "../../src/incident/incident.ts";
import { INCIDENT_NOTE_MAX } from "../../src/limits.ts";
import { FreshService } from "../fixtures/fresh-service.ts";
import { address } from "../fixtures/host-rows.ts";
import { agent } from "../fixtures/http/node-channel.ts";
import { attack, classification } from "../fixtures/views.ts";

const CONFIG = `networks: [203.0.113.0/24]
thresholds: { pps: 1000, mbps: 100, flows_per_sec: 500 }
hostgroups:
  - { name: web, networks: [203.0.113.0/25], tenant: acme }
  - { name: mail, networks: [203.0.113.128/25], tenant: other }
`;
const TOKENS = [
  { ...agent("noc"), role: "operator" },
  { ...agent("day"), role: "operator" },
  { ...agent("acme"), role: "operator", tenant: "acme" },
  { ...agent("other"), role: "operator", tenant: "other" },
  { ...agent("look"), role: "viewer", tenant: "acme" },
  agent("node"),
] as const;
type Caller = (typeof TOKENS)[number]["name"];

const fresh = new FreshService(CONFIG, TOKENS);

const LIST = "/api/v1/incidents";
const list = (query = "", caller: Caller = "noc") => fresh.running.get<IncidentsWire>(`${LIST}${query}`, caller);
const shown = (id: string, caller: Caller = "noc") => fresh.running.get<IncidentWire>(`${LIST}/${id}`, caller);
const order = (id: string, body: object, caller: Caller = "noc") =>
  fresh.running.post<IncidentWire>(`${LIST}/${id}`, body, caller);
const note = (id: string, body: object, caller: Caller = "noc") =>
  fresh.running.post<IncidentWire>(`${LIST}/${id}/notes`, body, caller);
const refused = (status: number, error: string): unknown => ({ status, body: { error } });
const ids = (rows: readonly IncidentRowWire[]) => rows.map(({ id }) => id);

/** Returns the id of the incident of this attack, which lasts. */
function attacked(host: string, changes: Partial<Attack> = {}): string {
  const { incidents } = fresh.running.floodwall;
  const [target, group] = [address(`203.0.113.${host}`), Number(host) < 128 ? "web" : "mail"];
  const startedAt = fresh.clock.wallMs();
  const of = attack({ id: `a${host}`, target, group, startedAt, classification: classification(), ...changes });
  return incidents.recorded({ kind: "started", attack: of }).attack.incident ?? "";
}

function over(host: string, changes: Partial<Attack> = {}): void {
  const target = address(`203.0.113.${host}`);
  const of = attack({ id: `a${host}`, target, endedAt: fresh.clock.wallMs(), ...changes });
  fresh.running.floodwall.incidents.recorded({ kind: "ended", attack: of });
}

describe("incidents", () => {
  test("are listed newest first, of a tenant its own, in pages #get-api-v1-incidents", async () => {
    const first = attacked("1");
    const second = attacked("200");
    const all = await list();
    expect([...Value.Errors(IncidentsWire, all)]).toEqual([]);
    expect(ids(all.incidents)).toEqual([second, first]);
    expect(all.incidents[1]).toMatchObject({
      tenant: "acme",
      group: "web",
      kind: "dns_amplification",
      state: "active",
    });
    expect(ids((await list("", "look")).incidents)).toEqual([first]);
    expect(all).not.toHaveProperty("next");
    for (let i = 0; i < 100; i++) {
      over("1");
      fresh.clock.advance(INCIDENT_QUIET_MS);
      attacked("1");
    }
    const page = await list("?tenant=acme");
    expect(page.incidents).toHaveLength(100);
    const rest = await list(`?tenant=acme&before=${page.next}`);
    expect(ids(rest.incidents)).toEqual([first]);
    expect(rest).not.toHaveProperty("next");
  });

  test("are filtered by state, tenant, hostgroup and kind #incident-filters", async () => {
    const first = attacked("1");
    const second = attacked("200", { classification: classification({ type: "syn_flood" }) });
    over("200");
    for (const query of ["state=active", "tenant=acme", "hostgroup=web", "kind=dns_amplification"]) {
      expect(ids((await list(`?${query}`)).incidents)).toEqual([first]);
    }
    for (const query of ["state=quiet", "tenant=other", "hostgroup=mail", "kind=syn_flood"]) {
      expect(ids((await list(`?${query}`)).incidents)).toEqual([second]);
    }
    expect((await list("?kind=syn_flood&state=active")).incidents).toEqual([]);
    const wrong = "state must be one of active, quiet, closed: calm";
    expect<unknown>(await fresh.running.order("GET", `${LIST}?state=calm`, null, "noc")).toEqual(refused(400, wrong));
  });

  test("have their attacks, victims by prefix, sums and peaks #get-api-v1-incidents-id #incident-victims #incident-sums #incident-peak", async () => {
    const dropped = { packets: 60, bits: 6e4 };
    const size = { packets: 100, bits: 1e5, beganAt: 0, durationMs: 1, peakOverMs: 1, peakPps: 900, peakBps: 9e6 };
    const id = attacked("1");
    attacked("2");
    over("1", { volume: { ...size, dropped } });
    const notCounted = [{ fromMs: 0, toMs: 1 }];
    over("2", { volume: { ...size, peakBps: 8e6, peakError: 0.1, dropped: null, notCounted } });
    const incident = await shown(id);
    expect([...Value.Errors(IncidentWire, incident)]).toEqual([]);
    expect(incident).toMatchObject({ attacks: 2, victims: 2, prefixes: [{ prefix: "203.0.113.0/24", victims: 2 }] });
    expect(incident).toMatchObject({ packets: 200, bits: 2e5, peak_pps: 900, peak_mbps: 9, worst_attack: "a1" });
    expect(incident).toMatchObject({ attacks_not_counted: 1, attacks_estimated: 1 });
    // Of one attack it is not known what was dropped.
    expect(incident).not.toHaveProperty("dropped_packets");
    expect(incident).not.toHaveProperty("passed_packets");
    expect(incident).not.toHaveProperty("severity");
    expect(incident.members.map(({ id: of, victim, active }) => [of, victim, active])).toEqual([
      ["a1", "203.0.113.1", false],
      ["a2", "203.0.113.2", false],
    ]);
  });

  test("have a severity where the capacity of the links is known, for tenants without the share #incident-severity", async () => {
    await fresh.restart(`${CONFIG}capture: { pcap_file: /nowhere.pcap, link_mbps: 100 }\n`);
    const id = attacked("1");
    const size = { packets: 1, bits: 1, beganAt: 0, durationMs: 1, peakOverMs: 1, peakPps: 1, peakBps: 60e6 };
    over("1", { volume: { ...size, dropped: null } });
    expect(await shown(id)).toMatchObject({ severity: "high", link_share: 0.6 });
    const own = await shown(id, "look");
    expect(own).toMatchObject({ severity: "high" });
    expect(own).not.toHaveProperty("link_share");
  });

  test("of another tenant are unknown, to readers and writers, whatever is sent #incident-of-another-tenant", async () => {
    const id = attacked("1");
    const unknown = refused(404, "unknown incident");
    const { running } = fresh;
    for (const of of [id, "i9"]) {
      expect<unknown>(await running.order("GET", `${LIST}/${of}`, null, "other")).toEqual(unknown);
      expect<unknown>(await order(of, { owner: "take" }, "other")).toEqual(unknown);
      expect<unknown>(await running.post(`${LIST}/${of}`, "{", "other")).toEqual(unknown);
      expect<unknown>(await note(of, { text: "x" }, "other")).toEqual(unknown);
    }
    expect((await list("", "other")).incidents).toEqual([]);
    // What is another tenant's now was this one's: neither of them has it.
    await fresh.reload(CONFIG.replace("tenant: acme", "tenant: shop"));
    expect((await list("", "acme")).incidents).toEqual([]);
    expect((await list()).incidents).toHaveLength(1);
  });
});

describe("what people add to an incident", () => {
  let id = "";
  beforeEach(() => {
    id = attacked("1");
  });

  test("is owner, acknowledgement and classification, each with who and when #incident-command-sets #incident-deeds", async () => {
    const { status, body } = await order(id, { owner: "take", acknowledge: true, classification: "expected" });
    expect(status).toBe(200);
    expect([...Value.Errors(IncidentWire, body)]).toEqual([]);
    const deed = { at: expect.any(String), of: "operator", by: "noc" };
    expect(body).toMatchObject({ owner: deed, acknowledged: deed, classification: { ...deed, is: "expected" } });
    expect((await order(id, { owner: "take" }, "day")).body.owner).toMatchObject({ by: "day" });
    const none = (await order(id, { owner: "release", classification: "none" }, "day")).body;
    expect(none).not.toHaveProperty("owner");
    expect(none).not.toHaveProperty("classification");
    expect(none.acknowledged).toMatchObject({ by: "noc" });
  });

  test("is on disk, and there after a restart #incident-command-is-saved", async () => {
    await order(id, { owner: "take", classification: "real" });
    await note(id, { text: "é, ticket 7", handover: true });
    const before = await shown(id);
    await fresh.restart();
    const { owner, classification: verdict, notes, open_handovers: open } = before;
    expect(await shown(id)).toMatchObject({ owner, classification: verdict, notes, open_handovers: open });
    expect(notes).toMatchObject([{ id: 1, text: "é, ticket 7", handover: true, of: "operator", by: "noc" }]);
  });

  test("for the next shift is open until its owner acknowledges it #incident-command-handover", async () => {
    await order(id, { owner: "take" });
    fresh.clock.advance(1000);
    const open = (await note(id, { text: "watch port 53", handover: true })).body;
    expect(open).toMatchObject({ open_handovers: 1, note_count: 1 });
    const acknowledge = { handover: "acknowledge" };
    const notOwner = "you are not the owner of this incident: take it first";
    expect<unknown>(await order(id, acknowledge, "day")).toEqual(refused(409, notOwner));
    const before = "you took this incident before the note was written: take it again";
    expect<unknown>(await order(id, acknowledge)).toEqual(refused(409, before));
    fresh.clock.advance(1000);
    const seen = (await order(id, { owner: "take", ...acknowledge }, "day")).body;
    expect(seen).toMatchObject({ open_handovers: 0, notes: [{ acknowledged: { by: "day" } }] });
    const none = "there is no note for the next shift to acknowledge";
    expect<unknown>(await order(id, acknowledge, "day")).toEqual(refused(409, none));
  });

  test("is refused where it is wrong #incident-command-refusals", async () => {
    for (const body of [{}, { owner: "day" }, { owner: "take", x: 1 }, { acknowledge: false }]) {
      expect((await order(id, body)).status).toBe(400);
    }
    for (const text of ["", "two\nlines", "\u202egpj", "x".repeat(INCIDENT_NOTE_MAX + 1)]) {
      expect((await note(id, { text })).status).toBe(400);
    }
    expect((await note(id, { text: "é".repeat(INCIDENT_NOTE_MAX) })).status).toBe(200);
    expect((await order(id, { owner: "take" }, "look")).status).toBe(403);
    expect((await note(id, { text: "x" }, "node")).status).toBe(403);
    expect(await fresh.metric('svc_incident_orders_refused_total{reason="not_owner"}')).toBe(0);
    expect((await order(id, { owner: "release" })).status).toBe(409);
    expect(await fresh.metric('svc_incident_orders_refused_total{reason="not_owner"}')).toBe(1);
  });

  test("of an operator stays, and a tenant does not see its words and names #incident-command-of-a-tenant", async () => {
    await order(id, { owner: "take", acknowledge: true });
    await note(id, { text: "owes us money" });
    const no = "an operator decided it: ask them to change it";
    expect<unknown>(await order(id, { owner: "take" }, "acme")).toEqual(refused(409, no));
    const own = (await note(id, { text: "our shop is slow" }, "acme")).body;
    expect(own.owner).toEqual({ at: expect.any(String), of: "operator" });
    expect(own.notes.map(({ text }) => text)).toEqual(["our shop is slow"]);
    expect(own.note_count).toBe(1);
    expect(JSON.stringify([await list("", "acme"), await shown(id, "look")])).not.toMatch(/owes us|noc/);
    expect((await shown(id)).notes).toHaveLength(2);
  });

  test("is audited with who and what, refusals too #incident-command-is-audited", async () => {
    await order(id, { owner: "take", acknowledge: true, classification: "false_alarm" });
    await note(id, { text: "ticket 7", handover: true }, "acme");
    await order(id, { owner: "take" }, "acme");
    const row = { action: "incident", targetType: "incident", target: id, source: "api" };
    expect(fresh.running.audited).toMatchObject([
      { ...row, operator: "noc", result: "set", reason: "owner taken, acknowledged, classified as false_alarm" },
      { ...row, operator: "acme", tenant: "acme", result: "set", reason: "note for the next shift: ticket 7" },
      { ...row, operator: "acme", result: "rejected", reason: "an operator decided it: ask them to change it" },
    ]);
  });
});
