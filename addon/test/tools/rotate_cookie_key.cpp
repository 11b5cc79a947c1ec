// Makes a new key for the cookies of a pinned filter, as the service does in time: `rotate_cookie_key PIN_PATH`. For
// tests: the filter's owner goes on beside it.
#include <cstdio>

#include "filter/filter_maps.h"
#include "filter/pin_directory.h"

int main(int argc, char** argv) {
  using namespace floodwall;
  if (argc != 2) {
    std::fputs("usage: rotate_cookie_key PIN_PATH\n", stderr);
    return 2;
  }
  const auto maps = FilterMaps::open(PinDirectory::mapsIn(argv[1]), true);
  if (!maps) {
    std::fprintf(stderr, "rotate_cookie_key: no filter of this version is pinned in %s\n", argv[1]);
    return 1;
  }
  rotateCookieKey(*maps);
  return 0;
}
