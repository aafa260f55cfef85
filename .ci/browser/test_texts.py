"""Texts of every kind: other scripts, markup that must stay text, and sizes beyond reason."""
from urllib.parse import quote

import pytest
from playwright.sync_api import expect
from steps import has, hits, in_sight, settled, total

# Elements that a page may have, and bytes that it may weigh, whatever the archive holds.
ELEMENTS_MAX = 20_000
BYTES_MAX = 2_500_000


@pytest.mark.parametrize(("query", "name"), [("时区", None), ("🍒", "emoji"), ("樱桃", "emoji"), ("🍒 樱桃", "emoji")])
def test_chinese_and_emoji_are_found_typed_and_by_address(visit, ids, query, name):
    typed = visit()
    typed.locator("#q").focus()
    typed.keyboard.insert_text(query)
    has(typed, q=query)
    linked = visit(f"/?q={quote(query)}")
    wanted = f"hit-{ids[name]}" if name else "hit-935"
    for page in [typed, linked]:
        settled(page)
        expect(page.locator("#q")).to_have_value(query)
        assert wanted in hits(page)
        marks = page.locator(f"#{wanted} .snippet mark").all_text_contents()
        assert "".join(marks) and all(mark in query for mark in marks), marks
    linked.locator(f"#{wanted} a.open").click()
    has(linked, open=wanted.removeprefix("hit-"))
    in_sight(linked.locator(".message[aria-current]"))
    assert set("".join(linked.locator(".message[aria-current] mark").all_text_contents())) == set(query.replace(" ", ""))


def test_what_an_input_method_composes_is_not_searched_halfway(visit):
    page = visit("/?q=lock")
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.locator("#q").focus()
    page.locator("#q").select_text()
    method = page.context.new_cdp_session(page)
    for composed in ["s", "shi", "shi'qu"]:
        method.send("Input.imeSetComposition", {"text": composed, "selectionStart": len(composed), "selectionEnd": len(composed)})
    expect(page.locator("#q")).to_have_value("shi'qu")
    method.send("Input.insertText", {"text": "时区"})
    expect(page.locator("#q")).to_have_value("时区")
    has(page, q="时区")
    assert not [address for address in asked if "shi" in address]


@pytest.mark.parametrize("script", [True, False], ids=["script", "plain"])
@pytest.mark.parametrize("word", ["hostilesaid", "hostilethought", "hostiledid", "hostilesaw"])
def test_markup_in_a_message_is_shown_as_text(visit, ids, word, script):
    page = visit(f"/?q={word}", script=script)
    id = ids["hostile tool" if word == "hostilesaw" else "hostile"]
    expect(page.locator("h2", has_text="<script>window.hurt = 1</script>").first).to_be_visible()
    assert "<" in page.locator(f"#hit-{id} .snippet").text_content()
    page.locator(f"#hit-{id} a.open").click()
    has(page, open=id)
    shown = page.locator(f"#m{id}").text_content()
    assert "<img src=x onerror=" in shown and "javascript:window.hurt=3" in shown and "</article></main>" in shown
    for address in [page.url, f"/messages/{id}", "/sessions/20260701_100000_hostile", "/sessions", "/", "/?q=%3Cscript%3Ewindow.hurt%3D6%3C%2Fscript%3E"]:
        page.goto(address)
        assert page.evaluate("window.hurt") is None
        assert page.locator("main img, main style, #reader img, main script, #reader script, .message svg").count() == 0
        assert page.locator("a").evaluate_all("all => all.filter((a) => new URL(a.href.baseVal ?? a.href, location.href).origin !== location.origin).length") == 0


def test_markup_in_the_name_of_a_tool_is_text_among_the_filters(visit, ids):
    page = visit("/?q=hostilesaw&tool=" + quote("<img src=x onerror=window.hurt=5>"))
    expect(page.locator("#filters", has_text="<img src=x onerror=window.hurt=5>")).to_be_visible()
    assert page.evaluate("window.hurt") is None
    box = page.locator("#filters input[name='tool']:checked")
    assert box.get_attribute("value") == "<img src=x onerror=window.hurt=5>"


def weigh(page, address):
    """Returns how many bytes an address sends and how many elements they become."""
    answer = page.goto(address)
    assert answer.status == 200
    return len(answer.body()), page.evaluate("document.querySelectorAll('*').length")


@pytest.mark.parametrize("address", [
    "/sessions/20260701_120000_lengthy", "/sessions/20260701_120000_lengthy?from=1500",
    "/?q=lengthy", "/?q=lengthy&limit=1000", "/?q=lengthy&open={long middle}&before=100000&after=100000",
    "/messages/{long middle}?before=100000&after=100000",
    "/?q=megabyteword", "/?q=megabyteword&open={megabyte}", "/messages/{megabyte}", "/sessions/20260701_130000_megabyte",
    "/?q=so", "/?q=lock+order+deploy+test&explain=true",
])
def test_pages_stay_small_whatever_they_show(visit, ids, address):
    page = visit()
    sent, elements = weigh(page, address.format(**ids))
    assert sent <= BYTES_MAX and elements <= ELEMENTS_MAX, (sent, elements)


def test_a_message_of_a_megabyte_is_cut_among_others_and_whole_by_itself(visit, ids):
    page = visit("/sessions/20260701_130000_megabyte")
    message = page.locator(f"#m{ids['megabyte']}")
    assert len(message.text_content()) < 10_000
    message.locator("summary").click()
    message.get_by_role("link", name="more").click()
    page.wait_for_url(f"**/messages/{ids['megabyte']}")
    expect(page.locator(f"#saw-{ids['megabyte']}")).to_be_visible()
    page.keyboard.press("/")
    expect(page.locator("#q")).to_be_focused()


def test_a_hit_in_a_megabyte_opens_and_closes(visit, ids):
    page = visit("/?q=megabyteword")
    assert total(page) == 1
    page.locator("#main .hit a.open").click()
    has(page, open=ids["megabyte"])
    expect(page.locator(f"#m{ids['megabyte']} mark").first).to_be_visible()
    page.get_by_label("Close the conversation").click()
    has(page, open=None)
