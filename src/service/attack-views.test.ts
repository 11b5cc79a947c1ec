import { expect, test } from "bun:test";
import { attack } from "../../test/fixtures/views.ts";
import { OWN_IDS } from "./attack-ids.ts";
import { attackView } from "./attack-views.ts";

test("of many attacks the view of one is made alone", async () => {
  const attacks = Array.from({ length: 20 }, (_, i) => attack({ id: `a${i}` }));
  const seen: string[] = [];
  const engines = {
    ...{ attackIds: OWN_IDS, attackLog: { ended: [attack({ id: "over", endedAt: 1 })] } },
    detector: { active: { values: () => attacks.values() }, endsAfterSeconds: () => 10 },
    bans: {
      banOf: ({ id }: { readonly id: string }) => {
        seen.push(id);
        return null;
      },
    },
    incidents: { stamped: <T>(one: T) => one },
    timelines: { filled: <T>(one: T) => one },
    now: () => ({ monotonicMs: 0, wallMs: 0 }),
  } as unknown as Parameters<typeof attackView>[1];
  const idOf = async (id: string) => (await attackView(id, engines, { history: null, asker: null }))?.attack.id;
  expect([await idOf("a7"), await idOf("over"), await idOf("absent")]).toEqual(["a7", "over", undefined]);
  expect(seen).toEqual(["a7", "over"]);
});
