/** Whether a host is the caller's, and whether it may be banned, by the preview of a ban. Pure. */
import type { BanPreviewWire } from "../../src/http/wire/ban-preview.ts";
import type { Loaded } from "../api/resource.ts";
import { acceptedOf } from "./attack-advice.ts";

type HostStanding =
  /** Nothing may be said of it before it is known whose it is. */
  | { readonly kind: "unknown" }
  /** It is of another tenant, or of none. */
  | { readonly kind: "foreign" }
  /** `refusal`: why a ban of it would be refused now; null: it would not, or it is not known. */
  | { readonly kind: "own"; readonly refusal: string | null };

const FORBIDDEN = 403;

export function hostStanding(preview: Loaded<BanPreviewWire>, isUnscoped: boolean): HostStanding {
  if (preview.kind === "ready") return { kind: "own", refusal: acceptedOf(preview.data).ban };
  if (isUnscoped) return { kind: "own", refusal: null };
  if (preview.kind === "loading") return { kind: "unknown" };
  const { failure } = preview;
  return failure.kind === "refused" && failure.status === FORBIDDEN
    ? { kind: "foreign" }
    : { kind: "own", refusal: null };
}
