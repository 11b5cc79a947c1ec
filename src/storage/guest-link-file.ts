/** Keeps shared links over a restart; those of a damaged file end. */
import { join } from "node:path";
import type { SharedLink } from "../access/guest-links.ts";
import { StoredList } from "../system/stored-list.ts";

export function sharedLinkFile(stateDir: string): StoredList<SharedLink> {
  return new StoredList(join(stateDir, "shared-links.json"), "links", isLink);
}

function isLink(value: unknown): value is SharedLink {
  const { id, kind, key, digest, createdAt, expiresAt, by } = (value ?? {}) as Partial<SharedLink>;
  const areTexts = [id, kind, key, digest].every((text) => typeof text === "string");
  return areTexts && Number.isFinite(createdAt) && Number.isFinite(expiresAt) && typeof by?.operator === "string";
}
