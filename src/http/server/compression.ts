/**
 * Compresses large JSON answers for callers that take gzip, on threads of the runtime: a list of a thousand attacks has
 * 3.8 MB, and compressing it would hold the event loop up for longer than a tick may take.
 */
import { promisify } from "node:util";
import { gzip as gzipOf } from "node:zlib";
import type { Soon } from "../../system/soon.ts";
import { isLarge } from "./answer.ts";
import { acceptedCodings } from "./coding.ts";

/** Answers that are compressed at once; others are sent as they are, so that callers cannot fill the threads. */
const AT_ONCE = 2;
/** The fastest: the size of JSON hardly depends on it. */
const LEVEL = 1;
const gzip = promisify(gzipOf);

export class Compression {
  #running = 0;

  /** The answer, compressed where that is worth it. */
  apply(request: Request, answer: Response): Soon<Response> {
    return isLarge(answer) ? this.#compressed(request, answer) : answer;
  }

  async #compressed(request: Request, answer: Response): Promise<Response> {
    answer.headers.set("vary", "accept-encoding");
    const takesGzip = acceptedCodings(request.headers.get("accept-encoding")).has("gzip");
    if (!takesGzip || request.method === "HEAD" || this.#running >= AT_ONCE) return answer;
    this.#running++;
    try {
      const bytes = await gzip(await answer.arrayBuffer(), { level: LEVEL });
      const headers = new Headers(answer.headers);
      headers.set("content-encoding", "gzip");
      return new Response(bytes, { status: answer.status, headers });
    } finally {
      this.#running--;
    }
  }
}
