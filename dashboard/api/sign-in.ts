/** Signing in by the identity provider: whether there is one, where it is, and why a sign-in has failed. */
import { useEffect, useState } from "preact/hooks";
import type { SignInWire } from "../../src/http/wire/sign-in.ts";
import { t } from "../language.ts";
import { linkTo, place } from "../router.ts";
import { read } from "./client.ts";

export type Provider = NonNullable<SignInWire["provider"]>;

/** How often the page looks whether a provider that is away is back. */
const EVERY_MS = 3000;
/** The key of the query in the page's address, which the service sets when a sign-in has failed. */
const FAILURE = "sign_in";

/** null: there is none, or it is not known yet. */
export function useProvider(): Provider | null {
  const [provider, setProvider] = useState<Provider | null>(null);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isGone = false;
    const look = async () => {
      const answer = await read<SignInWire>("/api/v1/sign-in");
      if (isGone) return;
      if (answer.kind === "answer") setProvider(answer.data.provider ?? null);
      const isSettled = answer.kind === "answer" && answer.data.provider?.available !== false;
      if (!isSettled) timer = setTimeout(() => void look(), EVERY_MS);
    };
    void look();
    return () => {
      isGone = true;
      clearTimeout(timer);
    };
  }, []);
  return provider;
}

/** Where the browser goes, to come back to the place where the user is. */
export function beginUrl({ url }: Provider): string {
  const { steps, query } = place.value;
  const { [FAILURE]: _, ...others } = Object.fromEntries(query);
  return `${url}?${new URLSearchParams({ place: linkTo(steps, others).slice(1) }).toString()}`;
}

const FAILURES: Readonly<Record<string, string>> = {
  not_begun: t`This sign-in was not begun in this browser, or more than ten minutes ago. Try again.`,
  busy: t`Too many people are signing in at this moment. Try again.`,
  provider_away: t`The identity provider does not answer. Try again later, or sign in with a token.`,
  denied: t`The identity provider did not sign you in, or you ended it there.`,
  invalid_answer: t`The answer of the identity provider cannot be used. Try again. If that does not help, the log of Floodwall has the reason.`,
  no_role: t`Your account may not use Floodwall. Ask its administrator to add one of your groups to api.oidc.roles.`,
  no_name: t`The identity provider names you by nothing that can be shown. Ask the administrator of Floodwall for another api.oidc.name_claim.`,
  full: t`Too many browsers are signed in. Ask the administrator of Floodwall to end some of them.`,
  over_share: t`Too many browsers of your tenant are signed in. Sign out in one of them.`,
};

/** Why the last sign-in has failed; null: none has. */
export function signInFailure(): string | null {
  const failure = place.value.query.get(FAILURE);
  return failure === null ? null : (FAILURES[failure] ?? null);
}
