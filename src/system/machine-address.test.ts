import { expect, test } from "bun:test";
import { join } from "node:path";

const LINKS = `
  ip link set lo up
  ip link add far0 type veth peer name far1; ip link add down0 type veth peer name down1
  ip address add 198.51.100.1/24 dev far0; ip address add 2001:db8:1::1/64 dev far0 nodad
  ip address add 192.0.2.1/24 dev down0; ip address add 2001:db8:2::1/64 dev down0 nodad
  ip link set far0 up
  ip route add local 203.0.113.0/25 dev lo; ip address add 203.0.113.129/25 dev lo`;
const ASK = `
  const { isOfThisMachine } = await import(process.argv[1]);
  const asked = process.argv.slice(2).map(async (address) => [address, await isOfThisMachine(address)]);
  console.log(JSON.stringify(Object.fromEntries(await Promise.all(asked))));`;
/** A port of both families that another has. */
const TAKE_PORT = `
  const taken = require("node:dgram").createSocket("udp6").unref();
  await new Promise((resolve) => taken.bind(1024, resolve));`;
const TAKE_FILES = `
  await import(process.argv[1]);
  try { for (;;) require("node:fs").openSync("/dev/null"); } catch {}`;

/** Which of the addresses are found to be of a machine with these links. */
async function ownOf(addresses: readonly string[], more: string, before = ""): Promise<string[]> {
  const ask = [process.execPath, "-e", before + ASK, join(import.meta.dir, "machine-address.ts"), ...addresses];
  const child = Bun.spawn(["unshare", "--net", "sh", "-ec", `${LINKS}\n${more}\nexec "$@"`, "sh", ...ask]);
  const answer = JSON.parse(await child.stdout.text()) as Record<string, boolean>;
  return addresses.filter((address) => answer[address]);
}

const OTHERS = ["198.51.100.2", "2001:db8:1::2"];

test("addresses of this machine are those that the kernel takes for its own, also on links without a carrier and by routes", async () => {
  const own = [
    "127.0.0.1",
    "127.1.2.3",
    "::1",
    "198.51.100.1",
    "2001:db8:1::1",
    "192.0.2.1",
    "2001:db8:2::1",
    "203.0.113.77",
    "203.0.113.177",
  ];
  expect(await ownOf([...own, ...OTHERS], "")).toEqual(own);
});

test("where sockets may have any address of one family, its others are no own ones, and the other family is as ever", async () => {
  const own = ["203.0.113.77", "2001:db8:1::1", "2001:db8:2::1"];
  for (const family of ["ipv4", "ipv6"]) {
    const anyAddress = `echo 1 >/proc/sys/net/${family}/ip_nonlocal_bind`;
    expect(await ownOf([...own, ...OTHERS], anyAddress)).toEqual(own);
  }
});

test("without a socket to ask with, each address is taken for one of this machine", async () => {
  const asked = ["203.0.113.77", ...OTHERS];
  expect(await ownOf(asked, "echo 1024 1024 >/proc/sys/net/ipv4/ip_local_port_range", TAKE_PORT)).toEqual(asked);
  expect(await ownOf(asked, "ulimit -n 100", TAKE_FILES)).toEqual(asked);
});

test("an address that only another routing table has for an own one, as in a VRF, is of this machine", async () => {
  const routes = "ip route del local 198.51.100.1 dev far0 table local; ip route del 198.51.100.0/24 dev far0";
  expect(await ownOf(["198.51.100.1", ...OTHERS], `ip link set far1 up; ${routes}`)).toEqual(["198.51.100.1"]);
});
