/** Both ends of a TLS connection between brains: each shows a certificate of the cluster's authority (TLS 1.3 only). */
import { X509Certificate } from "node:crypto";
import type { AddressInfo } from "node:net";
import { connect, createServer, type Server, type TLSSocket } from "node:tls";
import { parseAddress } from "../../net/address.ts";
import { messageOf } from "../../system/error-message.ts";
import type { SocketAddress } from "../cluster-config.ts";
import { type LinkFiles, namesOf } from "./certificate.ts";
import type { ConnectionBounds } from "./connection-bounds.ts";

const HANDSHAKE_MS = 5000;

const TERMS = { minVersion: "TLSv1.3", rejectUnauthorized: true } as const;

interface ListenerObserver {
  /** @param names those of its certificate, which the authority has signed. */
  readonly connected: (socket: TLSSocket, names: readonly string[]) => void;
  /** @param address null: it is not known any more. */
  readonly refused: (cause: string, address: string | null) => void;
}

export interface Listener {
  readonly port: number;
  close(): void;
}

interface ListenerOptions {
  readonly at: SocketAddress;
  readonly files: LinkFiles;
  readonly bounds: ConnectionBounds;
  readonly monotonicMs: () => number;
  readonly observer: ListenerObserver;
}

/** Rejects when the address cannot be listened on. */
export function listen({ at, files, bounds, monotonicMs, observer }: ListenerOptions): Promise<Listener> {
  const { cert, key, ca } = files;
  const server: Server = createServer({ ...TERMS, cert, key, ca, requestCert: true, handshakeTimeout: HANDSHAKE_MS });
  const isSaid = new WeakSet<TLSSocket>();
  server.on("connection", (socket: TLSSocket) => {
    // As a socket for both families says it: ::ffff:192.0.2.1.
    const address = socket.remoteAddress?.replace(/^::ffff:(?=\d+\.)/i, "") ?? "";
    const leave = bounds.admit(parseAddress(address) ?? address, monotonicMs());
    if (leave !== null) {
      socket.once("close", leave);
      return;
    }
    socket.on("error", () => {});
    isSaid.add(socket);
    socket.destroy();
    observer.refused("too many connections at once", address);
  });
  server.on("tlsClientError", (cause, socket) => {
    if (!isSaid.has(socket)) observer.refused(messageOf(cause), socket.remoteAddress ?? null);
    // One whose time for the handshake is over would stay open.
    socket.destroy();
  });
  server.on("secureConnection", (socket) => {
    socket.on("error", () => {});
    observer.connected(socket, namesOfPeer(socket));
  });
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ ...at }, () => {
      server.off("error", reject);
      server.on("error", (cause) => observer.refused(messageOf(cause), null));
      const { port: bound } = server.address() as AddressInfo;
      resolve({ port: bound, close: () => server.close() });
    });
  });
}

interface DialObserver {
  readonly connected: (socket: TLSSocket) => void;
  readonly failed: (cause: string) => void;
}

/** @param name that the certificate must have. Returns what gives the attempt up; nothing is called then. */
export function dial(
  { name, address }: { readonly name: string; readonly address: SocketAddress },
  { cert, key, ca }: LinkFiles,
  observer: DialObserver,
): () => void {
  // Names are those of brains, not of hosts: compared below.
  const socket = connect({
    ...TERMS,
    ...address,
    cert,
    key,
    ca,
    servername: name,
    checkServerIdentity: () => undefined,
  });
  let isSettled = false;
  const settle = (report: () => void) => {
    if (isSettled) return;
    isSettled = true;
    report();
  };
  socket.on("error", (cause) => settle(() => observer.failed(messageOf(cause))));
  socket.on("close", () => settle(() => observer.failed("the connection was closed")));
  socket.on("secureConnect", () =>
    settle(() => {
      const names = namesOfPeer(socket);
      if (names.includes(name)) return observer.connected(socket);
      socket.destroy();
      observer.failed(`its certificate is of ${names.join(", ") || "no name"}, not of ${name}`);
    }),
  );
  return () => {
    isSettled = true;
    socket.destroy();
  };
}

function namesOfPeer(socket: TLSSocket): string[] {
  const { raw } = socket.getPeerCertificate();
  return raw === undefined ? [] : namesOf(new X509Certificate(raw));
}
