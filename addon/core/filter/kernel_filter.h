// The filter in the kernel as a whole: its tables, and the interfaces that it is on. Blocks hold and expire without
// this process: maps and links are pinned, and the next process adopts them. Any thread may call.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "filter/filter_maps.h"
#include "filter/filter_port.h"
#include "filter/forwarder.h"
#include "filter/named_sets.h"
#include "filter/outcome_table.h"
#include "filter/pair_table.h"
#include "filter/pin_directory.h"
#include "filter/rule_table.h"

namespace floodwall {

struct KernelFilterOptions {
  std::string pinPath;
  std::vector<std::string> interfaces;
  XdpMode xdpMode = XdpMode::automatic;
  FilterShape shape;
  /// Absent: what passes is the kernel's to forward.
  std::optional<std::vector<ForwardTunnel>> forward = std::nullopt;
};

/// Where the maps come from.
enum class FilterOrigin : std::uint8_t {
  made,
  /// Those of the process before.
  adopted,
  /// New ones, because what was pinned has another schema or other bounds; it is removed once these are in force.
  replaced,
};

struct KernelFilterStatus {
  FilterOrigin origin = FilterOrigin::made;
  std::vector<PortStatus> ports;
  filter_stats stats{};
  std::uint32_t pairs = 0;
  std::uint32_t rules = 0;
  FilterShape shape;
  /// Absent: the kernel forwards.
  std::optional<ForwardStatus> forward;
};

class KernelFilter {
 public:
  /// Takes the lock and adopts or makes the maps; attaches nothing. Throws FilterError.
  explicit KernelFilter(KernelFilterOptions options);
  KernelFilter(const KernelFilter&) = delete;
  KernelFilter& operator=(const KernelFilter&) = delete;
  /// As close(true).
  ~KernelFilter();

  /// To be called once the tables are filled: pins the maps and puts them in force on all interfaces, whatever was in
  /// force before. An interface that cannot be attached says so in the status, and is tried again once a second.
  void attach();

  /// Calls of the tables; see there.
  void putPairs(std::span<const PairKey> keys, std::span<const std::uint64_t> expiresAtNs);
  void removePairs(std::span<const PairKey> keys);
  [[nodiscard]] std::optional<PairHits> readPair(const PairKey& key) const;
  [[nodiscard]] std::int64_t readPairs(std::uint32_t cursor, std::size_t most, const PairTable::See& see) const;
  void setRules(std::span<const WantedRule> rules, std::span<const OperatorEntry> entries);
  [[nodiscard]] std::vector<RuleHits> readRules() const;
  /// See OutcomeTable.
  void watch(std::span<const ip_address> destinations);
  [[nodiscard]] std::vector<OutcomeTable::Counts> readOutcomes() const;
  void setList(filter_set_kind list, std::vector<SetPrefix> prefixes);
  /// See putNamedSets().
  void setNamedSets(std::shared_ptr<const NamedSets> sets);
  /// See Forwarder; nothing where the kernel forwards.
  void setForwardNetworks(const std::optional<std::vector<SetPrefix>>& networks);
  /// See FilterProgram.
  [[nodiscard]] int forwardCall(bool hasFragments);

  [[nodiscard]] KernelFilterStatus status() const;
  [[nodiscard]] const FilterMaps& maps() const noexcept { return maps_; }
  [[nodiscard]] bool has(const std::string& interface) const;

  /// See FilterPort. Throws SourceError.
  void lend(const std::string& interface, int programFd);
  void giveBack(const std::string& interface) noexcept;
  [[nodiscard]] PortStatus portStatus(const std::string& interface) const;

  /// The filter's verdict on a frame, without an interface: for tests. True: dropped.
  [[nodiscard]] bool drops(std::span<const std::uint8_t> frame) const;

  /// Twice is fine. `keep`: everything stays in force without this process. Else all is detached and removed.
  void close(bool keep);

 private:
  FilterMaps adoptOrMake();
  void removeForeignLinks();
  void watch();

  KernelFilterOptions options_;
  PinDirectory pins_;
  FilterOrigin origin_ = FilterOrigin::made;
  FilterMaps maps_;
  /// Guards the tables.
  mutable std::mutex tablesMutex_;
  PairTable pairs_;
  RuleTable rules_;
  OutcomeTable outcomes_;
  /// Guards the ports; held while a driver attaches a program, which may take long.
  std::mutex portsMutex_;
  std::optional<Forwarder> forwarder_;
  std::vector<std::unique_ptr<FilterPort>> ports_;
  bool isAttached_ = false;
  bool isClosed_ = false;
  bool isStopping_ = false;
  std::condition_variable wake_;
  std::thread watcher_;
  /// Held while the kernel waits for the programs that read the sets before: nothing else waits for that.
  std::mutex setsMutex_;
  /// Those in force, if this process put them there: kept until no program reads them.
  std::shared_ptr<const NamedSets> namedSets_;
  /// For drops() only.
  mutable std::optional<FilterProgram> forTests_;
};

/// An inline program in the filter's place on an interface, for as long as this lives.
class FilterLoan {
 public:
  /// Throws SourceError.
  FilterLoan(std::shared_ptr<KernelFilter> filter, std::string interface, int programFd);
  FilterLoan(const FilterLoan&) = delete;
  FilterLoan& operator=(const FilterLoan&) = delete;
  ~FilterLoan() { filter_->giveBack(interface_); }

  [[nodiscard]] PortStatus status() const { return filter_->portStatus(interface_); }

 private:
  std::shared_ptr<KernelFilter> filter_;
  std::string interface_;
};

}  // namespace floodwall
