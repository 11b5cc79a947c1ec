/** An empty application of the library with all its choices made, since several of its own would hurt us. */
import { Elysia } from "elysia";

/** Longer than the longest hold of a parked poll and than a reload may take: they send nothing meanwhile. */
export const IDLE_SECONDS = 60;

export function createApp() {
  return new Elysia({
    aot: true,
    strictPath: true,
    handler: { standardHostname: false },
    serve: {
      idleTimeout: IDLE_SECONDS,
      // A second service on the same port must fail, not share it.
      reusePort: false,
      development: false,
      // The pipeline bounds bodies, with an answer of our own.
      maxRequestBodySize: Number.MAX_SAFE_INTEGER,
    },
  });
}
