/** Maintenance windows: those of the configuration and those that were opened, with the buttons to open and close. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { MaintenancesWire, MaintenanceWire } from "../../../src/http/wire/maintenance.ts";
import { MAINTENANCE_REASON_MAX } from "../../../src/limits.ts";
import { command } from "../../api/client.ts";
import { serviceNow } from "../../api/contact.ts";
import { lookAt } from "../../api/look.ts";
import { useResource } from "../../api/resource.ts";
import { t } from "../../language.ts";
import { Badge } from "../../parts/badge.tsx";
import { Empty } from "../../parts/callout.tsx";
import { momentColumn, textColumn } from "../../parts/columns.tsx";
import { CommandButton, DialogButton } from "../../parts/command-button.tsx";
import { type Column, DataTable } from "../../parts/data-table.tsx";
import { Confirm } from "../../parts/dialog.tsx";
import { ChoiceField, TextField } from "../../parts/field.tsx";
import { showOutcome } from "../../parts/outcome.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Show } from "../../parts/show.tsx";
import { TimeField } from "../../parts/time-field.tsx";
import { type FieldFault, fieldFault } from "../../text/failure.ts";
import {
  EMPTY_WINDOW,
  WINDOW_DOES,
  WINDOW_TIMES,
  windowOrder,
  windowTimes,
  windowWords,
} from "../../text/maintenance.ts";

const PATH = "/api/v1/maintenance";
const EVERY_MS = 5000;

interface MaintenanceProps {
  readonly title: string;
  readonly choice: ComponentChildren;
}

export function Maintenance({ title, choice }: MaintenanceProps) {
  const read = useResource<MaintenancesWire>(PATH, EVERY_MS);
  const onChanged = () => void read.refresh();
  const actions = (
    <div class="panel-actions">
      {choice}
      <DialogButton
        label={t`Open a maintenance window`}
        text={t`Open a maintenance window …`}
        dialog={(onClose) => <WindowDialog onChanged={onChanged} onClose={onClose} />}
      />
    </div>
  );
  return (
    <Panel title={title} actions={actions}>
      <Show loaded={read.state.value} what={t`maintenance windows`} onRetry={onChanged}>
        {({ windows }) =>
          windows.length === 0 ? (
            <Empty title={t`No maintenance window`}>{t`Attacks are treated as the configuration says.`}</Empty>
          ) : (
            <DataTable
              label={t`Maintenance windows`}
              columns={[...COLUMNS, closeColumn(onChanged)]}
              rows={windows}
              rowKey={({ name }) => name}
            />
          )
        }
      </Show>
    </Panel>
  );
}

const COLUMNS: readonly Column<MaintenanceWire>[] = [
  textColumn(t`Window`, ({ name }) => name),
  {
    key: "open",
    title: t`State`,
    cell: ({ open }) => (open ? <Badge tone="warn">{t`open`}</Badge> : t`closed`),
    order: ({ open }) => Number(open),
  },
  textColumn(t`What holds`, windowWords),
  momentColumn(t`Opens`, ({ opens_at: at }) => at),
  // One that is open now shows its end, others show the end of the next time.
  momentColumn(t`Closes`, ({ until, closes_at: next }) => until ?? next),
  textColumn(t`Reason`, ({ reason, operator }) => [reason, operator].filter(Boolean).join(" – ")),
];

function closeColumn(onChanged: () => void): Column<MaintenanceWire> {
  return {
    key: "close",
    title: t`Close`,
    isTitleUnseen: true,
    cell: (window) => <CloseButton window={window} onChanged={onChanged} />,
  };
}

/** A refusal of one of these keys is shown at its field. */
const TEXT_FIELDS = ["name", "hostgroups", "prefixes", "reason"] as const;
const FIELDS = [...TEXT_FIELDS, "opens_at"] as const;

interface WindowDialogProps {
  readonly onChanged: () => void;
  readonly onClose: () => void;
}

function WindowDialog({ onChanged, onClose }: WindowDialogProps) {
  const [form, setForm] = useState(EMPTY_WINDOW);
  const [fault, setFault] = useState<FieldFault | null>(null);
  const [isTimeOdd, setTimeOdd] = useState(false);
  const change = (changes: Partial<typeof form>) => setForm((was) => ({ ...was, ...changes }));
  const text = (key: (typeof TEXT_FIELDS)[number], label: string, placeholder: string, most?: number) => (
    <TextField
      label={label}
      value={form[key]}
      onInput={(value) => {
        change({ [key]: value });
        setFault(null);
      }}
      placeholder={placeholder}
      fault={fault?.field === key ? fault.rule : null}
      {...(most !== undefined && { maxLength: most })}
    />
  );
  const name = form.name.trim();
  return (
    <Confirm<MaintenanceWire>
      title={t`Open a maintenance window`}
      verb={t`Open`}
      isDangerous
      isWrong={isTimeOdd}
      act={() => command(PATH, windowOrder(form))}
      look={lookAt<MaintenancesWire>(PATH, ({ windows }) =>
        windows.some((each) => each.name === name && each.origin === "order"),
      )}
      onFound={onChanged}
      onRefused={(failure) => {
        const found = fieldFault(failure);
        setFault(found);
        return FIELDS.some((key) => key === found?.field);
      }}
      onDone={(window) => {
        onChanged();
        showOutcome(windowTimes(window, serviceNow()), null);
      }}
      onClose={onClose}
    >
      {text("name", t`Name`, "move")}
      <ChoiceField
        label={t`What holds`}
        value={form.does}
        options={WINDOW_DOES}
        onChange={(does) => change({ does })}
      />
      <ChoiceField
        label={t`For`}
        value={form.seconds}
        options={WINDOW_TIMES}
        onChange={(seconds) => change({ seconds })}
      />
      <TimeField
        label={t`Opens`}
        time={form.opensAt}
        isAhead
        fault={fault?.field === "opens_at" ? fault.rule : null}
        onChange={(opensAt) => {
          change({ opensAt });
          setFault(null);
        }}
        onOdd={setTimeOdd}
      />
      {text("hostgroups", t`Hostgroups`, "web, mail")}
      {text("prefixes", t`Addresses and prefixes`, "203.0.113.0/26")}
      {text("reason", t`Reason`, t`ticket 7`, MAINTENANCE_REASON_MAX)}
      <p>{t`Without hostgroups and prefixes it is for all. It closes by itself, and may be closed before.`}</p>
      <p>{t`Without a time it opens at once. One for each week is written into maintenance of the configuration.`}</p>
    </Confirm>
  );
}

interface CloseProps {
  readonly window: MaintenanceWire;
  readonly onChanged: () => void;
}

function CloseButton({ window: { name, origin }, onChanged }: CloseProps) {
  if (origin === "configuration") return <>{t`by configuration`}</>;
  return (
    <CommandButton<MaintenanceWire>
      label={t`Close ${name}`}
      text={t`Close …`}
      title={t`Close the window ${name}?`}
      verb={t`Close`}
      asksReason
      act={(given) => command(`${PATH}/${encodeURIComponent(name)}`, given, "DELETE")}
      look={lookAt<MaintenancesWire>(PATH, ({ windows }) => !windows.some((each) => each.name === name))}
      onFound={onChanged}
      onDone={() => {
        onChanged();
        showOutcome(t`The window ${name} is closed.`, null);
      }}
    >
      <p>{t`Attacks there are treated as before: bans of those that last may become real at once.`}</p>
    </CommandButton>
  );
}
