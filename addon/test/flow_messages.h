// Builds datagrams of exporters for tests, and takes what is decoded of them.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "flow/flow_exporter.h"
#include "packets.h"

namespace floodwall::test {

inline constexpr std::uint64_t kFlowNowMs = 1'700'000'000'000;
inline constexpr std::uint32_t kUptimeMs = 1'000'000;

inline Bytes number(std::uint64_t value, std::size_t bytes) {
  Bytes made;
  for (std::size_t i = bytes; i-- > 0;) made.push_back(static_cast<std::uint8_t>(value >> (8 * i)));
  return made;
}
inline Bytes words(std::initializer_list<std::uint32_t> values) {
  Bytes made;
  for (const std::uint32_t value : values) append(made, number(value, 4));
  return made;
}
inline Bytes text(const std::string& letters, std::size_t length) {
  Bytes made(letters.begin(), letters.end());
  made.resize(length);
  return made;
}
inline Bytes bytesOf(const Address& address) { return {address.bytes.begin(), address.bytes.end()}; }

struct Field {
  std::uint16_t number;
  std::uint16_t length;
  std::uint32_t enterprise = 0;
};
using Fields = std::vector<Field>;

inline Bytes specifiers(const Fields& fields) {
  Bytes made;
  for (const Field& field : fields) {
    put16(made, field.number | (field.enterprise != 0 ? 0x8000U : 0U));
    put16(made, field.length);
    if (field.enterprise != 0) append(made, number(field.enterprise, 4));
  }
  return made;
}
inline Bytes flowSet(std::uint32_t id, const Bytes& content) {
  Bytes made;
  put16(made, id);
  put16(made, 4 + static_cast<std::uint32_t>(content.size()));
  return made + content;
}
inline Bytes templateRecord(std::uint16_t id, const Fields& fields) {
  return number(id, 2) + number(fields.size(), 2) + specifiers(fields);
}

struct MessageFields {
  std::uint32_t number = 0;
  std::uint32_t domain = 0;
  std::uint32_t uptimeMs = kUptimeMs;
  std::uint32_t seconds = kFlowNowMs / 1000;
};
inline Bytes netflow9(const MessageFields& fields, const Bytes& sets) {
  return number(9, 2) + number(1, 2) + words({fields.uptimeMs, fields.seconds, fields.number, fields.domain}) + sets;
}
inline Bytes ipfix(const MessageFields& fields, const Bytes& sets) {
  return number(10, 2) + number(16 + sets.size(), 2) + words({fields.seconds, fields.number, fields.domain}) + sets;
}
/// Templates and options of both protocols, which differ in the numbers of their sets and in the form of options.
inline Bytes netflow9Template(std::uint16_t id, const Fields& fields) { return flowSet(0, templateRecord(id, fields)); }
inline Bytes ipfixTemplate(std::uint16_t id, const Fields& fields) { return flowSet(2, templateRecord(id, fields)); }
inline Bytes netflow9Options(std::uint16_t id, const Fields& scopes, const Fields& fields) {
  return flowSet(1, number(id, 2) + number(4 * scopes.size(), 2) + number(4 * fields.size(), 2) + specifiers(scopes) +
                        specifiers(fields));
}
inline Bytes ipfixOptions(std::uint16_t id, const Fields& scopes, const Fields& fields) {
  return flowSet(3, number(id, 2) + number(scopes.size() + fields.size(), 2) + number(scopes.size(), 2) +
                        specifiers(scopes) + specifiers(fields));
}

/// Addresses, ports, protocol, packets and bytes: 21 bytes a record.
inline const Fields kPlainFields = {{8, 4}, {12, 4}, {7, 2}, {11, 2}, {4, 1}, {2, 4}, {1, 4}};
struct PlainRecord {
  std::uint32_t source = kForeign + 1;
  std::uint32_t destination = kProtected + 1;
  std::uint8_t protocol = 17;
  std::uint32_t packets = 10;
  std::uint32_t bytes = 1000;
};
inline Bytes plainRecord(const PlainRecord& fields = {}) {
  return words({fields.source, fields.destination}) + number(4000, 2) + number(53, 2) + number(fields.protocol, 1) +
         words({fields.packets, fields.bytes});
}

/// An exporter and what it sent. Datagrams are in memory of their exact size, for the address sanitizer.
class Received final : public RecordSink {
 public:
  Received& feed(const Bytes& datagram, std::uint64_t nowMs = kFlowNowMs, std::uint16_t port = 2055) {
    const auto exact = std::make_unique<std::uint8_t[]>(datagram.size());
    std::copy(datagram.begin(), datagram.end(), exact.get());
    exporter.decode({ByteSpan(exact.get(), datagram.size()), port}, nowMs, *this);
    for (FlowRecord& record : records) record.header = nullptr;
    return *this;
  }
  void take(std::span<FlowRecord> taken) override {
    for (const FlowRecord& record : taken) {
      records.push_back(record);
      headers.emplace_back(record.header, record.header + record.headerBytes);
    }
  }
  [[nodiscard]] FlowExporterStatus status() const {
    FlowExporterStatus status;
    exporter.statusInto(status);
    return status;
  }
  /// What was not understood, a reason a line.
  [[nodiscard]] std::string undecoded() const {
    std::string lines;
    for (const UndecodedReason& reason : status().undecoded) {
      if (!lines.empty()) lines += "; ";
      lines += Undecoded::textOf(reason) + " x" + std::to_string(reason.count);
    }
    return lines;
  }

  FlowExporter exporter;
  std::vector<FlowRecord> records;
  std::vector<Bytes> headers;
};

}  // namespace floodwall::test
