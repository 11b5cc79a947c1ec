/** The claims of an identity provider about a user, and the rights that the configuration gives for them. */
import { TEXT_FORMS } from "../schema/text-forms.ts";
import type { Principal } from "./principal.ts";
import type { ClaimedRole, SignInConfig } from "./sign-in-config.ts";

/** By name; values as the provider sends them (OpenID Connect Core 1.0). */
export type Claims = Readonly<Record<string, unknown>>;

/** Characters of all claims of a user, as JSON, and of a name. */
const CLAIMS_CHARACTERS_MAX = 16_384;
const NAME_CHARACTERS_MAX = 64;

/** In the audit trail and in orders: tokens cannot have a name with a space. */
const USER = "user ";
const SUBJECT = "sub:";

/**
 * The name of the user among callers: by the configured claim, else by the subject, marked so that no one who chooses a name
 * can have that of another. null: neither can be shown on one line.
 */
export function userName(claims: Claims, { nameClaim }: Pick<SignInConfig, "nameClaim">): string | null {
  const named = valuesOf(claims, nameClaim)[0];
  if (named !== undefined && isName(named) && !named.startsWith(SUBJECT)) return USER + named;
  const subject = subjectOf(claims);
  return subject === null || !isName(subject) ? null : USER + SUBJECT + subject;
}

/** The user, whatever the name: a provider gives it to one user alone (OpenID Connect Core 1.0, ID Token). */
export function subjectOf(claims: Claims): string | null {
  const { sub } = claims;
  return typeof sub === "string" && sub !== "" ? sub : null;
}

/** null: the user may not sign in. */
export function rightsOf(
  claims: Claims,
  { roles }: Pick<SignInConfig, "roles">,
): Pick<Principal, "role" | "tenant"> | null {
  const found = roles.find((one) => fits(claims, one));
  return found === undefined ? null : { role: found.role, tenant: found.tenant };
}

export function isTooLarge(claims: Claims): boolean {
  return JSON.stringify(claims).length > CLAIMS_CHARACTERS_MAX;
}

function fits(claims: Claims, { claim, value }: ClaimedRole): boolean {
  return valuesOf(claims, claim).includes(value);
}

/**
 * A claim of this name, or one inside of others: `realm_access.roles`. Names may have dots themselves, like URLs and clients
 * (`resource_access.fw.example.net.roles`): the longest name that there is decides.
 */
function valuesOf(claims: Claims, name: string): readonly string[] {
  if (Object.hasOwn(claims, name)) return textsOf(claims[name]);
  for (let dot = name.lastIndexOf("."); dot > 0; dot = name.lastIndexOf(".", dot - 1)) {
    const [outer, inner] = [name.slice(0, dot), name.slice(dot + 1)];
    const value = Object.hasOwn(claims, outer) ? claims[outer] : null;
    if (typeof value === "object" && value !== null) return valuesOf(value as Claims, inner);
  }
  return [];
}

function textsOf(value: unknown): readonly string[] {
  const values: readonly unknown[] = Array.isArray(value) ? value : [value];
  return values.filter((one) => typeof one === "string");
}

function isName(text: string): boolean {
  return text.trim() === text && text.length <= NAME_CHARACTERS_MAX && TEXT_FORMS.description(text) === null;
}
