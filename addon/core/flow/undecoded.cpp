#include "flow/undecoded.h"

#include "parse/packet_parser.h"

namespace floodwall {
namespace {

std::string ofDomain(std::uint32_t domain) { return " of domain " + std::to_string(domain); }

std::string headerText(const UndecodedReason& reason) {
  const std::string protocol = "sampled header of protocol " + std::to_string(reason.number);
  if (reason.detail >= kParseErrors) return protocol + " is not taken apart";
  return protocol + ": " + kParseErrorNames[reason.detail];
}

}  // namespace

void Undecoded::count(UndecodedKind kind, std::uint32_t domain, std::uint32_t number, std::uint32_t detail,
                      std::uint64_t times) {
  byKind_[static_cast<std::size_t>(kind)] += times;
  for (UndecodedReason& reason : reasons_) {
    if (reason.kind != kind || reason.domain != domain || reason.number != number || reason.detail != detail) continue;
    reason.count += times;
    return;
  }
  if (reasons_.size() < kUndecodedReasonsMax) reasons_.push_back({kind, domain, number, detail, times});
}

std::string Undecoded::textOf(const UndecodedReason& reason) {
  const std::string number = std::to_string(reason.number);
  const std::string detail = std::to_string(reason.detail);
  switch (reason.kind) {
    case UndecodedKind::version:
      return "version " + number + " is not sFlow v5, NetFlow v5, v9 or IPFIX";
    case UndecodedKind::datagram:
      return "datagram of version " + number + " and " + std::to_string(reason.domain) + " bytes has count or length " +
             detail;
    case UndecodedKind::length:
      return "set or sample " + number + ofDomain(reason.domain) + " has length " + detail;
    case UndecodedKind::set:
      return "set " + number + ofDomain(reason.domain) + " is of no kind";
    case UndecodedKind::templateUnknown:
      return "template " + number + ofDomain(reason.domain) + " unknown";
    case UndecodedKind::templateRoom:
      return "too much data waits for template " + number + ofDomain(reason.domain);
    case UndecodedKind::badTemplate:
      return "template " + number + ofDomain(reason.domain) + " has " + detail + " fields and no use";
    case UndecodedKind::bound:
      return "no room for template " + number + ofDomain(reason.domain);
    case UndecodedKind::fieldLength:
      return "field " + number + ofDomain(reason.domain) + " has length " + detail;
    case UndecodedKind::withoutAddress:
      return "template " + number + ofDomain(reason.domain) + " has no field 12 or 28 (destination address)";
    case UndecodedKind::truncatedRecord:
      return "record of set or sample " + number + ofDomain(reason.domain) + " ends after " + detail + " bytes";
    case UndecodedKind::header:
      return headerText(reason);
    case UndecodedKind::sampleFormat:
      return "sample of format " + number;
  }
  return "unknown";
}

}  // namespace floodwall
