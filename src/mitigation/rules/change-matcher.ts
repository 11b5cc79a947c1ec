/** Whether packets that match a rule also match it with a change. Pure. */
import { isInRanges } from "../../net/range.ts";
import type { FlatHeader } from "./flat-header.ts";
import { fieldsMatch } from "./match.ts";
import type { Rule } from "./rule.ts";

/** fieldsMatch() for many packets: a change of one field, as nearly all are, looks at that field alone. */
export function changeMatcher(change: Partial<Rule>): (header: FlatHeader) => boolean {
  const { sourcePorts, destinationPorts, packetLengths, tcpFlags, fragment } = change;
  if (Object.keys(change).length === 1) {
    if (packetLengths !== undefined) return ({ packetBytes }) => isInRanges(packetLengths, packetBytes);
    // A packet without ports has none that is in a range.
    if (sourcePorts !== undefined) return ({ sourcePort }) => isInRanges(sourcePorts, sourcePort);
    if (destinationPorts !== undefined) return ({ destinationPort }) => isInRanges(destinationPorts, destinationPort);
    if (fragment !== undefined && fragment !== null) return (header) => (header.fragment !== null) === fragment;
    if (tcpFlags !== undefined && tcpFlags !== null) {
      const { set, unset } = tcpFlags;
      return ({ tcpFlags: flags }) => flags !== null && (flags & set) === set && (flags & unset) === 0;
    }
  }
  return (header) => fieldsMatch(change, header);
}
