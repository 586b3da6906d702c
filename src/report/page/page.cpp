#include "report/page/page.h"

#include "report/charts/markup.h"
#include "report/charts/palette.h"
#include "report/page/assets.h"

namespace quest::report {
namespace {

constexpr const char* kPolicy = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'";

std::string head(const Page& page) {
  return "<meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
         "<meta name=\"color-scheme\" content=\"light dark\">\n"
         "<meta http-equiv=\"Content-Security-Policy\" content=\"" +
         escaped(kPolicy) + "\">\n" + element("title", {}, escaped(page.title)) + "\n" +
         element("style", {}, "\n" + std::string(kPageStyle) + figure_style(Theme::light)) + "\n" +
         element("style", {{"media", "screen and (prefers-color-scheme: dark)"}}, "\n" + figure_style(Theme::dark)) +
         "\n";
}

std::string contents(const Page& page) {
  std::string items;
  for (const Section& section : page.sections) {
    items += element("li", {}, element("a", {{"href", "#" + section.id}}, escaped(section.title)));
  }
  return element("nav", {{"aria-label", "Contents"}}, element("ul", {}, items)) + "\n";
}

std::string section_html(const Section& section) {
  const std::string title_id = section.id + "-title";
  return element("section", {{"id", section.id}, {"aria-labelledby", title_id}},
                 "\n" + element("h2", {{"id", title_id}}, escaped(section.title)) + "\n" + section.body) +
         "\n";
}

}  // namespace

std::string page_html(const Page& page) {
  std::string sections;
  for (const Section& section : page.sections) sections += section_html(section);
  const std::string header =
      element("header", {}, element("h1", {}, escaped(page.title)) + "\n" + page.lead + contents(page));
  const std::string body = "<a class=\"skip\" href=\"#main\">Skip to the results</a>\n" + header + "\n" +
                           element("main", {{"id", "main"}}, "\n" + sections) + "\n" +
                           element("footer", {}, element("p", {}, escaped(page.footer))) + "\n" +
                           element("script", {}, "\n" + std::string(kPageScript)) + "\n";
  return "<!DOCTYPE html>\n" +
         element("html", {{"lang", "en"}},
                 "\n" + element("head", {}, "\n" + head(page)) + "\n" + element("body", {}, "\n" + body)) +
         "\n";
}

}  // namespace quest::report
