#pragma once
/// The sections of the report, in the order in which they appear. Each adds nothing where the study lacks its part.

#include <string>
#include <vector>

#include "report/html/html.hpp"
#include "results/study.hpp"

namespace doxlab::report::html {

struct Sentence {
  std::string lead, text;
};
/// What the figures say, in sentences that hold for these figures.
std::vector<Sentence> headline(const results::Study& study);

void add_transports(Html& html, const results::Study& study);
void add_loss(Html& html, const results::Study& study);
/// Where the time and the bytes go.
void add_accounting(Html& html, const results::Study& study);
void add_key_exchange(Html& html, const results::Study& study);
void add_warm(Html& html, const results::Study& study);
void add_dropmap(Html& html, const results::Study& study);
void add_ladder(Html& html, const results::Study& study);
void add_method(Html& html, const results::Study& study);

}  // namespace doxlab::report::html
