/** Addresses as texts: whether something typed may be one, and in which order they stand. Pure. */

const IPV4 = /^\d{1,3}(\.\d{1,3}){3}$/;
const IPV6 = /^[0-9a-f:]{2,39}$/i;

/** What is surely none need not be asked about; the service judges the rest strictly. */
export function looksLikeAddress(text: string): boolean {
  return text.includes(":") ? IPV6.test(text) && text.split(":").length > 2 : IPV4.test(text);
}

/** Compares as the addresses do: IPv4 first, then by number. Of a prefix its first address counts. */
export function addressOrder(text: string): string {
  const [address = ""] = text.split("/");
  if (!address.includes(":")) return `4${padded(address.split("."), 3)}`;
  const [head = "", tail = ""] = address.split("::");
  const groups = (part: string) => part.split(":").filter((group) => group !== "");
  const missing = Math.max(0, 8 - groups(head).length - groups(tail).length);
  return `6${padded([...groups(head), ...Array<string>(missing).fill("0"), ...groups(tail)], 4)}`;
}

function padded(parts: readonly string[], digits: number): string {
  return parts.map((part) => part.padStart(digits, "0")).join("");
}
