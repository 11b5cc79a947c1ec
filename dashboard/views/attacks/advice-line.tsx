/** The advice for now, in one sentence, with the order or the link that does it. */

import { t } from "../../language.ts";
import { BanButton, UnbanButton } from "../../parts/ban-actions.tsx";
import { BlockButton } from "../../parts/source-block-actions.tsx";
import { linkTo } from "../../router.ts";
import type { Action, Advice } from "../../text/attack-advice.ts";

export function AdviceLine({ advice: { text, action } }: { readonly advice: Advice }) {
  return (
    <p class="advice">
      <span>
        <strong>{t`What to do now:`}</strong> {text}
      </span>
      {action !== null && <Do action={action} />}
    </p>
  );
}

function Do({ action }: { readonly action: Action }) {
  switch (action.kind) {
    case "ban":
      return <BanButton target={action.target} />;
    case "unban":
      return <UnbanButton ban={action.ban} />;
    case "block":
      return <BlockButton victim={action.victim} onChanged={() => {}} />;
    case "link":
      return (
        <a class="button" href={linkTo(action.steps, action.query)}>
          {action.text}
        </a>
      );
    default:
      return action satisfies never;
  }
}
