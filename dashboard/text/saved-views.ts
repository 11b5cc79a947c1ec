/** Views that the user has saved under a name: where they are and what is chosen there. Pure. */
import { t } from "../language.ts";

export interface SavedView {
  readonly name: string;
  /** The query of the page's address. */
  readonly query: string;
}

export const SAVED_MAX = 20;
const NAME_CHARACTERS_MAX = 40;

/** A text that is no such list is none. */
export function parseSaved(text: string | null): readonly SavedView[] {
  try {
    const read: unknown = JSON.parse(text ?? "[]");
    return Array.isArray(read) ? read.filter(isSaved).slice(0, SAVED_MAX) : [];
  } catch {
    return [];
  }
}

function isSaved(value: unknown): value is SavedView {
  if (typeof value !== "object" || value === null || !("name" in value) || !("query" in value)) return false;
  return typeof value.name === "string" && typeof value.query === "string";
}

/** The fault of the name; null: none. */
export function saveFault(saved: readonly SavedView[], name: string): string | null {
  if (name.trim() === "") return t`Give it a name.`;
  if (Array.from(name.trim()).length > NAME_CHARACTERS_MAX) return t`At most ${NAME_CHARACTERS_MAX} characters.`;
  const isNew = saved.every((view) => view.name !== name.trim());
  return isNew && saved.length >= SAVED_MAX ? t`At most ${SAVED_MAX}: remove one first.` : null;
}

/** In place of the one with its name. */
export function withSaved(saved: readonly SavedView[], { name, query }: SavedView): readonly SavedView[] {
  return [...saved.filter((view) => view.name !== name.trim()), { name: name.trim(), query }];
}
