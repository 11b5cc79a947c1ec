/**
 * The end of the session of a browser that was signed in by the identity provider: the cookie is the service's to take back, so
 * the page says so until it has.
 */
import { signal } from "@preact/signals";
import type { SignedOutWire } from "../../src/http/wire/sign-in.ts";
import type { Answer } from "./client.ts";

export type SignOutState =
  | { readonly kind: "none" }
  /** The service has not taken it yet: the browser is signed in still. */
  | { readonly kind: "waits" }
  /** `providerUrl`: where the user ends the session with the provider; null: there is no such page. */
  | { readonly kind: "done"; readonly providerUrl: string | null };

export const signOutState = signal<SignOutState>({ kind: "none" });

interface SignOutParts {
  readonly send: () => Promise<Answer<SignedOutWire>>;
  /** Until the next attempt. */
  readonly pause: () => Promise<void>;
  /** Whether someone has signed in again meanwhile. */
  readonly isOver: () => boolean;
}

/** Tries until the session has ended. */
export async function endBrowserSession({ send, pause, isOver }: SignOutParts): Promise<void> {
  while (!isOver()) {
    const answer = await send();
    if (isOver()) break;
    if (answer.kind === "answer") {
      signOutState.value = { kind: "done", providerUrl: webUrl(answer.data.provider_url) };
      return;
    }
    if (answer.kind === "refused" && answer.status === 401) {
      signOutState.value = { kind: "done", providerUrl: null };
      return;
    }
    signOutState.value = { kind: "waits" };
    await pause();
  }
  signOutState.value = { kind: "none" };
}

/** A link to anything else would be a script. */
function webUrl(text = ""): string | null {
  return /^https?:\/\//.test(text) ? text : null;
}
