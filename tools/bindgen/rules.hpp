// Rules: how Python passes a parameter of C, and its annotation.
#pragma once
#include "description.hpp"
#include "library.hpp"

#include <map>
#include <string>

namespace bindgen {

struct Passing {
    std::string annotation;    // in the module: In[Pointer], Returned[c_int] …
    std::string stub;          // in the stub: the Python type that is taken or returned
    bool is_returned = false;  // by the call, instead of an argument of it
    std::string rule;          // the reason for the passing; "default" needs review
    bool is_guess = false;     // needs review: the header does not state it, or contradicts it
    bool is_measured_by_name = false;  // needs review: only the parameter's name says that it is
                                       // the size of the memory
};

class Rules {
public:
    Rules(const LibrarySettings &settings, const Description &description);

    Passing of(const Function &function, const Parameter &parameter) const;
    // For a result, and for arguments and results of callbacks.
    Passing of_value(const Type &type) const;
    // Annotation of a field, without its offset.
    std::string annotation_of_field(const Type &type) const;
    std::string stub_of_field(const Type &type) const;
    // Stub of the argument that a constructor takes for the field.
    std::string stub_of_initial(const Type &type) const;

private:
    Passing chosen_for(const Function &function, const Parameter &parameter) const;
    void add_measure(const Function &function, const Parameter &parameter, Passing &passing) const;
    std::string adapter_of(const Type &pointee) const;
    std::string spelled(const Type &pointer) const;
    std::string enum_list(const std::string &name) const;

    const LibrarySettings &settings_;
    std::map<std::string, std::string> enum_types_;
    std::map<std::string, std::string> aliases_;
};

}  // namespace bindgen
