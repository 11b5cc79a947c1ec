/** Asks which targets of notifications an event would get to, and by which routes. */
import { useState } from "preact/hooks";
import type { NotifyRouteWire } from "../../../src/http/wire/notify-route.ts";
import { type Answer, read } from "../../api/client.ts";
import { t } from "../../language.ts";
import { Button } from "../../parts/button.tsx";
import { ChoiceField, TextField } from "../../parts/field.tsx";
import { failureText } from "../../text/failure.ts";
import { URGENCIES } from "../../text/interface-words.ts";

const WORST = "";
const SEVERITY_OPTIONS: readonly (readonly [string, string])[] = [
  [WORST, t`the most urgent of its kind`],
  ...Object.entries(URGENCIES),
];

export function RouteForm() {
  const [event, setEvent] = useState("attack_started");
  const [severity, setSeverity] = useState<string>(WORST);
  const [tenant, setTenant] = useState("");
  const [group, setGroup] = useState("");
  const [answer, setAnswer] = useState<Answer<NotifyRouteWire> | null>(null);
  const ask = async () => {
    const given = Object.entries({ severity, tenant: tenant.trim(), group: group.trim() });
    const query = new URLSearchParams([["event", event.trim()], ...given.filter(([, value]) => value !== "")]);
    setAnswer(await read<NotifyRouteWire>(`/api/v1/notify/route?${query}`));
  };
  return (
    <details>
      <summary>{t`Which targets would get it?`}</summary>
      <form
        class="filters"
        onSubmit={(submitted) => {
          submitted.preventDefault();
          void ask();
        }}
      >
        <TextField label={t`Event`} value={event} onInput={setEvent} isRequired />
        <ChoiceField label={t`Severity`} value={severity} options={SEVERITY_OPTIONS} onChange={setSeverity} />
        <TextField label={t`Tenant`} value={tenant} onInput={setTenant} />
        <TextField label={t`Hostgroup`} value={group} onInput={setGroup} />
        <Button type="submit">{t`Show`}</Button>
      </form>
      <div role="status">{answer !== null && <Routed answer={answer} />}</div>
    </details>
  );
}

function Routed({ answer }: { readonly answer: Answer<NotifyRouteWire> }) {
  if (answer.kind !== "answer") return <p>{t`No answer: ${failureText(answer)}.`}</p>;
  const { targets, routes } = answer.data;
  return (
    <>
      <p>{targets.length === 0 ? t`It goes to no target now.` : t`It goes to ${targets.join(", ")}.`}</p>
      {routes !== undefined && routes.length > 0 && (
        <ul>
          {routes.map(({ route, targets: to, quiet }) => (
            <li key={route}>
              <code>{route}</code>: {to.length === 0 ? t`no target` : to.join(", ")}
              {quiet && ` (${t`quiet now`})`}
            </li>
          ))}
        </ul>
      )}
    </>
  );
}
