/** Incidents in the event stream: to whom, and with whose names (docs/interface.md#event-stream-of-incidents). */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { THROTTLE_MS } from "../../src/http/events/event-throttle.ts";
import { address } from "../fixtures/host-rows.ts";
import { ACME_HOST, admitCallers, as, OTHER_HOST } from "../fixtures/http/callers.ts";
import { EventReader, type SentEvent } from "../fixtures/http/event-reader.ts";
import { TestServer } from "../fixtures/http/http.ts";
import { incidents } from "../fixtures/incidents.ts";
import { attack } from "../fixtures/views.ts";

let server: TestServer;
beforeEach(() => {
  server = TestServer.started();
});
const readers: EventReader[] = [];
afterEach(async () => {
  for (const reader of readers) reader.leave();
  await server.http.stop();
});

async function open(headers: Readonly<Record<string, string>>): Promise<EventReader> {
  const reader = await EventReader.open(server.base, headers);
  readers.push(reader);
  return reader;
}

const nameOf = (sent: SentEvent | null) => [sent?.event, (sent?.data as { id?: string } | undefined)?.id].join(" ");

test("an incident is sent as it changes, to its tenant without names of others #event-stream-of-incidents", async () => {
  admitCallers(server);
  const [operator, tenant] = [await open(as("operator")), await open(as("tenantViewer"))];
  const table = incidents({ ownerOf: ({ group }) => (group === "mail" ? "other" : "acme") });
  const publish = () => {
    for (const { view } of table.listed()) server.http.events.publish({ kind: "incident", view: view() });
  };
  table.recorded({ kind: "started", attack: attack({ id: "a1", group: "mail", target: address(OTHER_HOST) }) });
  table.recorded({ kind: "started", attack: attack({ id: "a2", group: "web", target: address(ACME_HOST) }) });
  publish();
  await table.order("i0002", { owner: "take" }, { operator: "noc", tenant: null });
  publish();
  expect([nameOf(await operator.next()), nameOf(await operator.next())]).toEqual(["incident i0002", "incident i0001"]);
  expect((await operator.next())?.data).toMatchObject({ id: "i0002", owner: { of: "operator", by: "noc" } });
  expect(nameOf(await tenant.next())).toBe("incident i0002");
  const own = (await tenant.next())?.data as { owner: object };
  expect(own).toMatchObject({ id: "i0002", owner: { of: "operator" } });
  expect(JSON.stringify(own)).not.toContain("noc");
  expect(own).not.toHaveProperty("members");
});

test("an event that waits at a reload is not sent to the tenant of before", async () => {
  admitCallers(server);
  const tenant = await open(as("tenantViewer"));
  const table = incidents({ ownerOf: () => "acme" });
  table.recorded({ kind: "started", attack: attack({ id: "a1" }) });
  const [view] = [...table.listed()].map((one) => one.view());
  if (view === undefined) throw new Error("there is one");
  for (let times = 0; times < 2; times++) server.http.events.publish({ kind: "incident", view });
  server.http.events.reloaded();
  server.clock.advance(2 * THROTTLE_MS);
  server.http.events.publish({
    kind: "attack",
    view: { attack: attack({ id: "a2", target: address(ACME_HOST) }), ban: null },
  });
  const sent = [await tenant.next(), await tenant.next(), await tenant.next()];
  expect(sent.map(nameOf)).toEqual(["incident i0001", "reload ", "attack a2"]);
});
