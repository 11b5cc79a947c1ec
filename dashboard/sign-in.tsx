/** The sign-in by the identity provider or a token, with the reason if one is refused. */
import { useState } from "preact/hooks";
import { signIn } from "./api/session.ts";
import { beginUrl, type Provider, signInFailure, useProvider } from "./api/sign-in.ts";
import { signOutState } from "./api/sign-out.ts";
import { LostContact } from "./banners.tsx";
import { t } from "./language.ts";
import { Button } from "./parts/button.tsx";
import { Callout } from "./parts/callout.tsx";
import { TextField } from "./parts/field.tsx";
import { LanguageChoice } from "./parts/language-choice.tsx";

export function SignIn({ why }: { readonly why: string | null }) {
  const [secret, setSecret] = useState("");
  const [refusal, setRefusal] = useState(why ?? signInFailure());
  const provider = useProvider();
  const [isBusy, setBusy] = useState(false);
  const submit = async () => {
    setBusy(true);
    // A pasted token may end with a line break; a header can carry visible ASCII only.
    const trimmed = secret.trim();
    setRefusal(/^[!-~]+$/.test(trimmed) ? await signIn(trimmed) : t`A token is visible ASCII, without spaces.`);
    setBusy(false);
  };
  return (
    <main class="sign-in">
      <LostContact />
      <h1>Floodwall</h1>
      {refusal !== null && (
        <Callout tone="danger" title={t`Not signed in`} isAlert>
          {refusal}
        </Callout>
      )}
      <SignedOut />
      {provider !== null && <ByProvider provider={provider} />}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <TextField
          label={t`Token`}
          type="password"
          autocomplete="current-password"
          value={secret}
          onInput={setSecret}
          hint={t`The secret of one of api.tokens in Floodwall's configuration. It is kept until the last tab of this page is closed.`}
          isRequired
        />
        <Button type="submit" look={provider === null ? "primary" : "plain"} isBusy={isBusy}>{t`Sign in`}</Button>
      </form>
      <LanguageChoice />
    </main>
  );
}

/** Whether the browser is signed out, after the user has said so. */
function SignedOut() {
  const state = signOutState.value;
  if (state.kind === "waits") {
    return (
      <Callout tone="danger" title={t`Still signed in`} isAlert>
        {t`Floodwall has not ended your session yet, and it is tried again until it does. If you leave, close all windows of this browser.`}
      </Callout>
    );
  }
  if (state.kind === "none" || state.providerUrl === null) return null;
  return (
    <Callout tone="info" title={t`Signed out`}>
      <a href={state.providerUrl} rel="noreferrer">{t`End the session with the identity provider too`}</a>
    </Callout>
  );
}

/** A link, since the browser leaves the page. */
function ByProvider({ provider }: { readonly provider: Provider }) {
  if (!provider.available) {
    return (
      <Callout tone="warn" title={t`${provider.name} does not answer`}>
        {t`Sign in with a token until it does. The log of Floodwall has the reason.`}
      </Callout>
    );
  }
  return <a class="button button-primary" href={beginUrl(provider)}>{t`Sign in with ${provider.name}`}</a>;
}
