import { expect, test } from "bun:test";
import { ip, udp } from "../../../test/fixtures/packets/frames.ts";
import { sampledPacket } from "../../../test/fixtures/packets/sampled-packets.ts";
import { sourcesOf } from "./attack-sources.ts";
import type { OriginOf } from "./sample-origins.ts";

const from = (src: string, dst = src.includes(":") ? "2a00:db9::7" : "203.0.113.7") =>
  sampledPacket(ip({ src, dst }, udp()), { wireBytes: 100 });
const OPTIONS = { top: 2, originOf: null };

test("sources are summed by address, and by the prefix that is announced", () => {
  const packets = ["8.8.8.1", "8.8.8.2", "8.8.9.1", "8.8.9.1", "2a00:1:2:3::1", "2a00:1:2:4::1"].map((src) =>
    from(src),
  );
  expect(sourcesOf(packets, OPTIONS)).toMatchObject({
    totalPackets: 6,
    topSources: [
      { key: "8.8.9.1", packets: 2, bytes: 200 },
      { key: "8.8.8.1", packets: 1 },
    ],
    topPrefixes: [
      { key: "8.8.8.0/24", packets: 2 },
      { key: "8.8.9.0/24", packets: 2 },
    ],
    origins: null,
  });
});

test("different sources, those seen once, blocks and addresses that are not in use are counted", () => {
  const packets = ["8.8.8.1", "8.9.9.9", "8.9.9.9", "9.9.9.9", "10.0.0.1", "10.0.0.1", "fe80::1"].map((src) =>
    from(src),
  );
  expect(sourcesOf(packets, OPTIONS)).toMatchObject({
    ...{ totalPackets: 7, distinct: 5, seenOnce: 3, ipv4Packets: 6, ipv4Blocks: 3, specialPackets: 3 },
  });
});

test("origins are those of all sources", () => {
  const originOf = () => ({ asn: 64500, asName: "Example", country: "DE" });
  const { origins } = sourcesOf([from("8.8.8.1"), from("9.9.9.9")], { top: 1, originOf });
  expect(origins).toMatchObject({
    topAsns: [{ key: "AS64500 Example", packets: 2 }],
    topCountries: [{ key: "DE", packets: 2 }],
    bySource: { "8.8.8.1": { asn: 64500 } },
  });
});

test("an autonomous system that an exporter reported is used where no file knows one", () => {
  const packets = [from("8.8.8.1"), { ...from("9.9.9.9"), sourceAs: 64501 }, from("9.9.9.9")];
  const known = (asn: number | null) => () => ({ asn, asName: null, country: "DE" });
  const topAsns = (originOf: OriginOf | null) =>
    sourcesOf(packets, { top: 5, originOf }).origins?.topAsns.map(({ key, packets }) => `${key}: ${packets}`);
  expect(topAsns(null)).toEqual(["AS64501: 2"]);
  expect(topAsns(known(null))).toEqual(["AS64501: 2"]);
  expect(topAsns(known(64500))).toEqual(["AS64500: 3"]);
});

test("no packet, no source", () => {
  expect(sourcesOf([], OPTIONS)).toMatchObject({ totalPackets: 0, distinct: 0, topSources: [], topPrefixes: [] });
});
