/** Points in time: the time itself, how long ago it was, and how much is left. All are updated by one clock. */
import { signal } from "@preact/signals";
import { serviceNow, silentSinceMs } from "../api/contact.ts";
import { t, tx } from "../language.ts";
import { countdown, duration, momentText } from "../text/format/times.ts";

/** The service's wall clock, ms, updated each second. It stops while the service does not answer: what is shown ended then. */
export const now = signal(serviceNow());

setInterval(() => {
  if (document.visibilityState === "visible") goOn();
}, 1000);
document.addEventListener("visibilitychange", goOn);

function goOn(): void {
  if (silentSinceMs.peek() === null) now.value = serviceNow();
}

/** `03:12:45 CET`. */
export function Moment({ at }: { readonly at: string }) {
  return <time dateTime={at}>{momentText(Date.parse(at), now.value)}</time>;
}

/** `12 min 5 s`. */
export function Since({ at }: { readonly at: string }) {
  return <time dateTime={at}>{duration((now.value - Date.parse(at)) / 1000)}</time>;
}

/** `12 min 5 s ago`. */
export function Ago({ at }: { readonly at: string }) {
  return <>{tx`${<Since at={at} />} ago`}</>;
}

/** `9:59`; `now` when no time is left. */
export function Until({ at }: { readonly at: string }) {
  const left = (Date.parse(at) - now.value) / 1000;
  return (
    <time class="number" dateTime={at}>
      {left <= 0 ? t`now` : countdown(left)}
    </time>
  );
}
