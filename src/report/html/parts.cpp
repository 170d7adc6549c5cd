#include "report/html/parts.hpp"

#include <format>

#include "report/html/embedded.hpp"

namespace doxlab::report::html {
namespace {

void add_legend(Html& html, const Chart& chart) {
  html.open("ul", {{"class", "legend"}});
  for (const auto& paint : chart.legend) {
    html.open("li");
    if (chart.can_hide) html.open("button", {{"type", "button"}, {"aria-pressed", "true"}, {"data-name", paint.name}});
    html.open("svg", {{"class", "swatch"}, {"viewBox", "0 0 26 12"}, {"aria-hidden", "true"}});
    if (paint.dash.empty())
      html.element("rect", "", {{"width", "26"}, {"height", "12"}, {"rx", "2"}, {"fill", paint.color}});
    else
      html.element("path", "", {{"d", "M0 6H26"},
                                {"stroke", paint.color},
                                {"stroke-width", "3"},
                                {"stroke-dasharray", std::format("{} {}", paint.dash.front(), paint.dash.back())}});
    html.close().element("span", paint.name);
    if (chart.can_hide) html.close();
    html.close();
  }
  html.close();
}

}  // namespace

void add_table(Html& html, std::string_view caption, const std::vector<Column>& columns,
               const std::vector<std::vector<std::string>>& rows) {
  html.open("div", {{"class", "scroll"}, {"tabindex", "0"}, {"role", "region"}, {"aria-label", caption}});
  html.open("table").element("caption", caption).open("thead").open("tr");
  for (const auto& column : columns)
    html.element("th", column.title, {{"scope", "col"}, {"class", column.is_text ? "text" : "figure"}});
  html.close().close().open("tbody");
  for (const auto& row : rows) {
    html.open("tr");
    for (std::size_t i = 0; i < row.size(); ++i) {
      const auto* kind = i < columns.size() && !columns[i].is_text ? "figure" : "text";
      if (i == 0)
        html.element("th", row[i], {{"scope", "row"}, {"class", kind}});
      else
        html.element("td", row[i], {{"class", kind}});
    }
    html.close();
  }
  html.close().close().close();
}

void add_chart(Html& html, const Chart& chart, const std::function<void()>& table) {
  html.open("figure", {{"class", "chart"}, {"data-spec", chart.spec}});
  if (!chart.legend.empty()) add_legend(html, chart);
  html.open("div", {{"class", "plot"}, {"data-label", chart.label}});
  html.element("p", "The chart is drawn with JavaScript; its figures are below.", {{"class", "pending"}}).close();
  html.json(chart.data, {{"class", "data"}});
  html.element("figcaption", chart.caption);
  html.open("details").element("summary", "The figures behind it");
  table();
  html.close().close();
}

void add_warning(Html& html, std::string_view text) {
  html.open("p", {{"class", "warning"}}).element("strong", "Note: ").text(text).close();
}

void open_section(Html& html, std::string_view id, std::string_view title, std::string_view lead) {
  html.open("section", {{"id", id}, {"aria-labelledby", std::format("{}-title", id)}});
  html.element("h2", title, {{"id", std::format("{}-title", id)}});
  if (!lead.empty()) html.element("p", lead, {{"class", "lead"}});
}

Scale scale_of(const std::vector<Paint>& paints) {
  Scale out;
  for (const auto& paint : paints) {
    out.names.push_back(paint.name);
    out.colors.push_back(paint.color);
    out.dashes.push_back(paint.dash);
  }
  return out;
}

}  // namespace doxlab::report::html
