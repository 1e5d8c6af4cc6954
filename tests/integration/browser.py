"""Opens a page in a headless Chromium, and records its drawing, its errors and its network requests."""
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import unittest

DEBIAN_PYTHON = '/usr/bin/python3'


def has_selenium(python):
    return os.path.exists(python) and subprocess.run(
        [python, '-c', 'import selenium'], capture_output=True).returncode == 0


if importlib.util.find_spec('selenium') is None and has_selenium(DEBIAN_PYTHON):
    os.execv(DEBIAN_PYTHON, [DEBIAN_PYTHON, '-B', *sys.argv])


def why_no_browser():
    if importlib.util.find_spec('selenium') is None:
        return 'no Selenium (Debian: python3-selenium)'
    for program, package in (('chromium', 'chromium'), ('chromedriver', 'chromium-driver')):
        if not shutil.which(program):
            return f'no {program} (Debian: {package})'
    return None


# Computes the contrast of two colors, as WCAG 2 defines it.
CONTRAST = '''
const channel = (c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
const luminance = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
const rgba = (text) => text.match(/[\\d.]+/g).map(Number);
const contrast = (one, other) => {
  const [a, b] = [luminance(one), luminance(other)];
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
};
'''

# Lists every visible text with its background.
CONTRASTS = CONTRAST + '''
const behind = (element) => {
  for (; element; element = element.parentElement) {
    const color = rgba(getComputedStyle(element).backgroundColor);
    if (color.length < 4 || color[3] === 1) return color;
  }
  return [255, 255, 255];
};
const found = [];
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const element = walker.currentNode.parentElement;
  if (!walker.currentNode.data.trim() || !element.checkVisibility()) continue;
  found.push([contrast(rgba(getComputedStyle(element).color), behind(element)), walker.currentNode.data.slice(0, 40)]);
}
return found;
'''


class Browser:
    def __init__(self):
        from selenium import webdriver
        from selenium.webdriver.chrome.options import Options
        from selenium.webdriver.chrome.service import Service
        reason = why_no_browser()
        if reason:
            raise unittest.SkipTest(reason)
        options = Options()
        for argument in ('--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'):
            options.add_argument(argument)
        options.set_capability('goog:loggingPrefs', {'browser': 'ALL', 'performance': 'ALL'})
        self.driver = webdriver.Chrome(service=Service(shutil.which('chromedriver')), options=options)

    def quit(self):
        self.driver.quit()

    def forget(self):
        """An open page, with its errors and requests."""
        self.driver.get('about:blank')
        self.complaints()
        self.requests()

    def open(self, path, width=1280, scheme='light'):
        command = self.driver.execute_cdp_cmd
        command('Emulation.setDeviceMetricsOverride',
                {'width': width, 'height': 900, 'deviceScaleFactor': 1, 'mobile': False})
        command('Emulation.setEmulatedMedia',
                {'features': [{'name': 'prefers-color-scheme', 'value': scheme}]})
        self.driver.get(f'file://{path}')

    def js(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def find(self, selector):
        return self.driver.find_element('css selector', selector)

    def find_all(self, selector):
        return self.driver.find_elements('css selector', selector)

    def click(self, selector):
        """Clicks like a reader: fails if something else is in front."""
        element = self.find(selector)
        self.js('arguments[0].scrollIntoView({block: "center"})', element)
        element.click()
        return element

    def choose(self, selector, value):
        from selenium.webdriver.support.ui import Select
        Select(self.find(selector)).select_by_value(value)

    def texts(self, selector):
        found = self.js('return [...document.querySelectorAll(arguments[0])].map((e) => e.innerText)', selector)
        return [' '.join(text.split()) for text in found]

    def press(self, *keys):
        """Sends keys to the element with the focus."""
        from selenium.webdriver.common.action_chains import ActionChains
        from selenium.webdriver.common.keys import Keys
        for key in keys:
            ActionChains(self.driver).send_keys(getattr(Keys, key)).perform()

    def save_to(self, directory):
        self.driver.execute_cdp_cmd('Browser.setDownloadBehavior', {'behavior': 'allow', 'downloadPath': str(directory)})

    def complaints(self):
        return [entry['message'] for entry in self.driver.get_log('browser')]

    def requests(self):
        """Returns addresses that were requested since the last call, except those of the page's own bytes and about:."""
        messages = [json.loads(entry['message'])['message']
                    for entry in self.driver.get_log('performance')]
        addresses = [message['params']['request']['url'] for message in messages
                     if message['method'] == 'Network.requestWillBeSent']
        return [address for address in addresses if not address.startswith(('data:', 'blob:', 'about:'))]

    def widths(self):
        """Returns the widths of the document and of its visible part."""
        return self.js('return [document.documentElement.scrollWidth, innerWidth]')

    def contrasts(self):
        return self.js(CONTRASTS)

    def contrast(self, one, other):
        """Returns the contrast of two custom properties of the style sheet."""
        return self.js(CONTRAST + '''
            const colorOf = (name) => {
              const probe = document.body.appendChild(document.createElement("span"));
              probe.style.color = `var(${name})`;
              const found = rgba(getComputedStyle(probe).color);
              probe.remove();
              return found;
            };
            return contrast(colorOf(arguments[0]), colorOf(arguments[1]));''', one, other)
