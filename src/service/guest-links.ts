/** The links that people without a token may use, kept in `state_dir`. */
import { randomBytes } from "node:crypto";
import { randomUUIDv7 } from "bun";
import { SharedLinks } from "../access/guest-links.ts";
import { callersNow } from "../access/shares.ts";
import type { TokenConfig } from "../access/token-config.ts";
import type { ApiConfig } from "../http/api-config.ts";
import { BackendFault } from "../http/backend.ts";
import { sharedLinkFile } from "../storage/guest-link-file.ts";
import type { Clock } from "../system/clock.ts";
import { messageOf } from "../system/error-message.ts";

interface SharedLinksParts {
  /** By the configuration in force. */
  readonly api: () => ApiConfig;
  /** Default: those of `api`. */
  readonly callers?: () => readonly Pick<TokenConfig, "tenant">[];
  readonly clock: Pick<Clock, "wallMs">;
  readonly log: { error(fields: object, message: string): void };
}

export function openSharedLinks(
  stateDir: string,
  { api, callers = () => api().callers, log, clock }: SharedLinksParts,
): SharedLinks {
  const file = sharedLinkFile(stateDir);
  return new SharedLinks(
    {
      isAllowed: () => api().sharedLinks,
      callers: callersNow(callers),
      save: (links) =>
        file.save(links).catch((cause: unknown) => {
          throw new BackendFault(`the link could not be saved: ${messageOf(cause)}; nothing was changed`, { cause });
        }),
      newId: () => randomUUIDv7(),
      randomBytes,
      wallMs: () => clock.wallMs(),
    },
    file.load((error, moved_to) => log.error({ error, moved_to }, "shared links cannot be read: they have ended")),
  );
}
