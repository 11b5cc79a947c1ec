import { beforeEach, expect, test } from "bun:test";
import { JoinedBrains } from "../../test/fixtures/cluster/joined-brains.ts";
import { ManualClock } from "../../test/fixtures/manual-clock.ts";
import { KEPT_BACK_MS, type KeptBack } from "../bgp/route-quarantine.ts";
import { shareQuarantine } from "./cluster-quarantine.ts";

let brains: JoinedBrains;
let clocks: Record<string, ManualClock>;
let kept: Record<string, KeptBack[]>;
let listeners: Record<string, (entries: readonly KeptBack[]) => void>;
let unread: string[];

const clockOf = (name: string) => clocks[name] as ManualClock;
const keptAt = (name: string) => kept[name] as KeptBack[];

function keepsBack(name: string, rule: string, forMs = KEPT_BACK_MS): void {
  keptAt(name).push({ rule, neighbor: "192.0.2.254", untilMs: clockOf(name).wallMs() + forMs });
  listeners[name]?.(keptAt(name));
}

beforeEach(() => {
  brains = new JoinedBrains("brain1", "brain2");
  // An hour apart.
  clocks = { brain1: new ManualClock(), brain2: new ManualClock("2026-03-01T13:00:00.000Z") };
  [kept, listeners, unread] = [{ brain1: [], brain2: [] }, {}, []];
  for (const name of brains.names) {
    shareQuarantine({
      peers: brains.of(name),
      clock: clockOf(name),
      quarantine: {
        get entries() {
          return keptAt(name);
        },
        onKeptBack: (listener) => {
          listeners[name] = listener;
        },
        take: (entries) => void keptAt(name).push(...entries),
      },
      onUnread: (kind, from) => unread.push(`${kind} of ${from}`),
    });
  }
});

const left = (name: string) =>
  keptAt(name).map(({ rule, neighbor, untilMs }) => [rule, neighbor, untilMs - clockOf(name).wallMs()]);

test("a rule that one brain keeps back is kept back by the other for as long, whatever the clocks show", () => {
  brains.link("brain1", "brain2");
  keepsBack("brain1", "rule");
  expect(left("brain2")).toEqual([["rule", "192.0.2.254", KEPT_BACK_MS]]);
});

test("a brain that comes later gets what is kept back still", () => {
  keepsBack("brain1", "over", 1000);
  keepsBack("brain1", "rule");
  clockOf("brain1").advance(60_000);
  brains.link("brain1", "brain2");
  expect(left("brain2")).toEqual([["rule", "192.0.2.254", KEPT_BACK_MS - 60_000]]);
});

test("a message in another form is counted", () => {
  brains.link("brain1", "brain2");
  const rules = [{ rule: "rule", neighbor: "192.0.2.254", for_ms: 2 * KEPT_BACK_MS }];
  brains.of("brain1").broadcast("kept_back", { rules });
  expect([unread, keptAt("brain2")]).toEqual([["kept_back of brain1"], []]);
});
