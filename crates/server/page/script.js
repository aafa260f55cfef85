// Saves the reload: fetches the next address and puts in the regions that differ. Every page is whole
// without this, and nothing is kept here that the address does not hold.
"use strict";

const regions = (page) => [...page.querySelectorAll("[data-region]")];
const scripted = {
  served: new Map(), // regions as the server sent them, by name
  at: new URL(location.href), // the address that is shown
  asking: null, // what ends the request under way
  typed: null, // the timer of the last keystroke
  waiting: false, // whether there is something new that is not shown yet
  source: null, // the stream of events
  state: null, // the state of the index that the last event told of
  later: null, // the timer to listen again
};

/* --- what the server sent, and what differs from it */

/** Keeps each region as it was served: details that were unfolded and times that were rewritten do not count. One
 *  that was left alone stays what it was, and differs again the next time. */
function remember(page, leftAlone = []) {
  const served = (region) => (leftAlone.includes(nameOf(region)) ? scripted.served.get(nameOf(region)) : region.innerHTML);
  scripted.served = new Map(regions(page).map((region) => [nameOf(region), served(region)]));
}

const nameOf = (region) => region.id || region.className;

/** Tells whether somebody types or drags in a region: nothing is taken away under their hands. */
function isInUse(region) {
  const field = document.activeElement;
  return region.contains(field) && field.matches("input:not([type=checkbox]), select");
}

