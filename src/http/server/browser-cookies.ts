/**
 * The two cookies of a signed-in browser, and whether a request with them comes from the dashboard's own page
 * (docs/interface.md#sign-in). A cookie goes along with requests that other sites cause, so it counts for no other page.
 */
import { isSecure, type SignInConfig } from "../../access/sign-in-config.ts";

/** `attempt`: while the user is at the provider. */
type CookieKind = "session" | "attempt";

/** Without path and domain: cookies with this prefix are of this host alone (RFC 6265bis, section 4.1.3.2). */
const HOST_ONLY = "__Host-";
const VALUE = /^[A-Za-z0-9_-]{1,4096}$/;

/** null: there is none, or several of the name. */
export function cookieOf(request: Request, kind: CookieKind, config: SignInConfig): string | null {
  const name = nameOf(kind, config);
  const values = (request.headers.get("cookie") ?? "")
    .split(";")
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1));
  const [value = "", ...others] = values;
  return others.length === 0 && VALUE.test(value) ? value : null;
}

/** Value of a `Set-Cookie` header. The browser forgets the session when it is closed. */
export function setCookie(kind: CookieKind, value: string, config: SignInConfig): string {
  // The provider's page leads back to the callback: `Lax` lets the browser send the cookie along with that.
  const site = kind === "session" ? "Strict" : "Lax; Max-Age=600";
  return `${nameOf(kind, config)}=${value}; ${attributes(config)}; SameSite=${site}`;
}

export function clearCookie(kind: CookieKind, config: SignInConfig): string {
  return `${nameOf(kind, config)}=; ${attributes(config)}; SameSite=Strict; Max-Age=0`;
}

/**
 * Whether the page that sent the request is the dashboard. Browsers send `Origin` with every request but GET and HEAD
 * (the Fetch standard), and most of them `Sec-Fetch-Site`, which is `none` for an address that the user typed.
 */
export function isOwnPage({ method, headers }: Request, { publicUrl }: SignInConfig): boolean {
  const origin = headers.get("origin");
  const isRead = method === "GET" || method === "HEAD";
  if (origin === null ? !isRead : origin !== publicUrl) return false;
  const site = headers.get("sec-fetch-site");
  return site === null || site === "same-origin" || (isRead && site === "none");
}

function attributes(config: SignInConfig): string {
  return isSecure(config) ? "Path=/; HttpOnly; Secure" : "Path=/; HttpOnly";
}

/** By plain http cookies belong to all ports of a host, of which another may have a service too. */
function nameOf(kind: CookieKind, config: SignInConfig): string {
  const name = kind === "session" ? "floodwall" : "floodwall-sign-in";
  return isSecure(config) ? HOST_ONLY + name : `${name}-${new URL(config.publicUrl).port || "80"}`;
}
