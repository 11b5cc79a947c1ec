/** A user with Debian's Chromium, without a window, who loads a page with its pictures again and again. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { chromium, type Page } from "playwright-core";
import { VICTIM } from "./scrub-network.ts";
import { TIMEOUT_MS } from "./scrub-requests.ts";
import { nginx, PICTURES } from "./servers.ts";
import { User, wallMs } from "./user.ts";
import type { MakeUser } from "./users.ts";

export const browser: MakeUser = async ({ client, victim }, undo) => {
  await nginx(victim, undo);
  const command = join(undo.folder("chromium"), "chromium");
  const argv = client.command([Bun.which("chromium") ?? "chromium", '"$@"']).join(" ");
  writeFileSync(command, `#!/bin/sh\nexec ${argv}\n`, { mode: 0o755 });
  const flags = ["--disable-background-networking", ...(process.getuid?.() === 0 ? ["--no-sandbox"] : [])];
  const opened = await chromium.launch({ executablePath: command, args: flags });
  undo.add(() => opened.close());
  return new Surfer(await opened.newPage());
};

class Surfer extends User {
  readonly #surfing: Promise<void>;
  #isOver = false;

  constructor(page: Page) {
    super();
    this.#surfing = this.#surf(page);
  }

  override async stop(): Promise<void> {
    this.#isOver = true;
    await this.#surfing;
  }

  async #surf(page: Page): Promise<void> {
    for (let number = 0; !this.#isOver; number++) {
      const startedAtMs = wallMs();
      const isServed = await this.#isWhole(page, number).catch(() => false);
      this.lines.push({ startedAtMs, tookMs: wallMs() - startedAtMs, isServed });
      await Bun.sleep(100);
    }
  }

  async #isWhole(page: Page, number: number): Promise<boolean> {
    await page.goto(`http://${VICTIM}/?${number}`, { timeout: TIMEOUT_MS, waitUntil: "load" });
    const seen = "document.title + [...document.images].filter((one) => one.naturalWidth > 0).length";
    return (await page.evaluate(seen)) === `served${PICTURES}`;
  }
}
