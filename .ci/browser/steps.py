"""What tests say about a page, in one place."""
import re
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import expect


def hits(page):
    """Returns the ids of the hits, in their order."""
    return page.locator("#main .hit").evaluate_all("all => all.map((hit) => hit.id)")


def total(page):
    """Returns the number in the heading of the hits."""
    return int(re.search(r"[\d,]+", page.locator("#total").text_content())[0].replace(",", ""))


def parameters(page):
    return parse_qs(urlsplit(page.url).query, keep_blank_values=True)


def has(page, **wanted):
    """Waits until the address holds these parameters; None stands for absent. Names are written with _ for dots."""
    wanted = {name.replace("_", "."): value for name, value in wanted.items()}

    def holds(url):
        given = parse_qs(urlsplit(url).query, keep_blank_values=True)
        return all(given.get(name) == (None if value is None else [str(value)]) for name, value in wanted.items())

    page.wait_for_url(holds)


def settled(page):
    """Waits until nothing is asked for."""
    expect(page.locator("body")).not_to_have_attribute("aria-busy", "true")


def stay(page):
    """Marks the document, so that `stayed` tells whether it was loaded anew."""
    page.evaluate("window.marked = true")


def stayed(page):
    return page.evaluate("window.marked === true")


def focused(page):
    """Describes what has the focus."""
    return page.evaluate(
        "(() => { const on = document.activeElement; return on === document.body ? 'body' : on.id ? '#' + on.id"
        " : on.closest('.hit')?.id ? '#' + on.closest('.hit').id : on.outerHTML.slice(0, 200); })()"
    )


def top(locator):
    return locator.bounding_box()["y"]


def in_sight(locator):
    """Waits until a part of something is on the screen."""
    expect(locator).to_be_in_viewport()


def colour(locator, property):
    return locator.evaluate(f"(on) => getComputedStyle(on)[{property!r}]")


def luminance(rgb):
    """Returns how bright a computed colour is, from 0 to 1."""
    red, green, blue = (int(part) for part in re.findall(r"\d+", rgb)[:3])
    return (0.2126 * red + 0.7152 * green + 0.0722 * blue) / 255


def messages(page):
    return page.locator(".message").evaluate_all("all => all.map((message) => message.id)")
