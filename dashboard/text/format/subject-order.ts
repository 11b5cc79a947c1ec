/** Sorts addresses numerically, as the service does: IPv4, then IPv6, then names. Pure. */

/** A key that sorts as text. */
export function subjectOrder(subject: string): string {
  const [address = "", length = ""] = subject.split("/");
  const octets = address.split(".");
  if (octets.length === 4)
    return `4${octets.map((octet) => octet.padStart(3, "0")).join("")}${length.padStart(3, "0")}`;
  if (!/^[\da-f:]+$/i.test(address) || !address.includes(":")) return `9${subject}`;
  return `6${groups(address).join("")}${length.padStart(3, "0")}`;
}

/** Whether an address or a prefix is in a prefix, or is the same. */
export function isWithin(subject: string, prefix: string): boolean {
  const [own, around] = [bitsOf(subject), bitsOf(prefix)];
  return around !== "" && own.startsWith(around);
}

/** The family, and a bit a character, as many as the length says. Empty: it is neither an address nor a prefix. */
function bitsOf(subject: string): string {
  const [address = "", length] = subject.split("/");
  const [numbers, family, width] = address.includes(":")
    ? [groups(address).map((group) => Number.parseInt(group, 16)), "6", 16]
    : [address.split(".").map(Number), "4", 8];
  if (numbers.length !== (family === "4" ? 4 : 8) || numbers.some((number) => !Number.isInteger(number))) return "";
  const bits = numbers.map((number) => number.toString(2).padStart(width, "0")).join("");
  return family + bits.slice(0, length === undefined ? undefined : Number(length));
}

/** Eight groups of four digits, with `::` expanded. */
function groups(address: string): string[] {
  const [head = "", tail] = address.toLowerCase().split("::");
  const parts = (text: string) => text.split(":").filter((part) => part !== "");
  const [before, after] = [parts(head), parts(tail ?? "")];
  const zeros = new Array<string>(Math.max(0, 8 - before.length - after.length)).fill("0");
  return [...before, ...zeros, ...after].map((group) => group.padStart(4, "0"));
}
