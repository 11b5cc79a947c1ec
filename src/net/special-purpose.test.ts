import { expect, test } from "bun:test";
import type { IpAddress } from "./address.ts";
import { isSpecialPurpose } from "./special-purpose.ts";

const areSpecial = (...addresses: string[]) => addresses.map((each) => isSpecialPurpose(each as IpAddress));

test("private, shared, loopback, documentation, multicast and reserved addresses are on no path of the Internet", () => {
  expect(areSpecial("10.1.2.3", "100.127.255.255", "127.0.0.1", "192.0.2.1", "224.0.0.1", "255.255.255.255")).toEqual(
    new Array(6).fill(true),
  );
  expect(areSpecial("::1", "fe80::1", "fc00::1", "2001:db8::1", "4000::1", "ff02::1")).toEqual(new Array(6).fill(true));
});

test("their neighbors are", () => {
  expect(areSpecial("9.255.255.255", "11.0.0.0", "100.128.0.0", "172.32.0.0", "223.255.255.255", "1.1.1.1")).toEqual(
    new Array(6).fill(false),
  );
  expect(areSpecial("2001:db9::1", "2a00::1", "3fff::1", "64:ff9b::c633:6401")).toEqual(new Array(4).fill(false));
});
