// The exporters of one receiving thread by their source address, within the bound that all threads of a source share.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "base/address.h"
#include "collector/exporter.h"
#include "collector/exporter_numbers.h"
#include "collector/exporter_rules.h"
#include "collector/saved_exporters.h"
#include "count/address_hash.h"

namespace floodwall {

struct RefusedAddress {
  Address address;
  std::uint64_t lastDatagramMs = 0;
};
inline constexpr std::size_t kRefusedShown = 8;

/// Its thread calls all but what says otherwise. Outlives the sessions of its source, and with it what exporters said.
class ExporterTable {
 public:
  /// Both outlive it. `saved`: null where nothing is kept over a restart.
  explicit ExporterTable(ExporterNumbers& numbers, SavedExporters* saved = nullptr);
  ExporterTable(const ExporterTable&) = delete;
  ExporterTable& operator=(const ExporterTable&) = delete;

  /// Exporters that no rule names any more are forgotten, the others keep what they said.
  void setRules(std::shared_ptr<const ExporterRules> rules);

  /// The exporter of that address; a new one if there is a rule for it and room. Else null, and counted.
  ///
  /// Where there is no room, the exporter of this thread that was silent the longest is replaced: by one whose rule is
  /// for its address alone, at once; by others only after kForgottenMs, so that an attacker who sends from all
  /// addresses of a wide prefix takes nothing from those that are there. One whose rule is for its address alone is
  /// never replaced.
  [[nodiscard]] Exporter* find(const Address& address, std::uint64_t nowMs) {
    for (std::size_t at = slotOf(address); slots_[at] != kFree; at = (at + 1) & (kSlots - 1)) {
      Exporter& exporter = *exporters_[slots_[at]];
      if (exporter.address() == address) [[likely]] {
        return &exporter;
      }
    }
    return admit(address, nowMs);
  }

  /// Copies what changed, for readers; a part of it at a time where exporters are many.
  void publish(std::uint64_t nowMs, std::uint64_t wallMs);

  // Any thread.
  [[nodiscard]] std::vector<ExporterStatus> statuses() const;
  [[nodiscard]] std::vector<RefusedAddress> refusedAddresses() const;
  /// The state of each, at most a minute old, and new parts a second.
  [[nodiscard]] std::vector<SavedExporter> saved() const;
  /// Datagrams.
  [[nodiscard]] std::uint64_t refused() const noexcept { return refused_.load(std::memory_order_relaxed); }
  [[nodiscard]] std::uint64_t withoutRoom() const noexcept { return withoutRoom_.load(std::memory_order_relaxed); }

  /// Long after an exporter would have repeated its templates.
  static constexpr std::uint64_t kForgottenMs = 600'000;

 private:
  static constexpr std::uint16_t kFree = 0xffff;
  static constexpr std::size_t kSlots = 2 * std::size_t{kExportersMax};
  /// A millisecond of work where each has some hundred interfaces.
  static constexpr std::size_t kPublishedAtOnce = 128;

  [[nodiscard]] std::size_t slotOf(const Address& address) const noexcept { return hash_.of(address) & (kSlots - 1); }
  Exporter* admit(const Address& address, std::uint64_t nowMs);
  /// Frees the number of the exporter that is replaced, if one is.
  bool makeRoom(bool isNamed, std::uint64_t nowMs);
  void noteRefused(const Address& address, std::uint64_t nowMs);
  void remove(std::size_t used);
  void rebuildIndex();

  ExporterNumbers& numbers_;
  SavedExporters* saved_;
  AddressHash hash_;
  std::shared_ptr<const ExporterRules> rules_;
  /// By number; the index has numbers too.
  std::vector<std::unique_ptr<Exporter>> exporters_;
  std::vector<std::uint16_t> slots_;
  /// The numbers in use, and their published state beside them.
  std::vector<std::uint16_t> used_;
  std::size_t publishAt_ = 0;
  std::uint64_t roomSoughtMs_ = 0;
  std::uint64_t refusedNotedMs_ = 0;
  std::array<RefusedAddress, kRefusedShown> lastRefused_{};
  std::atomic<std::uint64_t> refused_{0};
  std::atomic<std::uint64_t> withoutRoom_{0};
  /// Guards what follows. The thread waits for it only when an exporter comes or goes.
  mutable std::mutex mutex_;
  struct Published {
    ExporterStatus status;
    SavedExporter saved;
  };
  std::vector<std::unique_ptr<Published>> published_;
  std::array<RefusedAddress, kRefusedShown> publishedRefused_{};
};

}  // namespace floodwall
