/**
 * A user of the victim in the scrubbing lab: requests at an even pace, each on a connection of its own, until SIGTERM. Started
 * in a namespace of its own; prints a line of JSON for each request when it is over.
 */
import { type RequestLine, TIMEOUT_MS } from "./scrub-requests.ts";

const [origin = "", intervalMs = ""] = process.argv.slice(2);
let requests = 0;

const timer = setInterval(() => void ask(`/${requests++}`), Number(intervalMs));
process.on("SIGTERM", () => {
  clearInterval(timer);
  // What is under way is over by then, and nothing else keeps the process.
});

async function ask(path: string): Promise<void> {
  const startedAtMs = performance.timeOrigin + performance.now();
  const isServed = await fetch(origin + path, { keepalive: false, signal: AbortSignal.timeout(TIMEOUT_MS) })
    .then(async (answer) => (await answer.text()) === `served ${path}`)
    .catch(() => false);
  const tookMs = performance.timeOrigin + performance.now() - startedAtMs;
  console.log(JSON.stringify({ startedAtMs, tookMs, isServed } satisfies RequestLine));
}
