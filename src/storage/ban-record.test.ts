import { expect, test } from "bun:test";
import { communitiesOf } from "../../test/fixtures/networks.ts";
import { ban, route } from "../../test/fixtures/views.ts";
import { banOfRecord, recordOfBan } from "./ban-record.ts";

test("communities of a ban's routes are stored as text, and come back as the values that they were", () => {
  const texts = ["65535:666", "rt:192.0.2.1:7", "ext:030b000000000064", "4200000000:1:2"];
  const communities = communitiesOf(...texts);
  const measure = { kind: "blackhole", route: route("192.0.2.1", { communities }) } as const;
  const retiring = [route("192.0.2.1", { communities: communities.slice(1) }), route("192.0.2.1")];
  const record = recordOfBan(ban({ measure, retiring }));
  expect(JSON.parse(record)).toMatchObject({
    measure: { route: { communities: texts } },
    retiring: [{ communities: texts.slice(1) }, { communities: ["65535:666"] }],
  });
  expect(banOfRecord(record)).toEqual(ban({ measure, retiring }));
});

test("a record with another text is damaged", () => {
  const record = recordOfBan(ban()).replace("65535:666", "65536:666");
  expect(() => banOfRecord(record)).toThrow("65536:666 is no community");
});
