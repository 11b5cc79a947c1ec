/** A request so often that a service that stopped or hangs is noticed within two seconds, whatever the page reads. */
import { answered, heed, unanswered } from "./contact.ts";

export const PERIOD_MS = 500;
const LOOK_MS = 200;
/** As long as every other request. */
const DEADLINE_MS = 10_000;
/** A browser has six connections to a service, and a stream takes one of them. */
const AT_ONCE_MAX = 2;
/** A page that did not run for this time was paused. */
const PAUSE_MS = 3 * LOOK_MS;

/** Returns the function that stops it. */
export function startHeartbeat(): () => void {
  let pending = 0;
  const request = setInterval(() => {
    if (document.visibilityState !== "visible" || pending >= AT_ONCE_MAX) return;
    pending++;
    void ask().finally(() => pending--);
  }, PERIOD_MS);
  let lookedMs = performance.now();
  let awakeSinceMs = lookedMs;
  const look = setInterval(() => {
    const nowMs = performance.now();
    if (nowMs - lookedMs > PAUSE_MS || document.visibilityState !== "visible") awakeSinceMs = nowMs;
    lookedMs = nowMs;
    heed(Date.now(), nowMs - awakeSinceMs);
  }, LOOK_MS);
  return () => {
    clearInterval(request);
    clearInterval(look);
  };
}

async function ask(): Promise<void> {
  try {
    const signal = AbortSignal.timeout(DEADLINE_MS);
    const answer = await fetch("/healthz", { signal, cache: "no-store", credentials: "omit", redirect: "error" });
    await answer.text();
    answered(answer.headers.get("date"));
  } catch {
    unanswered();
  }
}
