/** Whether what was typed can find hosts. Pure. */
import { t } from "../language.ts";

/** The fault; null: it can be sent. Finds what the service would refuse in any case; the service checks the rest. */
export function searchFault(text: string): string | null {
  const [address = "", length] = text.split("/");
  if (length === undefined) return isPart(text) ? null : t`Part of an address, or a prefix.`;
  const octets = address.split(".");
  const isWhole = address.includes(":") || (octets.length === 4 && octets.every((octet) => octet !== ""));
  const most = address.includes(":") ? 128 : 32;
  const isLength = /^\d{1,3}$/.test(length) && Number(length) <= most;
  return isPart(address) && isWhole && isLength ? null : t`A prefix is written as 192.0.2.0/24.`;
}

function isPart(text: string): boolean {
  if (text.includes(":")) return /^[\da-f.:]{1,39}$/i.test(text);
  return (
    /^[\da-f.]{1,39}$/i.test(text) && text.split(".").every((octet) => !/^\d+$/.test(octet) || Number(octet) <= 255)
  );
}
