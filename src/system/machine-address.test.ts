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
  const others = ["198.51.100.2", "2001:db8:1::2"];
  const ask = [process.execPath, "-e", ASK, join(import.meta.dir, "machine-address.ts"), ...own, ...others];
  const child = Bun.spawn(["unshare", "--net", "sh", "-ec", `${LINKS}; exec "$@"`, "sh", ...ask]);
  const answer = JSON.parse(await child.stdout.text()) as Record<string, boolean>;
  expect(answer).toEqual(Object.fromEntries([...own.map((one) => [one, true]), ...others.map((one) => [one, false])]));
});
