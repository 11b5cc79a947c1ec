/** Users of hosts that are not attacked; the profiles themselves are tested with the rules that they serve. */
import { expect, test } from "bun:test";
import { ethernet, ip, tcp, udp } from "../../../test/fixtures/packets/frames.ts";
import { FakeHeaderSamples } from "../../../test/fixtures/packets/header-samples.ts";
import { addressFromBytes } from "../../net/address.ts";
import { BusyProfiles } from "./busy-profiles.ts";

const ACK = 0x10;
const SYN = 0x02;
const VICTIM = "203.0.113.7";
const CALM = "203.0.113.8";

test("users are who sends to hosts that are not attacked, and is not dropped, after an attack would have been found", () => {
  const headers = new FakeHeaderSamples();
  const frame = (src: string, dst: string, transport = udp()) => ethernet(ip({ src, dst }, transport));
  headers.frames = [
    { frame: frame("192.0.2.1", CALM) },
    { frame: frame("192.0.2.2", CALM, tcp({ flags: ACK })) },
    { frame: frame("192.0.2.3", CALM, tcp({ flags: SYN })) },
    { frame: frame("192.0.2.4", VICTIM) },
    { frame: frame("192.0.2.5", CALM), verdict: "drop_rule" },
    { frame: frame("192.0.2.6", "198.51.100.1") },
  ];
  const profiles = new BusyProfiles(headers, 1);
  const learn = (nowMs: number) =>
    profiles.learn(nowMs, {
      isProtected: (host) => host.startsWith("203.0.113."),
      isAttacked: (host) => host === VICTIM,
      foundAfterMs: 1000,
    });
  const users = (nowMs: number) => {
    const rows = profiles.users.rows(nowMs);
    return Array.from({ length: rows.length / 16 }, (_, i) => addressFromBytes(rows, 16 * i));
  };
  for (const nowMs of [0, 1000, 2000]) learn(nowMs);
  expect(users(2000)).toEqual([]);
  learn(3000);
  expect(users(3000).join()).toBe("192.0.2.1,192.0.2.2");
});