/** Puts another page in place of this one, leaving alone what is the same. */
function show(next, isFresh) {
  document.title = next.title;
  const kept = new Map(regions(document).map((region) => [nameOf(region), region]));
  const coming = regions(next);
  const leftAlone = isFresh ? [...kept.keys()].filter((name) => isInUse(kept.get(name))) : [];
  const isAlike = next.body.dataset.page === document.body.dataset.page
    && coming.length === kept.size && coming.every((region) => kept.has(nameOf(region)));
  const focused = keyOf(document.activeElement);
  const known = new Set([...document.querySelectorAll(".hit, .message")].map((entry) => entry.id));
  if (isAlike) {
    const differs = (region) => scripted.served.get(nameOf(region)) !== region.innerHTML;
    for (const region of coming.filter((region) => differs(region) && !leftAlone.includes(nameOf(region)))) {
      fold(kept.get(nameOf(region)), region);
      kept.get(nameOf(region)).replaceChildren(...document.importNode(region, true).childNodes);
    }
  } else {
    document.body.dataset.page = next.body.dataset.page;
    for (const id of ["page", "freshness"]) {
      const there = document.getElementById(id);
      there.replaceWith(document.importNode(next.getElementById(id), true));
    }
    const nav = document.querySelector(".top nav");
    for (const link of nav.querySelectorAll("a")) {
      const same = next.querySelector(`.top nav a[href="${link.getAttribute("href")}"]`);
      if (same?.hasAttribute("aria-current")) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
  }
  remember(next, leftAlone);
  const box = document.getElementById("q");
  if (document.activeElement !== box) box.value = next.getElementById("q").value;
  refocus(focused);
  dress();
  if (isFresh) {
    const isNew = (entry) => !known.has(entry.id);
    const added = [...document.querySelectorAll(".hit, .message")].filter(isNew);
    added.forEach((entry) => entry.classList.add("fresh"));
    if (added.length > 0) say(`${added.length} new`);
  } else {
    say(document.getElementById("total")?.textContent ?? document.title);
  }
}

/** Takes over which details the reader has unfolded. */
function fold(old, fresh) {
  for (const details of fresh.querySelectorAll("details[id]")) {
    const same = old.querySelector(`#${CSS.escape(details.id)}`);
    if (same) details.open = same.open;
  }
}

function keyOf(element) {
  if (!element || element === document.body) return null;
  if (element.id) return `#${CSS.escape(element.id)}`;
  const entry = element.closest(".hit, .message, details[id]");
  if (entry?.id && element.matches("a.open")) return `#${CSS.escape(entry.id)} a.open`;
  if (element.name) return `[name="${CSS.escape(element.name)}"]` + (element.type === "checkbox" ? `[value="${CSS.escape(element.value)}"]` : "");
  const href = element.getAttribute("href");
  return href ? `a[href="${CSS.escape(href)}"]` : null;
}

function refocus(key) {
  if (key && document.activeElement === document.body) document.querySelector(key)?.focus({ preventScroll: true });
}

/** Writes times as the reader's clock has them. */
function dress() {
  const format = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
  for (const time of document.querySelectorAll("time[datetime]:not([title])")) {
    time.title = time.dateTime;
    time.textContent = format.format(new Date(time.dateTime));
  }
}

function say(text) {
  document.getElementById("said").textContent = text;
}

/* --- going somewhere */

async function ask(address) {
  scripted.asking?.abort();
  const asking = (scripted.asking = new AbortController());
  document.body.setAttribute("aria-busy", "true");
  try {
    const answer = await fetch(address, { signal: asking.signal, headers: { Accept: "text/html" } });
    if (!answer.headers.get("content-type")?.startsWith("text/html")) return null;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    return { page, moved: answer.redirected ? new URL(answer.url) : null };
  } finally {
    if (scripted.asking === asking) {
      scripted.asking = null;
      document.body.removeAttribute("aria-busy");
    }
  }
}

/** Goes to an address as a link does. What cannot be shown here is left to the browser. */
async function go(address, { replace = false, isFresh = false, stay = false, scroll = 0 } = {}) {
  let url = new URL(address, location.href);
  const from = scripted.at;
  const wasOpen = from.searchParams.get("open");
  const mark = isFresh ? held() : anchored();
  let next;
  try {
    next = await ask(url);
  } catch (error) {
    if (error.name === "AbortError") return;
    if (!isFresh) location.assign(url);
    return;
  }
  if (!next) return location.assign(url);
  url = next.moved ?? url;
  scripted.at = url;
  if (isFresh) {
    show(next.page, true);
    return mark?.();
  }
  if (!replace && url.href !== location.href) {
    history.replaceState({ scroll: scrollY }, "");
    history.pushState(null, "", url);
  } else if (url.href !== location.href) {
    history.replaceState(null, "", url);
  }
  show(next.page, false);
  if (stay) mark?.();
  else if (url.hash && document.getElementById(url.hash.slice(1))) reach(document.getElementById(url.hash.slice(1)));
  else if (bare(url) !== bare(from)) scrollTo(0, scroll);
  else if (url.searchParams.has("open")) reach(document.querySelector(".message[aria-current]"));
  else document.getElementById(`hit-${wasOpen}`)?.scrollIntoView({ block: "nearest" });
  if (document.activeElement === document.body) hold(url, wasOpen);
}

/** Gives the focus to what took the place of what had it: the open message, or the hit that was open. */
function hold(url, wasOpen) {
  const open = document.querySelector("#reader .message[aria-current]");
  const hit = document.querySelector(`#hit-${CSS.escape(wasOpen ?? "")} a.open`);
  (url.searchParams.has("open") ? open : hit)?.focus({ preventScroll: true });
}

/** Returns an address without what is open beside the hits. */
function bare(url) {
  const copy = new URL(url);
  for (const name of ["open", "before", "after"]) copy.searchParams.delete(name);
  return copy.pathname + copy.search;
}

/** Brings a message into view: in its pane where that scrolls by itself, else on the page. */
function reach(message) {
  const pane = document.getElementById("reader");
  if (!message) return;
  if (pane?.contains(message) && pane.scrollHeight > pane.clientHeight + 1) {
    pane.scrollTop += message.getBoundingClientRect().top - pane.getBoundingClientRect().top - pane.clientHeight / 5;
  } else {
    message.scrollIntoView({ block: "center" });
  }
}

/** Returns what puts the open message back to where it is on the screen, when more is shown around it. */
function anchored() {
  const place = () => document.querySelector(".message[aria-current]")?.getBoundingClientRect().top;
  const before = place();
  return before === undefined ? null : () => {
    const moved = place() - before;
    const pane = document.getElementById("reader");
    if (pane && pane.scrollHeight > pane.clientHeight + 1) pane.scrollTop += moved;
    else scrollBy(0, moved);
  };
}

/** Returns what puts the entry that is read back to where it is, when others come before it. What is new shows
 *  at the very top. */
function held() {
  if (scrollY === 0) return null;
  const head = document.querySelector(".top").getBoundingClientRect().bottom;
  const isInSight = (entry) => entry.checkVisibility() && entry.getBoundingClientRect().bottom > head;
  const read = [...document.querySelectorAll("#main .hit, #main .message")].find(isInSight);
  const before = read?.getBoundingClientRect().top;
  return read && (() => {
    const again = document.getElementById(read.id);
    if (again) scrollBy(0, again.getBoundingClientRect().top - before);
  });
}

/** Writes what the form holds as an address, without what is as usual. */
function formed() {
  const form = document.getElementById("query");
  const address = new URL("/", location.href);
  for (const field of form.elements) {
    if (!field.name || field.value === "" || (field.type === "checkbox" && !field.checked)) continue;
    if (field.dataset.usual !== undefined && Number(field.value) === Number(field.dataset.usual)) continue;
    address.searchParams.append(field.name, field.value);
  }
  return address;
}

function search(replace) {
  clearTimeout(scripted.typed);
  go(formed(), { replace });
}

document.addEventListener("submit", (event) => {
  if (event.target.id !== "query") return;
  event.preventDefault();
  search(false);
  if (matchMedia("(pointer: coarse)").matches) document.activeElement?.blur();
});

document.addEventListener("change", (event) => {
  if (event.target.form?.id === "query" && event.target.id !== "q") search(false);
});

document.addEventListener("input", (event) => {
  const field = event.target;
  if (field.type === "range") field.nextElementSibling.textContent = Number(field.value).toFixed(2);
  if (field.id === "q" && !event.isComposing) typed();
});

// The end of a composition is no input of its own.
document.addEventListener("compositionend", (event) => { if (event.target.id === "q") typed(); });

/** Searches when the typing pauses. The first search is a step back, further letters are not. */
function typed() {
  clearTimeout(scripted.typed);
  const isSearch = () => document.body.dataset.page === "search" && location.search !== "";
  scripted.typed = setTimeout(() => search(isSearch()), 250);
}

document.addEventListener("click", (event) => {
  const link = event.target.closest?.("a[href]");
  if (event.target.id === "help-button") return document.getElementById("keys").showModal();
  const isPlain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
  const href = link?.href.baseVal ?? link?.href;
  if (!link || !isPlain || event.defaultPrevented) return;
  const url = new URL(href, location.href);
  if (url.origin !== location.origin || link.classList.contains("skip") || url.pathname.startsWith("/api/")) return;
  event.preventDefault();
  go(url, { stay: link.hasAttribute("data-keep") });
});

addEventListener("popstate", (event) => go(location.href, { replace: true, scroll: event.state?.scroll ?? 0 }));

/* --- the keyboard */

const entries = () => {
  const hits = [...document.querySelectorAll("#main .hit a.open")].filter((link) => link.checkVisibility());
  return hits.length > 0 ? hits : [...document.querySelectorAll(".message")];
};

function step(by) {
  const all = entries();
  const at = all.findIndex((entry) => entry === document.activeElement || entry.contains(document.activeElement));
  const current = at >= 0 ? at : all.findIndex((entry) => entry.closest("[aria-current]"));
  const next = all[Math.min(Math.max(current + by, 0), all.length - 1)];
  next?.focus({ preventScroll: true });
  next?.closest(".hit, .message")?.scrollIntoView({ block: "nearest" });
}

const keys = {
  "/": () => { const box = document.getElementById("q"); box.focus(); box.select(); },
  j: () => step(1),
  k: () => step(-1),
  n: () => document.querySelector(".pager [rel=next]")?.click(),
  p: () => document.querySelector(".pager [rel=prev]")?.click(),
  "?": () => document.getElementById("keys").showModal(),
  Escape: () => document.querySelector("#reader .close")?.click(),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (document.getElementById("keys").open) return;
  const isTyping = event.target.matches("input:not([type=checkbox], [type=range]), select, textarea");
  if (isTyping) {
    // The browser's own would empty the box.
    if (event.key === "Escape") { event.preventDefault(); event.target.blur(); }
    if (event.key === "ArrowDown" && event.target.id === "q") { event.preventDefault(); step(1); }
    return;
  }
  const act = keys[event.key];
  if (!act) return;
  event.preventDefault();
  act();
});

