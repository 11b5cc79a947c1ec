import { describe, expect, test } from "bun:test";
import { address } from "../../../test/fixtures/host-rows.ts";
import { ethernet, ip, protocol, type Transport, tcp, udp } from "../../../test/fixtures/packets/frames.ts";
import { AMPLIFIERS } from "../../detection/attack/vector.ts";
import { decodeHeader, type PacketHeader } from "../../traffic/packet-header.ts";
import { isNeverOfUsers } from "./never-of-users.ts";

const OPTIONS = Uint8Array.from([2, 4, 5, 0xb4]);

function isNever(transport: Transport, src = "198.51.100.1", dst = "203.0.113.9"): boolean {
  return isNeverOfUsers(decodeHeader(ethernet(ip({ src, dst: address(dst) }, transport))) as PacketHeader);
}
const answer = (sourcePort: number, bytes: number, destinationPort = 40_000) =>
  isNever(udp({ sourcePort, destinationPort, payload: new Uint8Array(bytes) }));
const segment = (flags: number, options = OPTIONS) => isNever(tcp({ destinationPort: 443, flags, options }));

describe("answers", () => {
  const servers: readonly number[] = [53, 123, 3478, 27_015, 1194, 5060];
  test.each(Object.entries(AMPLIFIERS).filter(([, port]) => !servers.includes(port)))(
    "of %s come to no client, and to peers at its own port",
    (_, port) => {
      expect(answer(port, 100)).toBe(true);
      expect(answer(port, 100, port)).toBe(false);
    },
  );

  test("of services that hosts ask, as long as these are", () => {
    for (const port of servers) expect(answer(port, 100)).toBe(false);
    expect(answer(53, 1232)).toBe(false);
    expect(answer(53, 1233)).toBe(true);
    expect(answer(123, 300)).toBe(false);
    expect(answer(123, 440)).toBe(true);
  });

  test("from or to port 0", () => {
    expect(answer(0, 100)).toBe(true);
    expect(answer(40_000, 100, 0)).toBe(true);
  });
});

test("TCP flags that no system combines", () => {
  const [fin, syn, rst, psh, ack, urg, ece, cwr] = [1, 2, 4, 8, 16, 32, 64, 128] as const;
  const sent = [
    syn,
    syn | ece | cwr,
    syn | ack,
    syn | ack | ece,
    ack,
    ack | psh,
    ack | fin,
    ack | fin | psh,
    rst,
    rst | ack,
  ];
  for (const flags of [...sent, ack | ece, ack | cwr]) expect([flags, segment(flags)]).toEqual([flags, false]);
  for (const flags of [0, fin, psh, urg, syn | fin, syn | rst, fin | rst, syn | psh, ack | urg, rst | psh, syn | ece]) {
    expect([flags, segment(flags)]).toEqual([flags, true]);
  }
});

test("a SYN without options, of both families", () => {
  const bare = tcp({ destinationPort: 443, flags: 2 });
  expect(isNever(bare)).toBe(true);
  expect(isNever(bare, "2001:db8:1::1", "2001:db8::9")).toBe(true);
  expect(segment(2)).toBe(false);
});

test("protocols that hosts do not use with each other", () => {
  for (const number of [3, 5, 18, 63, 143, 253]) expect(isNever(protocol(number))).toBe(true);
  for (const number of [1, 41, 47, 50, 51, 89]) expect(isNever(protocol(number))).toBe(false);
});
