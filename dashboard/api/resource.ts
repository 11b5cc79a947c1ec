/**
 * Data that is read periodically while it is shown: less often in a hidden tab, and at once when the tab becomes
 * visible.
 */
import { effect, signal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { type Failure, read } from "./client.ts";
import { contact } from "./contact.ts";

export type Loaded<T> =
  | { readonly kind: "loading" }
  /**
   * `atMs`: when the data arrived, browser's wall clock. The data is kept while the service is unreachable; the page
   * header shows since when.
   */
  | { readonly kind: "ready"; readonly data: T; readonly atMs: number }
  | { readonly kind: "failed"; readonly failure: Failure };

/** A function makes the path for each reading, for example for a time range that moves. */
type Path = string | (() => string);

/** Factor by which the period is longer in a hidden tab. */
const HIDDEN_FACTOR = 6;

export class Resource<T> {
  readonly state = signal<Loaded<T>>({ kind: "loading" });
  readonly #path: Path;
  readonly #everyMs: number;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #stopWatching: (() => void) | null = null;
  /** Number of the current reading; answers to older ones are ignored. */
  #reading = 0;

  /** @param everyMs 0: read once, and on request. */
  constructor(path: Path, everyMs: number) {
    this.#path = path;
    this.#everyMs = everyMs;
  }

  start(): void {
    if (this.#stopWatching !== null) return;
    const onSeen = () => {
      if (document.visibilityState === "visible") void this.refresh();
    };
    document.addEventListener("visibilitychange", onSeen);
    let wasLost = false;
    const stopEffect = effect(() => {
      const isLost = contact.value.kind === "lost";
      if (wasLost && !isLost) queueMicrotask(() => void this.refresh());
      wasLost = isLost;
    });
    this.#stopWatching = () => {
      document.removeEventListener("visibilitychange", onSeen);
      stopEffect();
    };
    void this.refresh();
  }

  stop(): void {
    this.#stopWatching?.();
    this.#stopWatching = null;
    this.#reading++;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }

  /** Forgets the data of the previous caller. */
  forget(): void {
    this.#reading++;
    this.state.value = { kind: "loading" };
  }

  async refresh(): Promise<void> {
    const reading = ++this.#reading;
    if (this.#timer !== null) clearTimeout(this.#timer);
    const path = typeof this.#path === "string" ? this.#path : this.#path();
    const answer = await read<T>(path);
    if (reading !== this.#reading) return;
    if (answer.kind === "answer") this.state.value = { kind: "ready", data: answer.data, atMs: Date.now() };
    else if (answer.kind === "refused" || this.state.peek().kind !== "ready") {
      this.state.value = { kind: "failed", failure: answer };
    }
    this.#schedule();
  }

  #schedule(): void {
    if (this.#everyMs === 0 || this.#stopWatching === null) return;
    const factor = document.visibilityState === "visible" ? 1 : HIDDEN_FACTOR;
    this.#timer = setTimeout(() => void this.refresh(), this.#everyMs * factor);
  }
}

/** Lives as long as the component. Another path, or another path function, makes another resource. */
export function useResource<T>(path: Path, everyMs: number): Resource<T> {
  const resource = useMemo(() => new Resource<T>(path, everyMs), [path, everyMs]);
  useEffect(() => {
    resource.start();
    return () => resource.stop();
  }, [resource]);
  return resource;
}

/** Returns the previous data while other data is being read, so that a table stays in place when its filter changes. */
export function useKept<T>(loaded: Loaded<T>): Loaded<T> {
  const kept = useRef(loaded);
  if (loaded.kind !== "loading") kept.current = loaded;
  return kept.current;
}
