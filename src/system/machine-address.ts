/** Whether an address is of this machine, as the kernel sees it. */
import { createSocket, type Socket } from "node:dgram";
import { type IpAddress, parseAddress } from "../net/address.ts";

/** The port of the service "discard": nothing is sent to it. */
const PORT = 9;
/** Reserved (RFC 1112, section 4), so no machine's own. */
const NO_ADDRESS = "240.0.0.1" as IpAddress;

/**
 * Also of an interface without a carrier or that is down, and in an IPv4 prefix that a route or an address gives to this
 * machine whole (AnyIP): no list of interfaces in use has these. Of IPv6, such a prefix is not found.
 */
export async function isOfThisMachine(address: IpAddress): Promise<boolean> {
  if ((await sourceTo(address)) === address) return true;
  // Where the kernel lets sockets have any address (ip_nonlocal_bind), that says nothing.
  return (await mayHave(address)) && !(await mayHave(NO_ADDRESS));
}

/** The address from which the kernel sends there: to one of its own from that one. */
function sourceTo(address: IpAddress): Promise<string | null> {
  return ofSocket(address, (socket, settle) => {
    socket.connect(PORT, address, () => settle(parseAddress(socket.address().address)));
  });
}

async function mayHave(address: IpAddress): Promise<boolean> {
  const had = await ofSocket(address, (socket, settle) => {
    socket.bind({ address, port: 0 }, () => settle(address));
  });
  return had !== null;
}

/** Nothing is sent from the socket, and it is closed at the end. null: an error. */
function ofSocket(
  address: IpAddress,
  use: (socket: Socket, settle: (found: string | null) => void) => void,
): Promise<string | null> {
  const { promise, resolve } = Promise.withResolvers<string | null>();
  const socket = createSocket(address.includes(":") ? "udp6" : "udp4");
  const settle = (found: string | null) => {
    socket.close();
    resolve(found);
  };
  socket.once("error", () => settle(null));
  use(socket, settle);
  return promise;
}
