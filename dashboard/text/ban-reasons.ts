/** The reasons that the service gives for the end or the refusal of a ban (docs/interface.md#ban-withdrawals). Pure. */
import { t } from "../language.ts";
import { wordOf } from "./interface-words.ts";

const REASONS: Readonly<Record<string, string>> = {
  "manual unban": t`manual unban`,
  "attack ended": t`attack ended`,
  "ttl expired": t`ttl expired`,
  "all scrubbing nodes lost": t`all scrubbing nodes lost`,
  "no scrubbing node enforces its rules": t`no scrubbing node enforces its rules`,
  whitelisted: t`whitelisted`,
  "target is whitelisted": t`target is whitelisted`,
  "outside configured networks": t`outside configured networks`,
  "target left configured networks": t`target left configured networks`,
  "prefixes are not banned": t`prefixes are not banned`,
  "prefix spans hostgroups": t`prefix spans hostgroups`,
  "prefix wider than carpet allows": t`prefix wider than carpet allows`,
  "cooldown after unban": t`cooldown after unban`,
  "max_active_bans reached": t`max_active_bans reached`,
  "max_banned_fraction reached": t`max_banned_fraction reached`,
};

/** What has parts of its own, as a reason that someone gave, stays as it is. */
export function reasonWords(reason: string): string {
  return wordOf(REASONS, reason);
}
