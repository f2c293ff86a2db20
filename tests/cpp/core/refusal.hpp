// Catches the Error that an expression throws, so that a test can check its kind and message.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include <entrepot/core/error.hpp>

namespace entrepot {

struct Refusal {
    ErrorKind kind;
    std::string message;

    bool says(std::string_view words) const { return message.find(words) != std::string::npos; }
};

template <class Action> std::optional<Refusal> refusal_of(Action action) {
    try {
        action();
    } catch (const Error &error) {
        return Refusal{error.kind(), error.what()};
    }
    return std::nullopt;
}

}  // namespace entrepot

// Checks that the expression throws an Error of the kind whose message contains the words.
#define CHECK_REFUSED(expected_kind, words, ...)                                                   \
    do {                                                                                           \
        const auto refusal = ::entrepot::refusal_of([&] { static_cast<void>(__VA_ARGS__); });      \
        CHECK_MESSAGE(refusal.has_value(), #__VA_ARGS__ " is not refused");                        \
        if (refusal) {                                                                             \
            CHECK_MESSAGE(refusal->kind == (expected_kind), refusal->message);                     \
            CHECK_MESSAGE(refusal->says(words), refusal->message);                                 \
        }                                                                                          \
    } while (false)
