/**
 * The bearer token. It is kept as long as the browser tab, and is in no cookie or URL. Another tab of this origin gets it
 * when it asks (other-tabs.ts).
 */
import { signal } from "@preact/signals";

const KEY = "floodwall.token";

/** null: none. */
export const token = signal<string | null>(sessionStorage.getItem(KEY));

export function keepToken(secret: string): void {
  sessionStorage.setItem(KEY, secret);
  token.value = secret;
}

export function forgetToken(): void {
  sessionStorage.removeItem(KEY);
  token.value = null;
}
