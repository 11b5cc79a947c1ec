import { expect, test } from "bun:test";
import { JoinedBrains } from "../../test/fixtures/cluster/joined-brains.ts";
import { LearnedLimits } from "../bgp/learned-limits.ts";
import type { RouteLimit } from "../bgp/withheld-routes.ts";
import { shareLimits } from "./cluster-limits.ts";

const [A, B] = ["192.0.2.1", "192.0.2.2"];
const limitOf = (neighbor: string, routes: number): RouteLimit => ({ neighbor, family: "ipv4-unicast", routes });

function pair() {
  const brains = new JoinedBrains("brain1", "brain2");
  const unread: string[] = [];
  const [first, second] = brains.names.map((name) => {
    const limits = new LearnedLimits((address) => name === "brain1" || address === A);
    shareLimits({ peers: brains.of(name), limits, onUnread: (kind, from) => void unread.push(`${kind} of ${from}`) });
    return limits;
  }) as [LearnedLimits, LearnedLimits];
  return { brains, first, second, unread };
}

test("a limit that one brain found reaches the other, of the neighbors that this has", () => {
  const { brains, first, second } = pair();
  brains.link("brain1", "brain2");
  first.found([limitOf(A, 5), limitOf(B, 7)]);
  expect([second.takeOthers(), second.takeOthers()]).toEqual([[limitOf(A, 5)], []]);
  first.found([limitOf(A, 5), limitOf(B, 7)]);
  expect(second.takeOthers()).toEqual([]);
  first.found([limitOf(A, 6)]);
  expect(second.takeOthers()).toEqual([limitOf(A, 6)]);
});

test("and a brain that comes later", () => {
  const { brains, first, second } = pair();
  first.found([limitOf(A, 5), { ...limitOf(A, 0), family: "ipv6-unicast" }]);
  brains.link("brain1", "brain2");
  expect(second.takeOthers()).toEqual([limitOf(A, 5)]);
});

test("a message in another form is counted", () => {
  const { brains, second, unread } = pair();
  brains.link("brain1", "brain2");
  brains.of("brain1").broadcast("route_limits", { limits: [limitOf(A, 0)] });
  expect([unread, second.takeOthers()]).toEqual([["route_limits of brain1"], []]);
});
