import { expect, test } from "bun:test";
import { incidentRow } from "../../src/http/wire/incident.ts";
import { address } from "../../test/fixtures/host-rows.ts";
import { incidents } from "../../test/fixtures/incidents.ts";
import { attack } from "../../test/fixtures/views.ts";
import { withRows } from "./incident-rows.ts";

const table = incidents({ ownerOf: ({ group }) => group });
for (const group of ["acme", "other"]) {
  table.recorded({ kind: "started", attack: attack({ id: group, group, target: address("192.0.2.1") }) });
}
const [second, first] = [...table.listed()].map(({ view }) => incidentRow(view(), { tenant: null }));
if (first === undefined || second === undefined) throw new Error("there are two");
const all = () => true;

test("rows of events are in the list, which is read again for a new row or another state", () => {
  const newer = (row: typeof first) => new Map([[row.id, row]]);
  const list = { incidents: [first] };
  const larger = { ...first, peak_mbps: 9 };
  expect(withRows(list, newer(larger), all)).toEqual({ list: { incidents: [larger] }, isStale: false });
  expect(withRows(list, newer({ ...first, state: "quiet" }), all).isStale).toBe(true);
  expect(withRows(list, newer(second), all)).toEqual({ list, isStale: true });
  expect(withRows(list, newer(second), () => false).isStale).toBe(false);
  expect(withRows({ incidents: [second] }, newer(first), all).isStale).toBe(false);
});
