/** Whether typed text looks like an address. Pure. */

const IPV4 = /^\d{1,3}(\.\d{1,3}){3}$/;
const IPV6 = /^[0-9a-f:]{2,39}$/i;

/** Filters out what is certainly not an address; the service validates the rest strictly. */
export function looksLikeAddress(text: string): boolean {
  return text.includes(":") ? IPV6.test(text) && text.split(":").length > 2 : IPV4.test(text);
}
