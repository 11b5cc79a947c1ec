#include "count/host_profiles.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace floodwall {
namespace {

/// Time between two packets of one host that has a full profile, ms. The longest holds once the host is known
/// for a quarter of an hour: its profile then forgets half in about ten minutes.
constexpr std::uint32_t kIntervalMinMs = 400, kIntervalMaxMs = 12'000;
/// Hosts that have their turn in one epoch, and packets that are taken in it: about half a millisecond together, most
/// of it cache misses.
constexpr std::uint32_t kTurnsPerEpoch = 2'048, kTakenPerEpoch = 512;
/// A profile of fewer packets makes room soon: packets to addresses at random must not push the profiles of hosts out.
constexpr std::uint32_t kFewPackets = 3;
constexpr std::uint32_t kLeavesAfterMs = 60'000, kFewLeaveAfterMs = 5'000;
/// Times that a reader tries to get a copy of what is written at most once in some hundred milliseconds.
constexpr int kReadTries = 4;

/// An entry: 27 bits of the hash, whether the profile has few packets, the number of the profile plus 1, and when the
/// host was last seen.
constexpr unsigned kStampBits = 16, kNumberBits = 20;
constexpr std::uint64_t kStampMask = (1U << kStampBits) - 1, kNumberMask = (1U << kNumberBits) - 1;
constexpr std::uint64_t kFewBit = std::uint64_t{1} << (kStampBits + kNumberBits);
constexpr unsigned kTagShift = kStampBits + kNumberBits + 1;
constexpr unsigned kStampShift = 3;
static_assert(kProfiledHostsMax + kProfiledHostsOwn < kNumberMask);

std::uint64_t tagOf(std::uint64_t hash) noexcept { return hash << kTagShift; }
std::uint32_t numberOf(std::uint64_t entry) noexcept {
  return static_cast<std::uint32_t>(entry >> kStampBits & kNumberMask) - 1;
}
std::uint64_t withStamp(std::uint64_t entry, std::uint32_t stamp) noexcept { return (entry & ~kStampMask) | stamp; }

std::uint32_t powerBelow(std::uint32_t value) noexcept { return std::bit_floor(std::max(value, 1U)); }

std::array<std::uint64_t, 2> wordsOf(const Address& address) noexcept {
  return std::bit_cast<std::array<std::uint64_t, 2>>(address.bytes);
}

using Words = std::array<std::uint64_t, HostProfile::kWords>;

profile_record recordOf(const HeaderSummary& header, float standsFor) noexcept {
  const Packet& packet = header.packet;
  profile_record record{};
  std::uint8_t bits = header.bits;
  if (isIpv4Mapped(packet.source)) {
    std::copy_n(packet.source.bytes.begin() + 12, 4, record.source);
  } else {
    bits |= RECORD_IPV6;
    std::copy_n(packet.source.bytes.begin(), sizeof record.source, record.source);
  }
  if ((bits & RECORD_PORTS) != 0) {
    record.source_port = packet.sourcePort;
    record.destination_port = packet.destinationPort;
  }
  if ((bits & RECORD_TCP_FLAGS) != 0) record.tcp_flags = packet.tcpFlags;
  record.packet_bytes = header.packetBytes;
  const std::uint32_t beyond = packet.wire > header.packetBytes ? packet.wire - header.packetBytes : 0;
  record.frame_bytes = static_cast<std::uint8_t>(std::min(beyond, 255U));
  record.ttl = header.ttl;
  record.protocol = packet.protocol;
  record.header_bits = bits;
  record.stands_for = standsFor;
  return record;
}

void write(HostProfile::Slot& slot, const Words& words) noexcept {
  for (std::size_t i = 0; i < words.size(); i++) slot[i].store(words[i], std::memory_order_release);
}
Words wordsIn(const HostProfile::Slot& slot) noexcept {
  Words words;
  for (std::size_t i = 0; i < words.size(); i++) words[i] = slot[i].load(std::memory_order_acquire);
  return words;
}

/// Keeps readers from taking what is half written for a copy: as SampleSlot.
class Writing {
 public:
  explicit Writing(HostProfile& profile) : version_(profile.version) {
    version_.store(version_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  ~Writing() { version_.store(version_.load(std::memory_order_relaxed) + 1, std::memory_order_release); }
  Writing(const Writing&) = delete;
  Writing& operator=(const Writing&) = delete;

 private:
  std::atomic<std::uint32_t>& version_;
};

}  // namespace

HostProfiles::HostProfiles(std::shared_ptr<ProfileControl> control, std::uint32_t epochsPerSecond)
    : control_(std::move(control)),
      intervalMin_(std::max(kIntervalMinMs * epochsPerSecond / 1000, 1U)),
      intervalMax_(std::max(kIntervalMaxMs * epochsPerSecond / 1000, intervalMin_)),
      sets_(kSets, Pages::small),
      profiles_(kProfiledHostsMax + kProfiledHostsOwn, Pages::small) {}

HostProfiles::~HostProfiles() { control_->hosts.fetch_sub(used_.load(std::memory_order_relaxed)); }

void HostProfiles::adopt(std::uint32_t epoch, std::uint32_t rows) noexcept {
  epoch_ = epoch;
  takenLeft_ = kTakenPerEpoch;
  turnMask_ = std::max(powerBelow(intervalMin_), std::bit_ceil(std::max(rows / kTurnsPerEpoch, 1U))) - 1;
}

std::uint32_t HostProfiles::stampNow() const noexcept {
  return static_cast<std::uint32_t>(epoch_ >> kStampShift & kStampMask);
}

bool HostProfiles::isOf(std::uint32_t number, const Address& address) const noexcept {
  const auto words = wordsOf(address);
  const HostProfile& profile = profiles_[number];
  return profile.key[0].load(std::memory_order_relaxed) == words[0] &&
         profile.key[1].load(std::memory_order_relaxed) == words[1];
}

HostProfiles::Entry* HostProfiles::find(const Address& address, std::uint64_t hash) const noexcept {
  for (Entry& way : setOf(hash).entries) {
    const std::uint64_t entry = way.load(std::memory_order_acquire);
    if (entry != 0 && (entry ^ tagOf(hash)) >> kTagShift == 0 && isOf(numberOf(entry), address)) return &way;
  }
  return nullptr;
}

/// Whether the host was unseen long enough that another may have its profile. A host is seen at its turns only.
bool HostProfiles::mayLeave(std::uint64_t entry) const noexcept {
  const std::uint32_t unseen = (stampNow() - static_cast<std::uint32_t>(entry)) & kStampMask;
  const std::uint32_t afterMs = (entry & kFewBit) != 0 ? kFewLeaveAfterMs : kLeavesAfterMs;
  const std::uint64_t after = std::uint64_t{afterMs} * intervalMin_ / kIntervalMinMs;
  return unseen > (std::max<std::uint64_t>(after, 2 * std::uint64_t{turnMask_}) >> kStampShift);
}

bool HostProfiles::mayGrow() const noexcept {
  const std::uint32_t own = used_.load(std::memory_order_relaxed);
  if (own == profiles_.size()) return false;
  return own < kProfiledHostsOwn || control_->hosts.load(std::memory_order_relaxed) < kProfiledHostsMax;
}

/// A free way and a free profile, else those of the host that was not seen for longest; null: none may leave.
HostProfiles::Entry* HostProfiles::roomFor(std::uint64_t hash, std::uint32_t& number) noexcept {
  Entry* oldest = nullptr;
  std::uint32_t longest = 0;
  for (Entry& way : setOf(hash).entries) {
    const std::uint64_t entry = way.load(std::memory_order_relaxed);
    if (entry == 0) {
      if (!mayGrow()) continue;
      number = used_.load(std::memory_order_relaxed);
      return &way;
    }
    const std::uint32_t unseen = (stampNow() - static_cast<std::uint32_t>(entry)) & kStampMask;
    if (mayLeave(entry) && unseen >= longest) {
      oldest = &way;
      longest = unseen;
      number = numberOf(entry);
    }
  }
  return oldest;
}

bool HostProfiles::isDue(const Host& host) noexcept {
  Entry* way = find(host.address, host.hash);
  if (way == nullptr) {
    std::uint32_t number = kNone;
    return roomFor(host.hash, number) != nullptr;
  }
  const std::uint64_t entry = way->load(std::memory_order_relaxed);
  way->store(withStamp(entry, stampNow()), std::memory_order_release);
  HostProfile& profile = profiles_[numberOf(entry)];
  if (profile.row != host.row) {
    begin(profile, host);
    return !profile.isGrown;
  }
  return epochsSince(profile.dueEpoch, epoch_) <= kEpochMask / 2;
}

/// Begins to count again: after an attack, or where the host has another row.
void HostProfiles::begin(HostProfile& profile, const Host& host) noexcept {
  profile.row = host.row;
  profile.packetsBefore = host.packets;
  if (profile.isGrown) {
    profile.dueEpoch = (epoch_ + intervalOf(profile)) & kEpochMask;
  } else {
    profile.bornEpoch = profile.dueEpoch = epoch_;
    profile.bornPackets = host.packets;
  }
}

void HostProfiles::interrupt(const Host& host) noexcept {
  Entry* way = find(host.address, host.hash);
  if (way == nullptr) return;
  const std::uint64_t entry = way->load(std::memory_order_relaxed);
  way->store(withStamp(entry, stampNow()), std::memory_order_release);
  profiles_[numberOf(entry)].row = kNone;
}

bool HostProfiles::draws() noexcept { return draws(1, kDrawn); }

bool HostProfiles::draws(std::uint64_t packets) noexcept {
  return draws(std::min<std::uint64_t>(packets, kDrawn), kDrawn * kRecordsDrawn);
}

bool HostProfiles::draws(std::uint64_t wanted, std::uint64_t of) noexcept {
  if (takenLeft_ == 0 || random() % of >= wanted) return false;
  takenLeft_--;
  return true;
}

/// Grows with the time since the first packet, so that the packets of a profile that is full are spread evenly over it.
std::uint32_t HostProfiles::intervalOf(const HostProfile& profile) const noexcept {
  return std::clamp(epochsSince(profile.bornEpoch, epoch_) / kProfilePackets, intervalMin_, intervalMax_);
}

/// A profile that grows waits only while it can settle none of its packets.
std::uint32_t HostProfiles::nextDue(const HostProfile& profile) const noexcept {
  if (profile.isGrown) return (epoch_ + intervalOf(profile)) & kEpochMask;
  if (profile.young < kProfileYoung) return epoch_;
  return (profile.youngEpochs[0].load(std::memory_order_relaxed) +
          control_->delayEpochs.load(std::memory_order_relaxed)) &
         kEpochMask;
}

/// The number that a packet stands for: all since the one before, as if taken at the longest interval; and, if it
/// stands for more packets than are drawn from, as much more.
bool HostProfiles::take(const Host& host, const HeaderSummary& header, std::uint64_t packets) noexcept {
  Entry* way = find(host.address, host.hash);
  const bool isNew = way == nullptr;
  std::uint32_t number = kNone;
  if (isNew) {
    way = roomFor(host.hash, number);
    if (way == nullptr) return false;
    if (number == used_.load(std::memory_order_relaxed)) control_->hosts.fetch_add(1, std::memory_order_relaxed);
  } else {
    number = numberOf(way->load(std::memory_order_relaxed));
  }
  HostProfile& profile = profiles_[number];
  // One in twice as many, now that there is time.
  if (!isNew && profile.isGrown && random() % 2 != 0) return true;
  {
    const Writing writing(profile);
    if (isNew) {
      const auto words = wordsOf(host.address);
      for (std::size_t i = 0; i < words.size(); i++) profile.key.at(i).store(words.at(i), std::memory_order_release);
      profile.settled.store(0, std::memory_order_release);
      for (auto& epoch : profile.youngEpochs) epoch.store(0, std::memory_order_release);
      profile.young = 0;
      profile.isGrown = false;
    }
    if (profile.row != host.row || isNew) begin(profile, host);
    settle(profile, host);
    if (profile.young < kProfileYoung) {
      const double many = std::max(static_cast<double>(packets) / kDrawn, 1.0);
      const std::uint32_t since = std::max(host.packets - profile.packetsBefore, 1U);
      const std::uint32_t interval = std::max(intervalOf(profile), turnMask_ + 1);
      const double share = std::max(static_cast<double>(intervalMax_) / interval, 1.0);
      const double weight = profile.isGrown ? many * since * share : many;
      const std::uint32_t at = profile.young++;
      write(profile.youngPackets.at(at), std::bit_cast<Words>(recordOf(header, static_cast<float>(weight))));
      profile.youngEpochs.at(at).store(epoch_, std::memory_order_release);
    }
  }
  profile.packetsBefore = host.packets;
  profile.dueEpoch = nextDue(profile);
  const bool isFew = profile.settled.load(std::memory_order_relaxed) + profile.young < kFewPackets;
  way->store(tagOf(host.hash) | (isFew ? kFewBit : 0) | std::uint64_t{number + 1} << kStampBits | stampNow(),
             std::memory_order_release);
  if (number == used_.load(std::memory_order_relaxed)) used_.store(number + 1, std::memory_order_release);
  return !profile.isGrown && profile.young < kProfileYoung;
}

/// Keeps young packets that are old enough, in place of any of a full profile.
void HostProfiles::settle(HostProfile& profile, const Host& host) noexcept {
  const std::uint32_t delay = control_->delayEpochs.load(std::memory_order_relaxed);
  std::uint32_t settled = profile.settled.load(std::memory_order_relaxed), gone = 0;
  while (gone < profile.young &&
         epochsSince(profile.youngEpochs.at(gone).load(std::memory_order_relaxed), epoch_) >= delay) {
    const auto at = settled < kProfilePackets ? settled++ : static_cast<std::uint32_t>(random() % kProfilePackets);
    write(profile.packets.at(at), wordsIn(profile.youngPackets.at(gone++)));
  }
  profile.settled.store(settled, std::memory_order_release);
  if (gone != 0) {
    for (std::uint32_t i = 0; i < kProfileYoung; i++) {
      const bool isLeft = i + gone < profile.young;
      if (isLeft) write(profile.youngPackets.at(i), wordsIn(profile.youngPackets.at(i + gone)));
      const std::uint32_t epoch = isLeft ? profile.youngEpochs.at(i + gone).load(std::memory_order_relaxed) : 0;
      profile.youngEpochs.at(i).store(epoch, std::memory_order_release);
    }
    profile.young -= gone;
  }
  if (settled == kProfilePackets && !profile.isGrown) grow(profile, host);
}

/// The first packets stand for the same number each: from now on for what the host received in the longest interval, by
/// its rate so far, as those that follow.
void HostProfiles::grow(HostProfile& profile, const Host& host) noexcept {
  const double epochs = std::max(epochsSince(profile.bornEpoch, epoch_), 1U);
  const double each = std::max((host.packets - profile.bornPackets) / epochs * intervalMax_, 1.0);
  const auto raise = [each](HostProfile::Slot& slot) {
    auto record = std::bit_cast<profile_record>(wordsIn(slot));
    record.stands_for *= static_cast<float>(each);
    write(slot, std::bit_cast<Words>(record));
  };
  for (HostProfile::Slot& slot : profile.packets) raise(slot);
  for (std::uint32_t i = 0; i < profile.young; i++) raise(profile.youngPackets.at(i));
  profile.isGrown = true;
}

void HostProfiles::copy(const HostProfile& profile, std::uint32_t epoch, Address& address,
                        std::vector<profile_record>& out) const {
  const std::uint32_t delay = control_->delayEpochs.load(std::memory_order_relaxed);
  const std::size_t begin = out.size();
  for (int tries = 0; tries < kReadTries; tries++) {
    out.resize(begin);
    const std::uint32_t version = profile.version.load(std::memory_order_acquire);
    if ((version & 1) != 0) continue;
    const std::array<std::uint64_t, 2> key = {profile.key[0].load(std::memory_order_acquire),
                                              profile.key[1].load(std::memory_order_acquire)};
    const std::uint32_t settled = std::min(profile.settled.load(std::memory_order_acquire), kProfilePackets);
    for (std::uint32_t i = 0; i < settled; i++) {
      out.push_back(std::bit_cast<profile_record>(wordsIn(profile.packets.at(i))));
    }
    for (std::uint32_t i = 0; i < kProfileYoung; i++) {
      const std::uint32_t came = profile.youngEpochs.at(i).load(std::memory_order_acquire);
      const std::uint32_t age = epochsSince(came, epoch);
      if (came == 0 || age < delay || age > kEpochMask / 2) continue;
      out.push_back(std::bit_cast<profile_record>(wordsIn(profile.youngPackets.at(i))));
    }
    if (profile.version.load(std::memory_order_relaxed) != version) continue;
    address.bytes = std::bit_cast<decltype(address.bytes)>(key);
    return;
  }
  out.resize(begin);
  address = {};
}

void HostProfiles::read(const Address& address, std::uint64_t hash, std::uint32_t epoch,
                        std::vector<profile_record>& out) const {
  const Entry* way = find(address, hash);
  if (way == nullptr) return;
  const std::size_t begin = out.size();
  Address copied;
  copy(profiles_[numberOf(way->load(std::memory_order_acquire))], epoch, copied, out);
  // Another host's by now.
  if (!(copied == address)) out.resize(begin);
}

bool HostProfiles::readNumber(std::uint32_t number, std::uint32_t epoch, Address& address,
                              std::vector<profile_record>& out) const {
  const std::size_t begin = out.size();
  copy(profiles_[number], epoch, address, out);
  return out.size() > begin;
}

std::uint64_t HostProfiles::random() noexcept {
  random_ ^= random_ << 13;
  random_ ^= random_ >> 7;
  random_ ^= random_ << 17;
  return random_;
}

}  // namespace floodwall
