/** Whether an address is of this machine, as the kernel sees it. */
import { createSocket, type Socket } from "node:dgram";
import { networkInterfaces } from "node:os";
import { type IpAddress, parseAddress } from "../net/address.ts";

/** The port of the service "discard": nothing is sent to it. */
const PORT = 9;
/** No machine's own: reserved (RFC 1112, section 4), and for packets to discard (RFC 6666). */
const NO_ADDRESS = { udp4: "240.0.0.1" as IpAddress, udp6: "100::1" as IpAddress };
/** Errors of a socket that say that the machine has no such address, or none of the family. */
const NOT_HAD: readonly unknown[] = ["EADDRNOTAVAIL", "EAFNOSUPPORT"];

/**
 * Also of an interface without a carrier or that is down, in another routing domain (VRF), and in an IPv4 prefix that a
 * route or an address gives to this machine whole (AnyIP). Of IPv6, such a prefix is not found.
 *
 * @returns true too where the machine cannot say, as without a file or a port for a socket.
 */
export async function isOfThisMachine(address: IpAddress): Promise<boolean> {
  try {
    if (isListed(address) || (await sourceTo(address)) === address) return true;
    // Where the kernel lets sockets of the family have any address (ip_nonlocal_bind), that says nothing.
    return (await mayHave(address)) && !(await mayHave(NO_ADDRESS[typeOf(address)]));
  } catch {
    return true;
  }
}

/** Addresses of interfaces in use come and go while the service runs. Those of a VRF are not found without its device. */
function isListed(address: IpAddress): boolean {
  const listed = Object.values(networkInterfaces()).flatMap((addresses = []) => addresses);
  return listed.some((one) => parseAddress(one.address.replace(/%.*$/, "")) === address);
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

/** Nothing is sent from the socket, and it is closed at the end. null: not had. Rejects with any other error. */
function ofSocket(
  address: IpAddress,
  use: (socket: Socket, settle: (found: string | null) => void) => void,
): Promise<string | null> {
  const { promise, resolve, reject } = Promise.withResolvers<string | null>();
  const socket = createSocket(typeOf(address));
  const settle = (found: string | null) => {
    socket.close();
    resolve(found);
  };
  socket.once("error", (error: NodeJS.ErrnoException) => {
    socket.close();
    if (NOT_HAD.includes(error.code)) resolve(null);
    else reject(error);
  });
  use(socket, settle);
  return promise;
}

function typeOf(address: IpAddress): "udp4" | "udp6" {
  return address.includes(":") ? "udp6" : "udp4";
}
