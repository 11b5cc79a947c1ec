#include "filter/filter_port.h"

#include <bpf/bpf.h>
#include <unistd.h>

#include <utility>

#include "base/source_error.h"
#include "device/network_device.h"

namespace floodwall {

FilterPort::FilterPort(std::string interface, XdpMode wanted, std::string linkPath, const FilterMaps& maps,
                       Forwarder* forwarder)
    : interface_(std::move(interface)),
      wanted_(wanted),
      linkPath_(std::move(linkPath)),
      maps_(maps),
      forwarder_(forwarder) {
  status_.interface = interface_;
  status_.error = "not attached yet";
}

void FilterPort::check() {
  try {
    const auto device = devices_.find(interface_);
    if (!device) {
      lose();
      return say("interface " + interface_ + " does not exist: create it, or correct its name in dataplane.interfaces");
    }
    if (link_ && (device->index != deviceIndex_ || !link_->isAttached())) lose();
    if (!link_) attach(*device);
    say(linkFault(*device));
  } catch (const std::exception& error) {
    say(error.what());
  }
}

int FilterPort::program(const NetworkDevice& device) {
  if (lent_ >= 0) return lent_;
  const bool hasFragments = device.mtu > kSingleBufferMtu;
  if (!own_ || ownHasFragments_ != hasFragments) {
    own_.emplace(maps_, hasFragments, forwarder_ == nullptr ? -1 : forwarder_->callFd(hasFragments));
  }
  ownHasFragments_ = hasFragments;
  return own_->fd();
}

void FilterPort::attach(const NetworkDevice& device) {
  const int fd = program(device);
  deviceIndex_ = device.index;
  auto pinned = XdpLink::adopt(linkPath_, device);
  // Two modes cannot be on at once: the other one goes first.
  if (pinned && wanted_ != XdpMode::automatic && pinned->isNative() != (wanted_ == XdpMode::native)) pinned.reset();
  if (pinned) {
    try {
      pinned->update(fd);
    } catch (const SourceError&) {
      // The program of the process before is better than none.
      pinned->keep();
      throw;
    }
    link_ = std::move(pinned);
    return;
  }
  unlink(linkPath_.c_str());
  auto made = XdpLink::attach(fd, device, wanted_);
  made.pin(linkPath_);
  link_ = std::move(made);
}

/// The interface was removed together with its program, or another process detached the program.
void FilterPort::lose() {
  if (!link_) return;
  link_.reset();
  unlink(linkPath_.c_str());
}

void FilterPort::lend(int programFd) {
  if (!link_) throw SourceError(status().error);
  link_->update(programFd);
  lent_ = programFd;
}

void FilterPort::giveBack() {
  lent_ = -1;
  if (!link_) return;
  try {
    const auto device = devices_.find(interface_);
    if (!device) return;
    link_->update(program(*device));
  } catch (const std::exception& error) {
    // The program that was lent goes on filtering: the link holds it.
    say(error.what());
  }
}

void FilterPort::close(bool keep) {
  if (link_ && keep) link_->keep();
  if (!keep) unlink(linkPath_.c_str());
  link_.reset();
}

void FilterPort::say(std::string error) {
  const std::lock_guard lock(statusMutex_);
  status_.isAttached = link_.has_value();
  status_.mode = link_ ? link_->modeText() : "";
  status_.error = std::move(error);
}

PortStatus FilterPort::status() const {
  const std::lock_guard lock(statusMutex_);
  return status_;
}

}  // namespace floodwall
