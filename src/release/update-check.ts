/**
 * Requests the configured URL at an interval to learn of newer releases. The request contains only the product's name.
 * The answer is `{"version": "1.4.0", "url": "https://…", "security": false}`; further keys are ignored. A failed check
 * is only logged.
 */
import type { Limiter } from "../observability/limiter.ts";
import type { Log } from "../observability/log.ts";
import type { Cancel, Timers } from "../system/timers.ts";
import type { UpdateCheckConfig } from "./update-check-config.ts";
import { isVersion } from "./version-order.ts";

/** Bytes of the answer to an update check. */
export const UPDATE_ANSWER_BYTES_MAX = 64 * 1024;

/** A release newer than the running one. */
export interface Update {
  readonly latestVersion: string;
  readonly isSecurity: boolean;
  /** The page about the release. */
  readonly latestUrl: string;
}

interface UpdateCheckOptions {
  readonly config: UpdateCheckConfig;
  readonly version: string;
  readonly timers: Timers;
  readonly log: Log;
  readonly limiter: Limiter;
  /** 0 to 1: so that services that started together do not send requests together. */
  readonly random: () => number;
  readonly deadlineMs?: number;
}

const DEADLINE_MS = 10_000;
/** The first check follows within this time after a start or a reload, ms. */
const FIRST_DELAY_MS = 60_000;
const URL_CHARACTERS_MAX = 2048;

export class UpdateCheck {
  readonly #options: UpdateCheckOptions;
  #config: UpdateCheckConfig;
  #available: Update | null = null;
  #isRunning = false;
  #cancelNext: Cancel | null = null;
  #request: AbortController | null = null;

  constructor(options: UpdateCheckOptions) {
    this.#options = options;
    this.#config = options.config;
  }

  /** null: none is known. */
  get available(): Update | null {
    return this.#available;
  }

  start(): void {
    this.#isRunning = true;
    this.#schedule(FIRST_DELAY_MS * this.#options.random());
  }

  /** Drops the result of another URL. */
  reconfigure(config: UpdateCheckConfig): void {
    const { url, intervalSeconds } = this.#config;
    this.#config = config;
    if (!this.#isRunning || (config.url === url && config.intervalSeconds === intervalSeconds)) return;
    if (config.url !== url) this.#available = null;
    this.#abort();
    this.#schedule(FIRST_DELAY_MS * this.#options.random());
  }

  stop(): void {
    this.#isRunning = false;
    this.#abort();
  }

  #abort(): void {
    this.#cancelNext?.();
    this.#cancelNext = null;
    this.#request?.abort();
    this.#request = null;
  }

  #schedule(ms: number): void {
    const { url } = this.#config;
    if (url !== null) this.#cancelNext = this.#options.timers.after(ms, () => void this.#check(url));
  }

  async #check(url: string): Promise<void> {
    const { timers, log, limiter, random, deadlineMs = DEADLINE_MS } = this.#options;
    const request = new AbortController();
    this.#request = request;
    const cancelDeadline = timers.after(deadlineMs, () => request.abort());
    try {
      const release = await ask(url, request.signal);
      if (this.#request === request) this.#take(release);
    } catch (cause) {
      // Stopped, or the configuration changed meanwhile.
      if (this.#request !== request) return;
      const reason = request.signal.aborted ? "no answer in time" : reasonOf(cause);
      limiter.pass("update check", (suppressed) => log.warn({ cause: reason, suppressed }, "the update check failed"));
    } finally {
      cancelDeadline();
    }
    if (this.#request !== request) return;
    this.#request = null;
    // Randomized by 10 %, so that many services do not send requests together.
    this.#schedule(this.#config.intervalSeconds * 1000 * (0.9 + 0.2 * random()));
  }

  #take({ version, url, security }: Release): void {
    const running = this.#options.version;
    if (!isVersion(version) || !isVersion(running)) throw new UpdateFault("a version is not of the form 1.2.3");
    const isNewer = Bun.semver.order(version, running) > 0;
    if (isNewer && this.#available?.latestVersion !== version) {
      this.#options.log.info({ latest_version: version, security }, "there is a newer release");
    }
    this.#available = isNewer ? { latestVersion: version, isSecurity: security, latestUrl: url } : null;
  }
}

interface Release {
  readonly version: string;
  readonly url: string;
  readonly security: boolean;
}

/** With fixed texts, so that no URL is logged. */
class UpdateFault extends Error {}

function reasonOf(cause: unknown): string {
  if (cause instanceof UpdateFault) return cause.message;
  const code = cause instanceof Error && "code" in cause ? cause.code : null;
  return typeof code === "string" && /^[A-Za-z][A-Za-z0-9_]{1,48}$/.test(code) ? code : "failed";
}

async function ask(url: string, signal: AbortSignal): Promise<Release> {
  const response = await fetch(url, {
    signal,
    redirect: "manual",
    keepalive: false,
    headers: { accept: "application/json", "user-agent": "Floodwall" },
  });
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new UpdateFault(`answered ${response.status}`);
  }
  return parseRelease(await boundedText(response));
}

async function boundedText(response: Response): Promise<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let text = "";
  let bytes = 0;
  const body = response.body as ReadableStream<Uint8Array> | null;
  for await (const chunk of body ?? []) {
    bytes += chunk.length;
    // Leaving the loop cancels the response.
    if (bytes > UPDATE_ANSWER_BYTES_MAX) throw new UpdateFault("the answer is too long");
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

function parseRelease(text: string): Release {
  const answer = asObject(text);
  const { version, url, security } = answer;
  if (typeof version !== "string" || typeof url !== "string" || typeof security !== "boolean") {
    throw new UpdateFault("the answer lacks version, url or security");
  }
  // The URL is shown as a link.
  const link = url.length <= URL_CHARACTERS_MAX && URL.canParse(url) ? new URL(url) : null;
  if (link === null || !["http:", "https:"].includes(link.protocol))
    throw new UpdateFault("its url is not an http or https URL");
  return { version: version.replace(/^v/, ""), url: link.href, security };
}

function asObject(text: string): Record<string, unknown> {
  let answer: unknown;
  try {
    answer = JSON.parse(text);
  } catch {
    throw new UpdateFault("the answer is not JSON");
  }
  if (typeof answer !== "object" || answer === null) throw new UpdateFault("the answer is not a JSON object");
  return { ...answer };
}
