import { expect, test } from "bun:test";
import { ip, protocol, tcp } from "../../../test/fixtures/packets/frames.ts";
import { Dice } from "../../../test/fixtures/packets/labelled-packets.ts";
import { sampledPacket } from "../../../test/fixtures/packets/sampled-packets.ts";
import { seededRandom } from "../../../test/fixtures/seeded-random.ts";
import { drawnAlike } from "./drawn-values.ts";
import { flatHeader } from "./flat-header.ts";
import { isNeverOfUsers } from "./never-of-users.ts";

const OPTIONS = Uint8Array.from([1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 1]);

function world(seed: number) {
  const dice = new Dice(seededRandom(seed));
  const from = (transport: Parameters<typeof ip>[1]) => {
    const { header } = sampledPacket(ip({ src: dice.address(4), dst: "203.0.113.9" }, transport));
    return { header: flatHeader(header), weight: 1 };
  };
  const many = (count: number, make: () => Parameters<typeof ip>[1]) =>
    Array.from({ length: count }, () => from(make()));
  const alike = (all: ReturnType<typeof many>) =>
    drawnAlike(
      all,
      all.filter(({ header }) => isNeverOfUsers(header)),
    );
  return { dice, many, alike };
}
const to443 = (dice: Dice, flags: number, options = new Uint8Array(0)) =>
  tcp({ sourcePort: dice.port(), destinationPort: 443, flags, options });

test("segments of a flood that draws its flags are separated from users by their length", () => {
  const { dice, many, alike } = world(1);
  const flood = many(1000, () => to443(dice, dice.below(256)));
  const users = many(100, () => to443(dice, 16, OPTIONS));
  const drawn = new Set(alike([...flood, ...users]));
  const rest = flood.filter((packet) => !isNeverOfUsers(packet.header) && !drawn.has(packet));
  expect(rest).toEqual([]);
  expect(users.filter((packet) => drawn.has(packet))).toEqual([]);
});

test("users who send what the flood sends are more than it draws, and stay users", () => {
  const { dice, many, alike } = world(2);
  const users = many(100, () => to443(dice, 16));
  const drawn = new Set(alike([...many(1000, () => to443(dice, dice.below(256))), ...users]));
  expect(users.filter((packet) => drawn.has(packet))).toEqual([]);
});

test("protocols are drawn, too, and tunnels of users are more of one", () => {
  const { dice, many, alike } = world(3);
  const flood = many(1000, () => protocol(19 + dice.below(230)));
  const users = many(80, () => protocol(50));
  const drawn = new Set(alike([...flood, ...users]));
  expect(flood.filter(({ header }) => header.protocol === 89).every((packet) => drawn.has(packet))).toBe(true);
  expect(users.filter((packet) => drawn.has(packet))).toEqual([]);
});
