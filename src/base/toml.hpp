#pragma once
/// toml++ for files of unknown origin: errors are values, and its assertions are off in every build. One of them fails
/// on a file that is merely wrong ("[[["), and where NDEBUG is defined it tells the compiler that this cannot be;
/// without it the parser reports the error a line later. Both macros must be the same wherever toml++ is included.

#define TOML_EXCEPTIONS 0
#define TOML_ASSERT(expr) static_cast<void>(0)
#pragma push_macro("NDEBUG")
#undef NDEBUG
#include <toml++/toml.hpp>
#pragma pop_macro("NDEBUG")
