/** The listener cannot be opened. The message names the address and what to do. */
import { messageOf } from "../../system/error-message.ts";
export class ListenError extends Error {
  override readonly name = "ListenError";

  constructor(host: string, port: number, cause: unknown) {
    super(`cannot listen on ${hostPort(host, port)}: ${explain(cause, port)}`, { cause });
  }
}

function explain(cause: unknown, port: number): string {
  const code = cause instanceof Error && "code" in cause ? cause.code : undefined;
  switch (code) {
    case "EADDRINUSE":
      return `the port is in use; see who holds it with \`ss -ltnp 'sport = :${port}'\`, or change api.listen`;
    case "EACCES":
      return "not permitted; ports below 1024 need CAP_NET_BIND_SERVICE, or change api.listen";
    case "EADDRNOTAVAIL":
      return "no interface of this machine has the address; change api.listen";
    default:
      return `${messageOf(cause)}; check api.listen`;
  }
}

export function hostPort(host: string, port: number): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}
