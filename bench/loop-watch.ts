/**
 * Preloaded into a service that is measured: says on a port of its own for how long the event loop was held up at most
 * since it was asked last, and how much memory the process has. Its port is in LOOP_WATCH_PORT.
 */

export interface LoopWatch {
  /** The longest time between two turns of a timer of 1 ms. */
  readonly longestMs: number;
  /** Resident, after all garbage was collected where that was asked for. */
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

// Threads of the service are no event loops of its own.
if (Bun.isMainThread && port > 0) {
  setInterval(look, 1).unref();
  Bun.serve({
    hostname: "127.0.0.1",
    port,
    fetch(request) {
      look();
      const told = { longestMs, rssBytes: 0 };
      if (new URL(request.url).pathname === "/collected") Bun.gc(true);
      const { rss } = process.memoryUsage();
      lastMs = performance.now();
      longestMs = 0;
      return Response.json({ ...told, rssBytes: rss } satisfies LoopWatch);
    },
  }).unref();
}
