// The cost of decoding, counted in steps rather than measured: its bound can be shown, and a turn has the same end
// on any machine. A step is about what one number of a record takes: 2 ns.
#pragma once

#include <cstddef>
#include <cstdint>

namespace floodwall {

/// Steps of a datagram, whatever is in it; of a record that counts; of the layout of a record of variable length; of a
/// template, beside its fields; of a set; of a sample or a header of sFlow.
inline constexpr std::uint64_t kDatagramWork = 64, kRecordWork = 32, kLayoutWork = 8, kTemplateWork = 64, kSetWork = 8,
                               kSampleWork = 24;
/// For a count by reason, and for a rate or a name that options change.
inline constexpr std::uint64_t kReasonWork = 16, kOptionWork = 16, kOptionChangeWork = 128;

/// An exporter could change a sampling rate with every byte, at a hundred times the cost of reading it. Of one
/// datagram at least the first number of changes is taken, and one more for the second number of bytes: a table that
/// says something new in each short record is complete after the second time. More are counted as without room.
inline constexpr std::size_t kOptionChangesLeast = 8, kBytesAnOptionChange = 8;

/// No datagram takes more steps than these together; what waited for its templates is of its bytes. With
/// generated templates the most was 34 for a byte.
inline constexpr std::uint64_t kWorkPerDatagram = 4096, kWorkPerByte = 48;

}  // namespace floodwall
