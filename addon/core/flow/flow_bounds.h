// Bounds of what one exporter may make us keep.
#pragma once

#include <cstddef>
#include <cstdint>

namespace floodwall {

/// Observation domains, engines (NetFlow v5) and agents (sFlow) of one exporter.
inline constexpr std::size_t kFlowDomainsMax = 256;
/// For all domains together, and for one. A line card of a large router has about 20.
inline constexpr std::size_t kTemplatesMax = 1024, kDomainTemplatesMax = 256;
inline constexpr std::size_t kTemplateFieldsMax = 256;
/// A template or a domain that was neither used nor said again for this long gives its place to a new one; also the
/// time after which an entry of another table may be replaced. Twice the usual time to repeat templates over UDP.
inline constexpr std::uint64_t kFlowIdleMs = 3'600'000;
/// A template that has decoded records for this long stays, whatever comes.
inline constexpr std::uint64_t kEstablishedMs = 600'000;
/// Data whose template is not known waits for it.
inline constexpr std::size_t kWaitingBytesMax = 65'536, kWaitingSetsMax = 128;
inline constexpr std::uint64_t kWaitingMs = 5'000;
/// Rates by sampler, selector and interface.
inline constexpr std::size_t kSamplingsMax = 4096;
/// Flows whose totals are kept, for an exporter that reports totals: 3 MB.
inline constexpr std::size_t kLedgerFlowsMax = 32'768;
/// sFlow's data sources.
inline constexpr std::size_t kDataSourcesMax = 4096;
inline constexpr std::size_t kInterfaceNamesMax = 4096;
inline constexpr std::size_t kInterfaceNameBytesMax = 64;

}  // namespace floodwall
