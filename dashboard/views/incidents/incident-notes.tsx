/** The notes of an incident: those for the next shift stand first until its owner acknowledges them. */
import { useState } from "preact/hooks";
import type { IncidentWire } from "../../../src/http/wire/incident.ts";
import { INCIDENT_NOTE_MAX } from "../../../src/limits.ts";
import { command } from "../../api/client.ts";
import { lookAt } from "../../api/look.ts";
import { isUnscoped } from "../../api/session.ts";
import { t } from "../../language.ts";
import { Badge } from "../../parts/badge.tsx";
import { Callout, Empty } from "../../parts/callout.tsx";
import { DialogButton } from "../../parts/command-button.tsx";
import { Confirm } from "../../parts/dialog.tsx";
import { ChoiceField, TextField } from "../../parts/field.tsx";
import { Moment } from "../../parts/moment.tsx";
import { showOutcome } from "../../parts/outcome.tsx";
import { Panel } from "../../parts/panel.tsx";
import { type FieldFault, fieldFault } from "../../text/failure.ts";
import { byText, type IncidentNoteWire, incidentPath, openHandovers } from "../../text/incidents.ts";
import { type IncidentActionsProps, TakeButton } from "./incident-actions.tsx";

export function IncidentNotes(props: IncidentActionsProps) {
  const { incident } = props;
  const open = openHandovers(incident);
  const others = incident.notes.filter((note) => !open.includes(note)).toReversed();
  return (
    <Panel title={t`Notes`} actions={<NoteButton {...props} />}>
      {open.length > 0 && (
        <Callout tone="info" title={t`For the next shift`}>
          {open.map((note) => (
            <Note key={note.id} note={note} />
          ))}
          <p>{t`The one who takes the incident acknowledges this.`}</p>
          <TakeButton {...props} />
        </Callout>
      )}
      {incident.notes.length === 0 ? (
        <Empty
          title={t`No note`}
        >{t`What others should know is written here, and what the next shift has to do.`}</Empty>
      ) : (
        others.map((note) => <Note key={note.id} note={note} />)
      )}
    </Panel>
  );
}

function Note({ note }: { readonly note: IncidentNoteWire }) {
  const { text, handover, acknowledged } = note;
  const isTenant = !isUnscoped();
  return (
    <p>
      {text}
      <br />
      <span class="muted">
        {byText(note, isTenant)}, <Moment at={note.at} />{" "}
        {handover && acknowledged !== undefined && (
          <Badge tone="none">{t`handed over to ${byText(acknowledged, isTenant)}`}</Badge>
        )}
      </span>
    </p>
  );
}

function NoteButton(props: IncidentActionsProps) {
  return (
    <DialogButton
      label={t`Add a note`}
      text={t`Note …`}
      dialog={(onClose) => <NoteDialog {...props} onClose={onClose} />}
    />
  );
}

const FOR = [
  ["all", t`Everyone`],
  ["shift", t`The next shift`],
] as const;

function NoteDialog({ incident: { id }, onChanged, onClose }: IncidentActionsProps & { readonly onClose: () => void }) {
  const [text, setText] = useState("");
  const [whom, setWhom] = useState<(typeof FOR)[number][0]>("all");
  const [fault, setFault] = useState<FieldFault | null>(null);
  return (
    <Confirm<IncidentWire>
      title={t`Add a note`}
      verb={t`Add`}
      act={() => command(`${incidentPath(id)}/notes`, { text, handover: whom === "shift" })}
      look={lookAt<IncidentWire>(incidentPath(id), ({ notes }) => notes.at(-1)?.text === text)}
      onFound={onChanged}
      onRefused={(failure) => {
        const found = fieldFault(failure);
        setFault(found);
        return found?.field === "text";
      }}
      onDone={() => {
        onChanged();
        showOutcome(t`The note is added.`);
      }}
      onClose={onClose}
    >
      <TextField
        label={t`Text`}
        value={text}
        onInput={setText}
        maxLength={INCIDENT_NOTE_MAX}
        hint={t`The customer does not see it, unless a token of the customer writes it.`}
        fault={fault?.field === "text" ? fault.rule : null}
        isRequired
      />
      <ChoiceField label={t`For whom`} value={whom} options={FOR} onChange={setWhom} />
    </Confirm>
  );
}
