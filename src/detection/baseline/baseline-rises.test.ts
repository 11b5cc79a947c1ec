import { describe, expect, test } from "bun:test";
import { thresholds } from "../../../test/fixtures/host-rows.ts";
import { hostgroup } from "../../../test/fixtures/hostgroups.ts";
import { attack } from "../../../test/fixtures/views.ts";
import type { Attack } from "../attack/attack.ts";
import { explain } from "../attack/reason.ts";
import { BaselineRises, LASTING_RISE_MS } from "./baseline-rises.ts";

const GROUP = hostgroup({ pps: 5000, udp_pps: 4000 });
const LEARNED = explain(thresholds({ pps: 1500 }), {
  baseline: { normal: 400, factor: 3, floor: 100, ceiling: 5000 },
  normalOf: "recent",
  baselineConfigured: true,
  warmupRemainingSeconds: null,
});

function risen(changes: Partial<Attack> = {}): Attack {
  return attack({ reason: LEARNED, rates: thresholds({ pps: 1500 }), ...changes });
}

/** The result of a review of one attack, by the time in ms. */
function looks(rises = new BaselineRises()) {
  return (at: number, ...attacks: Attack[]) =>
    rises.review(attacks, [GROUP], at).map(({ id, lastingRise }) => `${id} ${lastingRise}`);
}

describe("an attack above the baseline alone", () => {
  test("is reported once as a lasting rise after three hours within the thresholds", () => {
    const look = looks();
    expect(look(0, risen())).toEqual([]);
    expect(look(LASTING_RISE_MS - 1, risen())).toEqual([]);
    expect(look(LASTING_RISE_MS, risen())).toEqual(["a1 true"]);
    expect(look(LASTING_RISE_MS + 1000, risen({ lastingRise: true }))).toEqual([]);
  });

  test.each([{ pps: 5001 }, { pps: 4500, udp_pps: 4001 }])(
    "is none any more with %p, and its time restarts",
    (rates) => {
      const look = looks();
      look(0, risen());
      expect(look(LASTING_RISE_MS, risen({ rates: thresholds(rates), lastingRise: true }))).toEqual(["a1 false"]);
      look(LASTING_RISE_MS + 1000, risen());
      expect(look(2 * LASTING_RISE_MS + 999, risen())).toEqual([]);
      expect(look(2 * LASTING_RISE_MS + 1000, risen())).toEqual(["a1 true"]);
    },
  );

  test("with its rates at the threshold is within it", () => {
    const look = looks();
    const rates = thresholds({ pps: 5000 });
    look(0, risen({ rates }));
    expect(look(LASTING_RISE_MS, risen({ rates }))).toEqual(["a1 true"]);
  });

  test("is timed separately, and removed when it ends", () => {
    const look = looks();
    look(0, risen(), risen({ id: "a2" }));
    look(1000, risen({ id: "a2" }));
    expect(look(LASTING_RISE_MS, risen(), risen({ id: "a2" }))).toEqual(["a2 true"]);
  });

  test("is judged by the thresholds of its own direction, and not where there are none", () => {
    const look = looks();
    look(0, risen({ direction: "outgoing" }), risen({ id: "a2", group: "gone" }));
    expect(look(LASTING_RISE_MS, risen({ direction: "outgoing" }), risen({ id: "a2", group: "gone" }))).toEqual([]);
  });
});

test("an attack over a threshold that the operator set is no lasting rise, however long it stays", () => {
  const look = looks();
  const flood = attack({ rates: thresholds({ pps: 1500 }) });
  look(0, flood);
  expect(look(10 * LASTING_RISE_MS, flood)).toEqual([]);
});
