/** Readers of the event stream that change from one brain of a cluster to another. */
import { afterEach, beforeEach, expect, test } from "bun:test";
import { EventReader } from "../../../test/fixtures/http/event-reader.ts";
import { TestServer } from "../../../test/fixtures/http/http.ts";
import { attack } from "../../../test/fixtures/views.ts";

let servers: readonly [TestServer, TestServer];
let readers: EventReader[];

beforeEach(() => {
  servers = [TestServer.started("brain1"), TestServer.started("brain2")];
  readers = [];
});
afterEach(async () => {
  for (const reader of readers) reader.leave();
  for (const { http } of servers) await http.stop();
});

async function open({ base }: TestServer, lastId?: string): Promise<EventReader> {
  const reader = await EventReader.open(base, lastId === undefined ? {} : { "last-event-id": lastId });
  readers.push(reader);
  return reader;
}

test("the id of another brain gets a reset, whatever the clocks show #event-stream-at-another-brain", async () => {
  const [here, there] = servers;
  const id = (await open(there)).lastId ?? "";
  expect(id).toMatch(/^\d+@brain2$/);
  const reader = await open(here);
  here.http.events.publish({ kind: "attack", view: { attack: attack(), ban: null } });
  expect((await reader.next())?.event).toBe("attack");
  for (const foreign of [id, id.replace("@brain2", ""), id.replace("brain2", "brain")])
    expect((await (await open(here, foreign)).next())?.event).toBe("reset");
});

test("the own id gets what was missed", async () => {
  const [here] = servers;
  const id = (await open(here)).lastId ?? "";
  expect(id).toMatch(/^\d+@brain1$/);
  here.http.events.publish({ kind: "attack", view: { attack: attack(), ban: null } });
  expect((await (await open(here, id)).next())?.event).toBe("attack");
});
