// ForkSafeMutex: a mutex that no other thread of the parent can leave locked in a forked child.
//
// All of them are taken, in the order in which they were made, around a fork. While one is held nothing outside this room may
// be called (a device's lock taken at the same time by another fork handler would be the wrong way round), nor another one.
#pragma once
#include <mutex>

namespace entrepot {

class ForkSafeMutex : public std::mutex {
public:
    ForkSafeMutex();
    ~ForkSafeMutex();
};

}  // namespace entrepot
