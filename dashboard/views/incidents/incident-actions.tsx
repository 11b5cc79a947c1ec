/** The buttons to take an incident, to release it, to acknowledge it and to say what it was. Hidden from viewers. */
import { useState } from "preact/hooks";
import type { IncidentWire } from "../../../src/http/wire/incident.ts";
import { command } from "../../api/client.ts";
import { lookAt } from "../../api/look.ts";
import { isUnscoped, mayAct, session } from "../../api/session.ts";
import { t, tx } from "../../language.ts";
import { CommandButton, DialogButton } from "../../parts/command-button.tsx";
import { Confirm } from "../../parts/dialog.tsx";
import { ChoiceField } from "../../parts/field.tsx";
import { showOutcome } from "../../parts/outcome.tsx";
import { byText, incidentPath, openHandovers, VERDICTS } from "../../text/incidents.ts";

export interface IncidentActionsProps {
  readonly incident: IncidentWire;
  readonly onChanged: () => void;
}

export function IncidentActions(props: IncidentActionsProps) {
  const { incident } = props;
  const { owner, acknowledged } = incident;
  if (!mayAct()) return null;
  return (
    <div class="choices">
      {isOwn(owner) ? <ReleaseButton {...props} /> : mayChange(owner) && <TakeButton {...props} />}
      {acknowledged === undefined && <AcknowledgeButton {...props} />}
      {mayChange(incident.classification) && <ClassifyButton {...props} />}
    </div>
  );
}

type Deed = IncidentWire["owner"];

/** The name of the caller's token; undefined: the API is open. */
function ownName(): string | undefined {
  const { value } = session;
  return value.kind === "signed_in" ? value.who.name : undefined;
}

function isOwn(deed: Deed): boolean {
  return deed !== undefined && deed.by === ownName() && (deed.of === "operator") === isUnscoped();
}

/** An operator's decision is not changed by a tenant. */
function mayChange(deed: Deed): boolean {
  return deed === undefined || isUnscoped() || deed.of === "tenant";
}

/** Also acknowledges the incident, and the notes for the next shift. */
export function TakeButton({ incident, onChanged }: IncidentActionsProps) {
  const { id, owner } = incident;
  const open = openHandovers(incident).length;
  const order = { owner: "take", acknowledge: true, ...(open > 0 && { handover: "acknowledge" }) };
  return (
    <CommandButton<IncidentWire>
      label={t`Take this incident`}
      text={t`Take …`}
      title={t`Take this incident?`}
      verb={t`Take`}
      act={() => command(incidentPath(id), order)}
      look={lookAt<IncidentWire>(incidentPath(id), ({ owner: found }) => isOwn(found) && found?.at !== owner?.at)}
      onFound={onChanged}
      onDone={() => {
        onChanged();
        showOutcome(t`The incident is yours.`);
      }}
    >
      <p>{tx`${
        owner === undefined
          ? t`It has no owner.`
          : isOwn(owner)
            ? t`It is yours already: you take it for a new shift.`
            : t`Its owner is ${byText(owner, !isUnscoped())}.`
      } From now on others see that you work on it. It counts as acknowledged${open > 0 && t`, with the notes for the next shift`}.`}</p>
    </CommandButton>
  );
}

function ReleaseButton({ incident: { id }, onChanged }: IncidentActionsProps) {
  return (
    <CommandButton<IncidentWire>
      label={t`Release this incident`}
      text={t`Release …`}
      title={t`Release this incident?`}
      verb={t`Release`}
      act={() => command(incidentPath(id), { owner: "release" })}
      look={lookAt<IncidentWire>(incidentPath(id), ({ owner }) => !isOwn(owner))}
      onFound={onChanged}
      onDone={() => {
        onChanged();
        showOutcome(t`The incident has no owner now.`);
      }}
    >
      <p>{t`It has no owner then. A note for the next shift says what is left to do.`}</p>
    </CommandButton>
  );
}

function AcknowledgeButton({ incident: { id }, onChanged }: IncidentActionsProps) {
  return (
    <CommandButton<IncidentWire>
      label={t`Acknowledge this incident`}
      text={t`Acknowledge …`}
      title={t`Acknowledge this incident?`}
      verb={t`Acknowledge`}
      act={() => command(incidentPath(id), { acknowledge: true })}
      look={lookAt<IncidentWire>(incidentPath(id), ({ acknowledged }) => acknowledged !== undefined)}
      onFound={onChanged}
      onDone={() => {
        onChanged();
        showOutcome(t`The incident is acknowledged.`);
      }}
    >
      <p>{t`Others see that it was seen, and by whom. It does not become yours.`}</p>
    </CommandButton>
  );
}

type Choice = keyof typeof VERDICTS | "none";
const CHOICES: readonly (readonly [Choice, string])[] = [
  ["real", VERDICTS.real],
  ["expected", VERDICTS.expected],
  ["false_alarm", VERDICTS.false_alarm],
  ["none", t`Not said`],
];

function ClassifyButton(props: IncidentActionsProps) {
  return (
    <DialogButton
      label={t`Classify this incident`}
      text={t`Classify …`}
      dialog={(onClose) => <ClassifyDialog {...props} onClose={onClose} />}
    />
  );
}

function ClassifyDialog({ incident, onChanged, onClose }: IncidentActionsProps & { readonly onClose: () => void }) {
  const { id } = incident;
  const [choice, setChoice] = useState<Choice>(incident.classification?.is ?? "real");
  return (
    <Confirm<IncidentWire>
      title={t`What was this incident?`}
      verb={t`Save`}
      act={() => command(incidentPath(id), { classification: choice })}
      look={lookAt<IncidentWire>(incidentPath(id), ({ classification }) => (classification?.is ?? "none") === choice)}
      onFound={onChanged}
      onDone={() => {
        onChanged();
        showOutcome(t`The classification is saved.`);
      }}
      onClose={onClose}
    >
      <ChoiceField label={t`Classification`} value={choice} options={CHOICES} onChange={setChoice} />
    </Confirm>
  );
}
