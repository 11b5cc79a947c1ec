/**
 * Messages between the tabs of this origin: a new one asks for the token of one that is signed in, and signing out is
 * for all. The token goes from the memory of a tab to that of another, and is never stored where it would outlive the
 * last of them.
 */

type Message =
  | { readonly kind: "ask" }
  | { readonly kind: "token"; readonly secret: string }
  | { readonly kind: "signed_out" };

/** Other tabs answer at once, unless the browser has frozen them. */
const WAIT_MS = 300;

interface Tabs {
  /** null: this tab is not signed in, or needs no token. */
  readonly secret: () => string | null;
  readonly onSignedOut: () => void;
}

const channel = new BroadcastChannel("floodwall.session");

/** Call once. */
export function answerTabs({ secret, onSignedOut }: Tabs): void {
  channel.addEventListener("message", ({ data }: MessageEvent<unknown>) => {
    const message = messageOf(data);
    if (message?.kind === "signed_out") onSignedOut();
    if (message?.kind !== "ask") return;
    const own = secret();
    if (own !== null) send({ kind: "token", secret: own });
  });
}

/** null: no tab has answered. */
export function askTabs(): Promise<string | null> {
  return new Promise((resolve) => {
    const end = (secret: string | null) => {
      clearTimeout(timer);
      channel.removeEventListener("message", onMessage);
      resolve(secret);
    };
    const onMessage = ({ data }: MessageEvent<unknown>) => {
      const message = messageOf(data);
      if (message?.kind === "token") end(message.secret);
    };
    const timer = setTimeout(() => end(null), WAIT_MS);
    channel.addEventListener("message", onMessage);
    send({ kind: "ask" });
  });
}

export function sendSignedOut(): void {
  send({ kind: "signed_out" });
}

function send(message: Message): void {
  channel.postMessage(message);
}

/** null: a tab with another version of the page sent it. */
function messageOf(data: unknown): Message | null {
  if (typeof data !== "object" || data === null || !("kind" in data)) return null;
  if (data.kind === "ask" || data.kind === "signed_out") return { kind: data.kind };
  if (data.kind !== "token" || !("secret" in data) || typeof data.secret !== "string") return null;
  return { kind: "token", secret: data.secret };
}
