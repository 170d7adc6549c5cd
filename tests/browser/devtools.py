"""A headless Chromium, driven over the pipe of its DevTools protocol: JSON messages that end with a zero octet.

https://chromedevtools.github.io/devtools-protocol/ describes the methods and events.
"""

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

PROGRAM = "chromium-headless-shell"
LIMIT_S = 30  # far more than anything here takes


class Browser:
    """One process, with a profile of its own that goes with it."""

    def __init__(self):
        if not shutil.which(PROGRAM):
            raise RuntimeError(f"{PROGRAM} is not installed; it belongs to the test tools (./dev --with-test-tools)")
        self._profile = tempfile.TemporaryDirectory(prefix="doxlab-browser-", ignore_cleanup_errors=True)
        to_browser, self._write = os.pipe()
        self._read, from_browser = os.pipe()
        # The browser reads descriptor 3 and writes 4. High numbers on the way there, since each may be the other's now.
        ends = [fcntl.fcntl(fd, fcntl.F_DUPFD, 10) for fd in (to_browser, from_browser)]
        self._process = subprocess.Popen(
            ["bash", "-c", f'exec 3<&{ends[0]} 4>&{ends[1]}; exec "$@"', "browser", PROGRAM, "--remote-debugging-pipe",
             "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", f"--user-data-dir={self._profile.name}"],
            pass_fds=ends, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for fd in (to_browser, from_browser, *ends):
            os.close(fd)
        self._number = 0
        self._buffer = b""
        self._pages = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            self.call("Browser.close")
            self._process.wait(10)
        except (RuntimeError, OSError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        os.close(self._write)
        os.close(self._read)
        self._profile.cleanup()

    def page(self, width=1440, height=900, dark=False, javascript=True):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session, target)
        self._pages[session] = page
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.call(f"{domain}.enable")
        page.resize(width, height)
        page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        if not javascript:
            page.call("Emulation.setScriptExecutionDisabled", value=True)
        return page

    def call(self, method, session=None, **parameters):
        self._number += 1
        number = self._number
        message = {"id": number, "method": method, "params": parameters}
        if session:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._write, data):]
        end = time.monotonic() + LIMIT_S
        while True:
            answer = self._receive(end)
            if answer.get("id") == number:
                break
            self._take_event(answer)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def wait_for_event(self, session, method):
        end = time.monotonic() + LIMIT_S
        while True:
            event = self._receive(end)
            self._take_event(event)
            if event.get("method") == method and event.get("sessionId") == session:
                return event["params"]

    def _take_event(self, event):
        if page := self._pages.get(event.get("sessionId")):
            page.events.append(event)

    def _receive(self, end):
        while b"\0" not in self._buffer:
            if not select.select([self._read], [], [], max(0, end - time.monotonic()))[0]:
                raise RuntimeError("the browser does not answer")
            data = os.read(self._read, 1 << 20)
            if not data:
                raise RuntimeError("the browser ended")
            self._buffer += data
        message, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(message)


class Page:
    def __init__(self, browser, session, target):
        self._browser = browser
        self._session = session
        self._target = target
        self.events = []

    def call(self, method, **parameters):
        return self._browser.call(method, self._session, **parameters)

    def close(self):
        self._browser.call("Target.closeTarget", targetId=self._target)

    def resize(self, width, height=900):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600)

    def load(self, path):
        """Loads a file and waits for its load event; gives the seconds this took."""
        begin = time.monotonic()
        self.call("Page.navigate", url="file://" + path)
        self._browser.wait_for_event(self._session, "Page.loadEventFired")
        return time.monotonic() - begin

    def evaluate(self, expression):
        """The value of a JavaScript expression, of a promise what it resolves to."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"].get("exception", {}).get("description", str(answer)))
        return answer["result"].get("value")

    def wait_until(self, expression):
        end = time.monotonic() + LIMIT_S
        while not self.evaluate(f"!!({expression})"):
            if time.monotonic() > end:
                raise RuntimeError(f"never true: {expression}")
            time.sleep(0.05)

    def point_at(self, x, y, kind="mouseMoved", **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x, y):
        self.point_at(x, y)
        for kind in ("mousePressed", "mouseReleased"):
            self.point_at(x, y, kind, button="left", clickCount=1)

    def press(self, key):
        text = {"text": key} if len(key) == 1 else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)

    def screenshot(self, path, whole=True):
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def requests(self):
        """Addresses of everything that was asked for, but the page itself and what it holds."""
        urls = [e["params"]["request"]["url"] for e in self.events if e["method"] == "Network.requestWillBeSent"]
        return [url for url in urls[1:] if not url.startswith(("data:", "blob:"))]

    def complaints(self):
        """What went to the console, what was thrown, what the browser logged."""
        out = []
        for event in self.events:
            parameters = event["params"]
            if event["method"] == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert"):
                out.append(" ".join(str(a.get("value", a.get("description"))) for a in parameters["args"]))
            if event["method"] == "Runtime.exceptionThrown":
                out.append(parameters["exceptionDetails"].get("exception", {}).get("description", "exception"))
            if event["method"] == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
                out.append(parameters["entry"]["text"])
        return out
