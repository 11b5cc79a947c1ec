/**
 * Whether a request to an open API names this machine. A page of another site in the operator's browser reaches a
 * listener on loopback by a name that resolves to it (DNS rebinding), or sends an order across sites; the browser puts
 * the site's name into Host and Origin.
 */
export function namesThisMachine({ headers }: Request, listenHost: string): boolean {
  const host = headers.get("host");
  const origin = headers.get("origin");
  // A client that is not a browser may send neither.
  if (host !== null && !isOwn(`http://${host}`, listenHost)) return false;
  return origin === null || isOwn(origin, listenHost);
}

/** Most callers: reading a URL takes a microsecond. */
const LOOPBACK = /^http:\/\/(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/;

function isOwn(url: string, listenHost: string): boolean {
  if (LOOPBACK.test(url)) return true;
  if (!URL.canParse(url)) return false;
  const name = new URL(url).hostname.replace(/^\[|\]$/g, "");
  return name === "localhost" || name === "::1" || name === listenHost || /^127\.\d+\.\d+\.\d+$/.test(name);
}
