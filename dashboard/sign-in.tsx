/** The sign-in form, with the reason if a token is refused. */
import { useState } from "preact/hooks";
import { signIn } from "./api/session.ts";
import { LostContact } from "./banners.tsx";
import { t } from "./language.ts";
import { Button } from "./parts/button.tsx";
import { Callout } from "./parts/callout.tsx";
import { TextField } from "./parts/field.tsx";
import { LanguageChoice } from "./parts/language-choice.tsx";

export function SignIn({ why }: { readonly why: string | null }) {
  const [secret, setSecret] = useState("");
  const [refusal, setRefusal] = useState(why);
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
        {refusal !== null && (
          <Callout tone="danger" title={t`Not signed in`} isAlert>
            {refusal}
          </Callout>
        )}
        <Button type="submit" look="primary" isBusy={isBusy}>{t`Sign in`}</Button>
      </form>
      <LanguageChoice />
    </main>
  );
}
