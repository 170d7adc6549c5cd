#pragma once
/// A drop map as text: a table of packets for each transport, and what follows under random losses.

#include <string>

#include "report/document.hpp"
#include "results/dropmap.hpp"

namespace doxlab::report {

Document dropmap_text(const results::DropmapRun& run);

}  // namespace doxlab::report
