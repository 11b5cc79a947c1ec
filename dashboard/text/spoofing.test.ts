import { describe, expect, test } from "bun:test";
import { sourcesOf } from "../../src/detection/attack/attack-sources.ts";
import { NO_PACKETS } from "../../src/detection/attack/outcome-rings.ts";
import { attackSourcesToWire } from "../../src/http/wire/attack-sources.ts";
import { ip, udp } from "../../test/fixtures/packets/frames.ts";
import { sampledPacket } from "../../test/fixtures/packets/sampled-packets.ts";
import { seededRandom } from "../../test/fixtures/seeded-random.ts";
import { PACKETS_MIN, SPECIAL_SHARE_MIN, spoofingHint } from "./spoofing.ts";

const random = seededRandom(1);
const octet = () => Math.floor(random() * 254) + 1;

function hintOf(addresses: readonly string[], vector?: string) {
  const packets = addresses.map((src) => sampledPacket(ip({ src, dst: "203.0.113.7" }, udp()), { wireBytes: 100 }));
  return spoofingHint(attackSourcesToWire("a", sourcesOf(packets, { top: 10, originOf: null }), NO_PACKETS), vector);
}

const many = (count: number, address: (i: number) => string) => Array.from({ length: count }, (_, i) => address(i));
/** Drawn from all unicast addresses, without those that are not in use. */
const anywhere = (count: number) =>
  many(count, () => {
    const first = 1 + Math.floor(random() * 223);
    return `${[0, 10, 127, 169, 172, 192, 198, 203].includes(first) ? 8 : first}.${octet()}.${octet()}.${octet()}`;
  });

describe("a hint of forged sources", () => {
  test("is each address seen about once, spread evenly over the whole address space", () => {
    const { kind, reasons } = hintOf(anywhere(1500));
    expect(kind).toBe("forged");
    expect(reasons).toHaveLength(1);
    expect(reasons[0]).toMatch(/^1.?\d+ different addresses in 1.500 packets, nearly each seen once/);
  });

  test("is a share of addresses that are not in use, at the bound and not below", () => {
    const total = 1000;
    const bogons = SPECIAL_SHARE_MIN * total;
    const real = (count: number) => many(count, (i) => `8.8.8.${i % 50}`);
    const bogon = (count: number) => many(count, (i) => `10.0.0.${i}`);
    expect(hintOf([...real(total - bogons), ...bogon(bogons)])).toMatchObject({ kind: "forged" });
    expect(hintOf([...real(total - bogons + 1), ...bogon(bogons - 1)])).toMatchObject({ kind: "no_sign" });
  });

  test("is none from too few packets", () => {
    expect(hintOf(anywhere(PACKETS_MIN - 1)).kind).toBe("too_few");
    expect(hintOf(anywhere(PACKETS_MIN)).kind).toBe("forged");
  });

  test("is none where sources come again, or are in few networks though each is seen once", () => {
    expect(hintOf(many(1500, (i) => `8.${i % 200}.9.1`)).kind).toBe("no_sign");
    expect(hintOf(many(1500, (i) => `${80 + (i % 20)}.${i % 250}.${Math.floor(i / 250)}.9`)).kind).toBe("no_sign");
  });

  test("is none of an amplification: its sources are reflectors", () => {
    expect(
      hintOf(
        many(400, (i) => `8.8.${i % 20}.9`),
        "dns_amplification",
      ).kind,
    ).toBe("reflected");
  });
});

describe("its limits", () => {
  test("forged addresses of few real networks are not noticed", () => {
    expect(hintOf(many(1500, () => `${80 + Math.floor(random() * 8)}.${octet()}.${octet()}.${octet()}`)).kind).toBe(
      "no_sign",
    );
  });

  test("a botnet all over the world whose members are each seen once is taken for forged, and the text says so", () => {
    expect(hintOf(anywhere(1000)).reasons.join()).toContain("A very large botnet can look like that too.");
  });

  test("forged IPv6 addresses are only noticed outside of global unicast", () => {
    const v6 = (prefix: string) =>
      spoofingHint(
        attackSourcesToWire(
          "a",
          sourcesOf(
            many(600, (i) => `${prefix}:${i.toString(16)}::1`).map((src) =>
              sampledPacket(ip({ src, dst: "2a00::7" }, udp()), { wireBytes: 100 }),
            ),
            { top: 10, originOf: null },
          ),
          NO_PACKETS,
        ),
        undefined,
      );
    expect(v6("2a01").kind).toBe("no_sign");
    expect(v6("4a01").kind).toBe("forged");
  });
});
