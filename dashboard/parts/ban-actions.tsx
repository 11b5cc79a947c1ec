/** The ban and unban buttons, each with a confirmation dialog. Hidden from callers who may not use them. */
import { useRef, useState } from "preact/hooks";
import type { BansWire, BanWire } from "../../src/http/wire/ban.ts";
import type { BanPreviewWire } from "../../src/http/wire/ban-preview.ts";
import { type Answer, command, read } from "../api/client.ts";
import type { Look } from "../api/doubtful-order.ts";
import { ifStill } from "../api/if-still.ts";
import { activeAttacks, bans, readBans, tookBan } from "../api/live.ts";
import { lookAt } from "../api/look.ts";
import { isUnscoped } from "../api/session.ts";
import { t } from "../language.ts";
import { banOrder, EMPTY_BAN } from "../text/ban-order.ts";
import { isAttacked } from "../text/ban-preview.ts";
import { banSubject } from "../text/bans.ts";
import { type FieldFault, fieldFault } from "../text/failure.ts";
import { looksLikeAddress } from "../text/format/address.ts";
import { momentText } from "../text/format/times.ts";
import { methodName } from "../text/format/words.ts";
import { liftEffect } from "../text/lift-effect.ts";
import { inForce, isBannedByHand } from "../text/order-proof.ts";
import { useConfirmedBan } from "./ban-preview.tsx";
import { BanTerms } from "./ban-terms.tsx";
import { Callout } from "./callout.tsx";
import { DialogButton } from "./command-button.tsx";
import { Confirm } from "./dialog.tsx";
import { TextField } from "./field.tsx";
import { showOutcome, type Undo } from "./outcome.tsx";
import { type GivenReason, givenReason, ReasonField } from "./reason-field.tsx";

interface BanButtonProps {
  /** The address to ban; absent: the dialog asks for it. */
  readonly target?: string;
}

export function BanButton({ target }: BanButtonProps) {
  return (
    <DialogButton
      label={t`Ban ${target ?? t`an address`}`}
      text={target === undefined ? t`Ban an address …` : t`Ban …`}
      dialog={(onClose) => <BanDialog {...(target !== undefined && { target })} onClose={onClose} />}
    />
  );
}

