/** The attack in progress of a ban, whose numbers are those of all views. */
import type { AttackWire } from "../../src/http/wire/attack.ts";
import type { BanWire } from "../../src/http/wire/ban.ts";
import { attacksOf } from "../text/bans.ts";
import { attacks } from "./live.ts";

/** undefined: it has none, or several. */
export function attackOfBan(ban: BanWire): AttackWire | undefined {
  const { value } = attacks;
  const [attack, ...others] = value.kind === "ready" ? attacksOf(ban, value.data.active) : [];
  return others.length === 0 ? attack : undefined;
}
