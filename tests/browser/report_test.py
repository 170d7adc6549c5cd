"""The report in a browser: report_test.py FOLDER [unittest arguments]; make_pages.py put the pages into FOLDER."""

import os
import pathlib
import sys
import unittest

from devtools import Browser

HERE = pathlib.Path(__file__).parent
FOLDER = pathlib.Path(sys.argv.pop(1)).resolve()
SUITE = FOLDER / "suite" / "report.html"
ALL_DRAWN = "[...document.querySelectorAll('figure.chart')].every(f => f.dataset.drawn)"
WIDTHS = (360, 768, 1440)


class InBrowser(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.browser = cls.enterClassContext(Browser())

    def open(self, path=SUITE, **options):
        page = self.browser.page(**options)
        self.addCleanup(page.close)
        page.load(str(path))
        if options.get("javascript", True):
            page.wait_until(ALL_DRAWN)
        return page

    def centre(self, page, expression):
        """Scrolls an element into sight; where its middle is."""
        return page.evaluate(f"""(() => {{
          const element = {expression};
          element.scrollIntoView({{block: "center", behavior: "instant"}});
          const box = element.getBoundingClientRect();
          return [box.x + box.width / 2, box.y + box.height / 2];
        }})()""")

    def tooltip_at(self, page, x, y):
        for aside in (2, 1, 0):  # a tooltip comes when the pointer moves within a mark
            page.point_at(x - aside, y)
        page.wait_until("document.querySelector('#vg-tooltip-element.visible')")
        return page.evaluate("document.querySelector('#vg-tooltip-element').innerText")


class Report(InBrowser):
    def test_asks_for_nothing_and_complains_of_nothing(self):
        for dark in (False, True):
            page = self.open(dark=dark)
            self.assertEqual(page.requests(), [])
            self.assertEqual(page.complaints(), [])

    def test_every_section_is_there(self):
        page = self.open()
        self.assertEqual(page.evaluate("[...document.querySelectorAll('main > section[id]')].map(s => s.id)"),
                         ["transports", "loss", "accounting", "key-exchange", "warm", "dropmap", "ladder", "method"])
        self.assertGreaterEqual(page.evaluate("document.querySelectorAll('.headline li').length"), 4)
        text = page.evaluate("document.querySelector('.headline').innerText")
        for words in ("fastest", "Retry", "2% of packets lost", "post-quantum"):
            self.assertIn(words, text)

    def test_every_chart_has_marks(self):
        page = self.open()
        charts = page.evaluate("""[...document.querySelectorAll("figure.chart")].map((figure) =>
          [figure.dataset.spec, figure.querySelectorAll(".plot [class*='role-mark'] path[d], .plot [class*='role-mark'] line").length])""")
        self.assertEqual([spec for spec, _ in charts], ["tail", "time", "time", "bytes", "budget", "dropmap"])
        for spec, marks in charts:
            self.assertGreater(marks, 4, spec)

    def test_no_width_overflows(self):
        for width in WIDTHS:
            page = self.open(width=width)
            page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
            for mode in ("as loaded", "resized"):
                self.assertEqual(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"), 0,
                                 f"{width} pixels, {mode}")
                page.resize(width - 30)

    def test_bars_and_cells_tell_their_values(self):
        page = self.open()
        for spec, words in (("time", "consists of"), ("bytes", "consists of"), ("budget", "allowed"), ("dropmap", "it carried")):
            x, y = self.centre(page, f"document.querySelector('figure[data-spec={spec}] .plot .role-mark.mark-rect path')")
            self.assertIn(words, self.tooltip_at(page, x, y), spec)

    def test_tail_tells_the_nearest_value(self):
        page = self.open()
        x, y = self.centre(page, "document.querySelector('figure[data-spec=tail] .plot svg')")
        self.assertRegex(self.tooltip_at(page, x, y), r"% of lookups took at least|p\d+")

    def test_legend_hides_and_shows_lines(self):
        page = self.open()
        lines = "document.querySelectorAll('figure[data-spec=tail] .mark-line path[d]').length"
        before = page.evaluate(lines)
        x, y = self.centre(page, "document.querySelector('figure[data-spec=tail] .legend button')")
        page.click(x, y)
        page.wait_until(f"{lines} === {before - 1}")
        page.click(x, y)
        page.wait_until(f"{lines} === {before}")

    def test_legend_stays_when_the_colours_change(self):
        page = self.open()
        lines = "document.querySelectorAll('figure[data-spec=tail] .mark-line path[d]').length"
        before = page.evaluate(lines)
        page.click(*self.centre(page, "document.querySelector('figure[data-spec=tail] .legend button')"))
        label = "getComputedStyle(document.querySelector('figure[data-spec=tail] .role-axis-label text')).fill"
        light = page.evaluate(label)
        page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
        page.wait_until(f"{label} !== '{light}' && {lines} === {before - 1}")

    def test_is_legible_and_accessible(self):
        checks = (HERE / "page_checks.js").read_text()
        for dark in (False, True):
            for width in (360, 1440):
                page = self.open(dark=dark, width=width)
                page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
                self.assertEqual(page.evaluate(checks), [], f"dark {dark}, width {width}")

    def test_axe_finds_nothing(self):
        axe = pathlib.Path(os.environ.get("DOXLAB_AXE", "")) / "axe.min.js"
        if not axe.is_file():
            self.skipTest("axe-core is not there (tests/browser/get-axe)")
        for dark in (False, True):
            page = self.open(dark=dark)
            page.evaluate(axe.read_text() + "; 0")
            found = page.evaluate("""axe.run({resultTypes: ["violations"]}).then(({violations}) =>
              violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.html.slice(0, 120)).slice(0, 3).join(" | ")}`))""")
            self.assertEqual(found, [], f"dark {dark}")

    def test_can_be_read_without_javascript(self):
        page = self.open(javascript=False)
        self.assertEqual(page.complaints(), [])
        page.call("Emulation.setScriptExecutionDisabled", value=False)
        text = page.evaluate("document.querySelector('main').textContent")
        for words in ("Quantiles in ms", "Cost of each packet", "Packets: DoQ", "RFC 9000"):
            self.assertIn(words, text)

    def test_can_be_printed(self):
        page = self.open()
        self.assertGreater(len(page.call("Page.printToPDF", printBackground=True)["data"]), 50_000)
        self.assertEqual(page.complaints(), [])


class Ladder(InBrowser):
    def setUp(self):
        self.page = self.open()
        self.page.evaluate("document.querySelector('.ladder').scrollIntoView({block: 'center', behavior: 'instant'})")

    def view(self):
        return self.page.evaluate("(({from, to}) => [Number(from), Number(to)])(document.querySelector('.drawing').dataset)")

    def span(self):
        begin, end = self.view()
        return end - begin

    def choose(self, transport, lookup):
        self.page.evaluate(f"""(() => {{
          for (const [list, value] of [[".which-transport", "{transport}"], [".which-lookup", "{lookup}"]]) {{
            document.querySelector(list).value = value;
            document.querySelector(list).dispatchEvent(new Event("change"));
          }}
        }})()""")

    def told(self):
        return self.page.evaluate("document.querySelector('.told').textContent")

    def test_draws_every_packet_of_every_lookup(self):
        for one in self.page.evaluate("JSON.parse(document.querySelector('script.ladders').textContent)"):
            self.choose(one["transport"], one["which"])
            drawn = self.page.evaluate("""[document.querySelectorAll(".drawing .packet").length, document.querySelectorAll(".drawing .cross").length]""")
            lost = sum(p.get("delivered") is None for p in one["packets"])
            self.assertEqual(drawn, [len(one["packets"]), lost], one["transport"])

    def test_zooms_with_buttons_keys_and_wheel(self):
        whole = self.span()
        self.page.click(*self.centre(self.page, "document.querySelector('[data-do=in]')"))
        closer = self.span()
        self.assertLess(closer, whole)
        self.page.click(*self.centre(self.page, "document.querySelector('[data-do=all]')"))
        self.assertEqual(self.span(), whole)
        x, y = self.centre(self.page, "document.querySelector('.drawing')")
        self.page.click(x, y)
        self.page.press("+")
        self.assertLess(self.span(), whole)
        self.page.press("0")
        self.assertEqual(self.span(), whole)
        self.page.point_at(x, y, "mouseWheel", deltaX=0, deltaY=-100)
        self.page.wait_until(f"Number(document.querySelector('.drawing').dataset.to) - Number(document.querySelector('.drawing').dataset.from) < {whole}")

    def test_tells_what_a_packet_carried(self):
        self.choose("DoQ", "the median lookup")
        before = self.told()
        self.page.point_at(0, 0)
        self.page.point_at(*self.centre(self.page, "document.querySelector('.drawing .packet .shaft')"))
        self.page.wait_until(f"document.querySelector('.told').textContent !== {before!r}")
        self.assertRegex(self.told(), r"Packet \d+ to the (server|client), sent [\d.,]+ ms, .* bytes: ")

    def test_goes_from_packet_to_packet_by_keyboard(self):
        self.page.evaluate("document.querySelector('.drawing').focus()")
        for number in range(3):
            self.page.press("ArrowRight")
            self.assertIn(f"Packet {number} ", self.told())

    def test_long_waits_are_shortened_on_demand(self):
        study = self.page.evaluate("JSON.parse(document.querySelector('script.ladders').textContent)")
        long = max((one for one in study if one.get("ms")), key=lambda one: one["ms"])
        self.choose(long["transport"], long["which"])
        if self.page.evaluate("document.querySelector('.shorten-waits').closest('label').hidden"):
            self.skipTest("no lookup of this run waited long")
        shortened = self.span()
        self.page.click(*self.centre(self.page, "document.querySelector('.shorten-waits')"))
        self.assertGreater(self.span(), shortened)
        self.assertGreaterEqual(self.span(), long["ms"])


class HostileResults(InBrowser):
    def test_become_neither_markup_nor_script(self):
        page = self.open(FOLDER / "hostile.html")
        self.assertEqual(page.evaluate("document.images.length"), 0)
        self.assertEqual(page.evaluate("typeof window.harmed"), "undefined")
        self.assertEqual(page.evaluate("document.scripts.length"), self.open().evaluate("document.scripts.length"))
        self.assertEqual(page.complaints(), [], "a script that the policy stopped would be here")
        self.assertEqual(page.requests(), [])
        self.assertIn("</script><script>window.harmed=1", page.evaluate("document.querySelector('#method').textContent"))

    def test_are_shown_as_they_are_in_tooltips(self):
        page = self.open(FOLDER / "hostile.html")
        x, y = self.centre(page, "document.querySelector('figure[data-spec=dropmap] .plot .role-mark.mark-rect path')")
        self.assertIn("</script>", self.tooltip_at(page, x, y))
        self.assertEqual(page.evaluate("document.images.length"), 0)

    def test_do_not_widen_the_page(self):
        page = self.open(FOLDER / "hostile.html", width=360)
        self.assertEqual(page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth"), 0)


class LargeRun(InBrowser):
    """10,000 lookups for each transport."""

    def test_stays_small(self):
        self.assertLess((FOLDER / "large.html").stat().st_size, 5_000_000)

    def test_loads_soon(self):
        seconds = []
        for _ in range(3):  # another program may hold the machine back once
            page = self.browser.page()
            seconds.append(page.load(str(FOLDER / "large.html")))
            page.wait_until("document.querySelector('figure.chart').dataset.drawn")
            page.close()
        self.assertLess(min(seconds), 2, seconds)

    def test_keeps_the_tail(self):
        page = self.open(FOLDER / "large.html")
        points = page.evaluate("JSON.parse(document.querySelector('figure[data-spec=tail] script.data').textContent).points")
        slowest = [p for p in points if not p["interval"] and p["share"] <= 0.00011]
        self.assertEqual(len({p["transport"] for p in slowest}), len({p["transport"] for p in points}))


class OneExperiment(InBrowser):
    def test_has_its_sections(self):
        for name, ids in {"packets": ["transports", "accounting", "ladder", "method"], "pq": ["key-exchange", "method"],
                          "warm": ["warm", "method"], "loss": ["loss", "accounting", "ladder", "method"],
                          "dropmap": ["dropmap", "method"]}.items():
            page = self.open(FOLDER / f"{name}.html")
            self.assertEqual(page.evaluate("[...document.querySelectorAll('main > section[id]')].map(s => s.id)"), ids, name)
            self.assertEqual(page.complaints(), [], name)


if __name__ == "__main__":
    unittest.main()
