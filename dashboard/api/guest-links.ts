/** Links that show one thing to people without a token: what may be shared, and what a link shows. */
import { useEffect, useState } from "preact/hooks";
import type { SharedLinksWire, SharedWire } from "../../src/http/wire/guest-link.ts";
import { readAs } from "./client.ts";
import type { Loaded } from "./resource.ts";
import { useResource } from "./resource.ts";

export const SHARED_LINKS_PATH = "/api/v1/shared-links";
const EVERY_MS = 5000;

/** null: not known yet. */
export function useSharedLinks(): { readonly links: SharedLinksWire | null; readonly refresh: () => void } {
  const read = useResource<SharedLinksWire>(SHARED_LINKS_PATH, 0);
  const { value } = read.state;
  return { links: value.kind === "ready" ? value.data : null, refresh: () => void read.refresh() };
}

/** Read again every few seconds, by the secret of the link alone. */
export function useShared(secret: string): Loaded<SharedWire> {
  const [loaded, setLoaded] = useState<Loaded<SharedWire>>({ kind: "loading" });
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isGone = false;
    const again = async () => {
      const answer = await readAs<SharedWire>("/api/v1/shared", secret);
      if (isGone) return;
      setLoaded(
        answer.kind === "answer"
          ? { kind: "ready", data: answer.data, atMs: Date.now() }
          : { kind: "failed", failure: answer },
      );
      timer = setTimeout(() => void again(), EVERY_MS);
    };
    void again();
    return () => {
      isGone = true;
      clearTimeout(timer);
    };
  }, [secret]);
  return loaded;
}

/** For the address bar of another browser: browsers do not send what is behind `#`. */
export function linkOf(secret: string): string {
  return `${location.origin}${location.pathname}#/shared/${secret}`;
}
