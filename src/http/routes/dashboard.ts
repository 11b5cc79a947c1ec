/**
 * The web page: public files without data (docs/interface.md#open-without-a-token). The page reads its data from the
 * guarded routes. It may load from and send to this listener only.
 */
import { Type } from "@sinclair/typebox";
import type { Refusal } from "../refusal.ts";
import type { OpenRoute } from "../route.ts";
import { fileAnswer } from "../server/answer.ts";
import { acceptedCodings } from "../server/coding.ts";
import type { Coding, DashboardFile, DashboardFiles } from "../server/dashboard-files.ts";
import { readIfNoneMatch } from "../server/etag.ts";
import { readTarget } from "../server/request-target.ts";

export interface Dashboard {
  readonly files: DashboardFiles;
  /** `api.dashboard` of the configuration in force. */
  readonly isShown: () => boolean;
}

/** Styles that scripts set on an element do not count as inline styles; markup and `style` elements do. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");

const YEAR_SECONDS = 365 * 86_400;
const UNKNOWN: Refusal = { kind: "unknown_path" };

export function dashboardRoutes({ files, isShown }: Dashboard): readonly OpenRoute[] {
  const answer = (path: string, request: Request): Response | Refusal => {
    const file = isShown() ? files.get(path) : undefined;
    return file === undefined ? UNKNOWN : answerWith(file, request);
  };
  const page: OpenRoute = {
    name: "dashboard",
    method: "GET",
    path: "/",
    access: "open",
    about: {
      summary: "The dashboard, a page for people",
      answers: {
        200: { text: "The page.", schema: Type.String(), mediaType: "text/html" },
        304: { text: "The page has not changed.", schema: null },
        404: { text: "`api.dashboard` is false." },
      },
    },
    handle: (request) => answer("/", request),
  };
  const asset: OpenRoute = {
    name: "dashboard_asset",
    method: "GET",
    path: "/assets/:name",
    access: "open",
    about: {
      summary: "A part of the dashboard",
      answers: {
        200: { text: "The part.", schema: Type.String(), mediaType: "text/javascript" },
        304: { text: "The part has not changed.", schema: null },
        404: { text: "There is no such part, or `api.dashboard` is false." },
      },
    },
    handle: (request) => answer(`/assets/${readTarget("/assets/:name", request.url)?.params["name"]}`, request),
  };
  return [page, asset];
}

function answerWith({ contentType, hash, isHashed, bytes }: DashboardFile, { headers }: Request): Response {
  const coding = bestCoding(headers.get("accept-encoding"));
  // A strong tag names bytes, so each coding has its own.
  const etag = `"${hash}-${coding}"`;
  const held = readIfNoneMatch(headers.get("if-none-match"));
  const isHeld = held === "any" || held?.has(etag) === true;
  return fileAnswer(isHeld ? null : bytes[coding], {
    etag,
    vary: "accept-encoding",
    "content-type": contentType,
    "cache-control": isHashed ? `public, max-age=${YEAR_SECONDS}, immutable` : "no-cache",
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "referrer-policy": "no-referrer",
    ...(coding === "identity" ? {} : { "content-encoding": coding }),
  });
}

/** The smallest coding that the caller accepts. */
function bestCoding(accepted: string | null): Coding {
  const taken = acceptedCodings(accepted);
  if (taken.has("br")) return "br";
  return taken.has("gzip") ? "gzip" : "identity";
}