/* --- what is written meanwhile */

/** Shows the same address anew when the mirror has taken something in; later where that would disturb. */
function refresh() {
  if (scripted.asking || document.getElementById("keys").open) {
    scripted.waiting = true;
    return;
  }
  scripted.waiting = false;
  go(location.href, { isFresh: true });
}

/** Hears of commits while the page is in sight: a browser has few connections for all of its tabs. */
function listen() {
  scripted.source?.close();
  scripted.source = null;
  clearTimeout(scripted.later);
  if (document.hidden) return;
  const source = (scripted.source = new EventSource("/api/v1/events"));
  source.addEventListener("index", (event) => {
    if (scripted.state !== null && scripted.state !== event.lastEventId) refresh();
    scripted.state = event.lastEventId;
  });
  // The browser comes back by itself, unless it was told not to.
  source.onerror = () => { if (source.readyState === EventSource.CLOSED) scripted.later = setTimeout(listen, 5000); };
}

document.addEventListener("visibilitychange", listen);
setInterval(() => { if (scripted.waiting) refresh(); }, 1000);

document.documentElement.classList.add("js");
document.getElementById("help-button").hidden = false;
remember(document);
dress();
reach(document.querySelector(location.hash ? `#${CSS.escape(location.hash.slice(1))}` : ".message[aria-current]"));
listen();
