/**
 * Preloaded into a measured service: reports on its own port the longest delay of the event loop since the last
 * request, and the memory of the process. The port is in LOOP_WATCH_PORT.
 */

export interface LoopWatch {
  /** The longest time between two turns of a timer of 1 ms. */
  readonly longestMs: number;
  /** Resident memory, after a garbage collection if requested. */
  readonly rssBytes: number;
}

const port = Number(process.env["LOOP_WATCH_PORT"]);
let longestMs = 0;
let lastMs = performance.now();

function look(): void {
  const nowMs = performance.now();
  longestMs = Math.max(longestMs, nowMs - lastMs);
  lastMs = nowMs;
}

// Threads of the service do not need their own watch.
if (Bun.isMainThread && port > 0) {
  setInterval(look, 1).unref();
  Bun.serve({
    hostname: "127.0.0.1",
    port,
    fetch(request) {
      look();
      const watched = { longestMs, rssBytes: 0 };
      if (new URL(request.url).pathname === "/collected") Bun.gc(true);
      const { rss } = process.memoryUsage();
      lastMs = performance.now();
      longestMs = 0;
      return Response.json({ ...watched, rssBytes: rss } satisfies LoopWatch);
    },
  }).unref();
}
