/** The ban and unban buttons, each with a confirmation dialog. Hidden from callers who may not use them. */
import { useState } from "preact/hooks";
import type { BansWire, BanWire } from "../../src/http/wire/ban.ts";
import type { BanPreviewWire } from "../../src/http/wire/ban-preview.ts";
import { BAN_REASON_MAX } from "../../src/limits.ts";
import { command, read } from "../api/client.ts";
import type { Look } from "../api/doubtful-order.ts";
import { attacks, readBans, tookBan } from "../api/live.ts";
import { lookAt } from "../api/look.ts";
import { banSubject } from "../text/bans.ts";
import { type FieldFault, fieldFault } from "../text/failure.ts";
import { momentText } from "../text/format/times.ts";
import { methodName } from "../text/format/words.ts";
import { liftEffect } from "../text/lift-effect.ts";
import { isBannedByHand, isLifted } from "../text/order-proof.ts";
import { BanPreview } from "./ban-preview.tsx";
import { Callout } from "./callout.tsx";
import { CommandButton } from "./command-button.tsx";
import { TextField } from "./field.tsx";
import { showOutcome } from "./outcome.tsx";

/** `target`: the address to ban; absent: the dialog asks for it. */
export function BanButton({ target }: { readonly target?: string }) {
  const [typed, setTyped] = useState("");
  const [fault, setFault] = useState<FieldFault | null>(null);
  const [reason, setReason] = useState("");
  const ip = target ?? typed.trim();
  return (
    <CommandButton<BanWire>
      label={`Ban ${target ?? "an address"}`}
      text={target === undefined ? "Ban an address …" : "Ban …"}
      title={target === undefined ? "Ban an address" : `Ban ${target}?`}
      verb="Ban"
      isDangerous
      act={() => command("/api/v1/ban", { ip, ...givenReason(reason) })}
      look={bannedLook(ip)}
      onFound={readBans}
      onRefused={(failure) => {
        const found = target === undefined ? fieldFault(failure) : null;
        setFault(found);
        return found !== null;
      }}
      onDone={(ban) => {
        tookBan(ban);
        setTyped("");
        setReason("");
        showOutcome(bannedText(ban));
      }}
    >
      {target === undefined && (
        <TextField
          label="Address"
          value={typed}
          onInput={(text) => {
            setTyped(text);
            setFault(null);
          }}
          placeholder="203.0.113.7"
          fault={fault?.rule ?? null}
          isRequired
        />
      )}
      <ReasonField value={reason} onInput={setReason} />
      <BanPreview ip={ip} />
    </CommandButton>
  );
}

export function UnbanButton({ ban }: { readonly ban: BanWire }) {
  const [reason, setReason] = useState("");
  if (ban.state !== "active") return null;
  const { target, prefix, manual } = ban;
  const { value } = attacks;
  const hit = ban.dry_run || value.kind !== "ready" ? null : liftEffect([ban], value.data.active);
  return (
    <CommandButton<BanWire>
      label={`Unban ${prefix}`}
      text="Unban …"
      title={`Unban ${prefix}?`}
      verb="Unban"
      isDangerous
      act={() => command("/api/v1/unban", { ip: target, ...givenReason(reason) })}
      look={lookAt<BansWire>("/api/v1/bans", ({ bans }) => isLifted(ban, bans))}
      onFound={readBans}
      onDone={(lifted) => {
        tookBan(lifted);
        setReason("");
        showOutcome(`The ban of ${banSubject(lifted)} is lifted.`);
      }}
    >
      {hit !== null && <Callout tone="warn" title={hit} />}
      <p>
        {ban.dry_run ? "Dry run: nothing was announced. The ban ends." : "Its traffic flows as before the ban."}
        {manual ? "" : " The current attack does not ban it again; the next attack does."}
      </p>
      <ReasonField value={reason} onInput={setReason} />
    </CommandButton>
  );
}

/** The preview has the address as the service writes it. */
function bannedLook(ip: string): Look {
  return async () => {
    const preview = await read<BanPreviewWire>(`/api/v1/bans/preview?ip=${encodeURIComponent(ip)}`);
    if (preview.kind !== "answer") return null;
    const { target } = preview.data.ban;
    return lookAt<BansWire>("/api/v1/bans", ({ bans }) => isBannedByHand(target, bans))();
  };
}

interface ReasonFieldProps {
  readonly value: string;
  readonly onInput: (value: string) => void;
}

/** For the audit trail. */
function ReasonField(props: ReasonFieldProps) {
  return <TextField label="Reason" maxLength={BAN_REASON_MAX} placeholder="ticket 7" {...props} />;
}

function givenReason(reason: string): { readonly reason?: string } {
  return reason.trim() === "" ? {} : { reason: reason.trim() };
}

function bannedText(ban: BanWire): string {
  const until = momentText(Date.parse(ban.expires_at), Date.now());
  return `${banSubject(ban)} is banned until ${until} (${methodName(ban.method)}${ban.dry_run ? ", dry run" : ""}).`;
}