function BanDialog({ target, onClose }: BanButtonProps & { readonly onClose: () => void }) {
  const [typed, setTyped] = useState("");
  const [fault, setFault] = useState<FieldFault | null>(null);
  const [reason, setReason] = useState("");
  const [form, setForm] = useState(EMPTY_BAN);
  /** null: not known. */
  const before = useRef<ReadonlySet<string> | null>(null);
  const ip = target ?? typed.trim();
  const order = banOrder(ip, form);
  const isComplete = target !== undefined || looksLikeAddress(ip.replace(/\/\d+$/, ""));
  const { isRefused, objection, view } = useConfirmedBan(ip, order, isComplete);
  return (
    <Confirm<BanWire>
      title={target === undefined ? t`Ban an address` : t`Ban ${target}?`}
      verb={t`Ban`}
      isDangerous
      isWrong={isRefused}
      act={async () => {
        const refused = await objection();
        if (refused !== null) return refused;
        // The ban's event may come before the answer.
        before.current = bans.peek().kind === "ready" ? activePrefixes() : null;
        return command("/api/v1/ban", { ...order, ...givenReason(reason) });
      }}
      look={bannedLook(ip)}
      onFound={readBans}
      onRefused={(failure) => {
        const found = target === undefined ? fieldFault(failure) : null;
        setFault(found);
        return found !== null;
      }}
      onDone={(ban) => {
        tookBan(ban);
        showOutcome(bannedText(ban), before.current?.has(ban.prefix) === false ? undoOf(ban) : null);
      }}
      onClose={onClose}
    >
      {target === undefined && (
        <TextField
          label={t`Address or prefix`}
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
      <BanTerms
        form={form}
        onChange={(changes) => setForm((was) => ({ ...was, ...changes }))}
        hasNeighbors={isUnscoped()}
      />
      {view}
    </Confirm>
  );
}

export function UnbanButton({ ban }: { readonly ban: BanWire }) {
  if (ban.state !== "active") return null;
  return (
    <DialogButton
      label={t`Unban ${ban.prefix}`}
      text={t`Unban …`}
      dialog={(onClose) => <UnbanDialog ban={ban} onClose={onClose} />}
    />
  );
}

function UnbanDialog({ ban: shown, onClose }: { readonly ban: BanWire; readonly onClose: () => void }) {
  // Its button may have another ban by now.
  const [asked] = useState(shown);
  const { value } = bans;
  const ban = value.kind === "ready" ? inForce(asked, value.data) : asked;
  const hit = ban === undefined || ban.dry_run ? null : liftEffect([ban], activeAttacks());
  return (
    <Confirm<BanWire>
      title={t`Unban ${asked.prefix}?`}
      verb={t`Unban`}
      isDangerous
      isWrong={ban === undefined}
      asksReason
      act={(given) => unban(asked, given)}
      look={lookAt<BansWire>("/api/v1/bans", ({ bans: all }) => inForce(asked, all) === undefined)}
      onFound={readBans}
      onDone={(lifted) => {
        tookBan(lifted);
        showOutcome(t`The ban of ${banSubject(lifted)} is lifted.`);
      }}
      onClose={onClose}
    >
      {hit !== null && <Callout tone="warn" title={hit} />}
      {ban === undefined ? (
        <Callout tone="warn" title={t`This ban is not in force any more.`} />
      ) : (
        <p>
          {ban.dry_run ? t`Dry run: nothing was announced. The ban ends.` : t`Its traffic flows as before the ban.`}
          {ban.manual ? "" : t` The current attack does not ban it again; the next attack does.`}
        </p>
      )}
    </Confirm>
  );
}

/** Ends this ban alone: its prefix may have another one by now. */
function unban(ban: BanWire, given: GivenReason): Promise<Answer<BanWire>> {
  return ifStill<BansWire, BanWire>(
    `/api/v1/bans?target=${encodeURIComponent(ban.prefix)}`,
    ({ bans: all }) => inForce(ban, all) !== undefined,
    () => command("/api/v1/unban", { prefix: ban.prefix, ...given }),
  );
}

function activePrefixes(): ReadonlySet<string> {
  const { value } = bans;
  const all = value.kind === "ready" ? value.data : [];
  return new Set(all.filter(({ state }) => state === "active").map(({ prefix }) => prefix));
}

/**
 * A ban that was in force before belongs to the operator now: to lift it would not restore it. An unban has no inverse: a
 * further ban would start from the beginning, with other times, and by hand where an attack had placed the one that was lifted.
 */
function undoOf(ban: BanWire): Undo {
  return {
    label: t`Undo the ban of ${banSubject(ban)}`,
    act: () => unban(ban, { reason: "undo of the ban" }),
    onDone: readBans,
  };
}

/** The preview has the address as the service writes it. */
function bannedLook(ip: string): Look {
  return async () => {
    const preview = await read<BanPreviewWire>(`/api/v1/bans/preview?ip=${encodeURIComponent(ip)}`);
    if (preview.kind !== "answer") return null;
    const { target } = preview.data.ban;
    return lookAt<BansWire>("/api/v1/bans", ({ bans: all }) => isBannedByHand(target, all))();
  };
}

function bannedText(ban: BanWire): string {
  const until = momentText(Date.parse(ban.expires_at), Date.now());
  const text = t`${banSubject(ban)} is banned until ${until} (${methodName(ban.method)}${ban.dry_run ? t`, dry run` : ""}).`;
  return isAttacked(ban, activeAttacks()) ? `${text} ${t`The ban lasts longer while its target is attacked.`}` : text;
}
