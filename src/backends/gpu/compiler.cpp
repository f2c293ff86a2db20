#include "backends/gpu/compiler.hpp"

#include "backends/cache.hpp"

#include <algorithm>
#include <optional>
#include <sstream>

namespace entrepot::backends::gpu {
namespace {

std::string key_of(const Rtc &rtc, const Request &request, const Words &options) {
    std::string key = cache_key(identity(rtc), request.source, request.expression);
    for (const std::string &option : options)
        key += cache_key(option);
    return key;
}

// ---------------------------------------------------------------- compiling

class Compilation {
public:
    Compilation(const Rtc &rtc, const Request &request) : rtc_(rtc) {
        rtc_.check(rtc_.nvrtcCreateProgram(&program_, request.source.c_str(), source_name, 0,
                                           nullptr, nullptr),
                   "nvrtcCreateProgram");
        if (!request.expression.empty())
            rtc_.check(rtc_.nvrtcAddNameExpression(program_, request.expression.c_str()),
                       "nvrtcAddNameExpression");
    }
    Compilation(const Compilation &) = delete;
    Compilation &operator=(const Compilation &) = delete;
    ~Compilation() { rtc_.nvrtcDestroyProgram(&program_); }

    nvrtcResult run(const Words &options) {
        std::vector<const char *> words;
        for (const std::string &option : options)
            words.push_back(option.c_str());
        return rtc_.nvrtcCompileProgram(program_, static_cast<int>(words.size()), words.data());
    }

    std::string log() const { return text(rtc_.nvrtcGetProgramLogSize, rtc_.nvrtcGetProgramLog); }

    std::string image() const { return image_of(rtc_, program_); }

    std::string lowered_name(const std::string &expression) const {
        const char *name = nullptr;
        rtc_.check(rtc_.nvrtcGetLoweredName(program_, expression.c_str(), &name),
                   "nvrtcGetLoweredName");
        return name;
    }

private:
    template <class Size, class Get> std::string text(Size size_of, Get get) const {
        std::size_t size = 0;
        rtc_.check(size_of(program_, &size), "the size of what the compiler made");
        std::string found(size, '\0');
        rtc_.check(get(program_, found.data()), "what the compiler made");
        found.erase(std::find(found.begin(), found.end(), '\0'), found.end());
        return found;
    }

    const Rtc &rtc_;
    nvrtcProgram program_ = nullptr;
};

Code compile_now(const Rtc &rtc, const Request &request, const Words &options, std::string &log) {
    Compilation compilation(rtc, request);
    const nvrtcResult result = compilation.run(options);
    log += compilation.log();
    if (result == NVRTC_ERROR_INVALID_OPTION)
        refuse(EP_INVALID, rtc.name(), " does not know one of the options: ", log);
    if (result == NVRTC_ERROR_COMPILATION || result == NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID)
        refuse(EP_BUILD_FAILED, rtc.name(), " refused the program: the build log says why");
    rtc.check(result, "nvrtcCompileProgram");
    return {compilation.image(),
            request.expression.empty() ? "" : compilation.lowered_name(request.expression)};
}

// The name on the first line, the image after it.
std::string packed(const Code &code) { return code.lowered_name + '\n' + code.image; }
Code unpacked(const std::string &content) {
    const std::size_t end = content.find('\n');
    return {content.substr(end + 1), content.substr(0, end)};
}

}  // namespace

std::string compiler_version() {
    const Rtc &newest = newest_rtc();
    return std::to_string(newest.major) + "." + std::to_string(newest.minor) + " (" + newest.path +
           ")";
}

Code compile(const Request &request, std::string &log) {
    const Rtc &rtc = rtc_for(request.target);
    const Words options = all_options(rtc, request);
    if (names_files(request.source, Angled::anywhere) || name_files(request.options))
        return compile_now(rtc, request, options, log);
    const std::string key = key_of(rtc, request, options);
    if (const std::optional<std::string> known = cached(selector_word, key))
        return unpacked(*known);
    const Code code = compile_now(rtc, request, options, log);
    keep_cached(selector_word, key, packed(code));
    return code;
}

Words words_in(const char *options) {
    std::istringstream stream(options == nullptr ? "" : options);
    Words words;
    for (std::string word; stream >> word;)
        words.push_back(std::move(word));
    return words;
}

}  // namespace entrepot::backends::gpu
