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

/** Eight groups of four digits, with `::` expanded. */
function groups(address: string): string[] {
  const [head = "", tail] = address.toLowerCase().split("::");
  const parts = (text: string) => text.split(":").filter((part) => part !== "");
  const [before, after] = [parts(head), parts(tail ?? "")];
  const zeros = new Array<string>(Math.max(0, 8 - before.length - after.length)).fill("0");
  return [...before, ...zeros, ...after].map((group) => group.padStart(4, "0"));
}
