/**
 * Bans as the state database stores them, as one record: as they are, but the communities of routes as text, as in the
 * configuration, so that a record does not depend on how this build keeps them.
 */
import type { Ban } from "../mitigation/ban.ts";
import { type Community, communityText, parseCommunity } from "../net/community.ts";

/** The key of routes; nothing else in a ban has this name. */
const KEY = "communities";

export function recordOfBan(ban: Ban): string {
  return JSON.stringify(ban, (key, value: unknown) =>
    key === KEY ? (value as readonly Community[]).map(communityText) : value,
  );
}

/** Throws where a text is no community. */
export function banOfRecord(record: string): Ban {
  return JSON.parse(record, (key, value: unknown) =>
    key === KEY ? (value as readonly string[]).map(community) : value,
  ) as Ban;
}

function community(text: string): Community {
  const parsed = parseCommunity(text);
  if (parsed === null) throw new Error(`${text} is no community`);
  return parsed;
}
