/* What a page does once its formulas stand: equations that are still too wide shrink, and scroll only after that;
   what scrolls can be reached by keys; a picture opens at its full size. */
(function () {
  "use strict";
  const SMALLEST = 0.85;
  const BOOK = new URL("../", document.currentScript.src).href;

  const tooWide = (box) => box.scrollWidth > box.clientWidth + 1;
  const atEnd = (box) => box.classList.toggle("at-end", box.scrollLeft + box.clientWidth > box.scrollWidth - 4);

  /* One equation in its column: as it is, smaller, or scrolling with a name and a place in the order of the Tab key. */
  function fit(box) {
    const full = parseFloat(box.dataset.size || (box.dataset.size = parseFloat(box.style.fontSize) || 100));
    box.classList.remove("wide", "at-end");
    for (const name of ["tabindex", "role", "aria-label"]) box.removeAttribute(name);
    box.style.fontSize = full + "%";
    for (let share = 1; tooWide(box) && share > SMALLEST;) {
      share = Math.max(SMALLEST, Math.min(share - 0.02, share * box.clientWidth / box.scrollWidth));
      box.style.fontSize = full * share + "%";
    }
    if (!tooWide(box)) return;
    box.classList.add("wide");
    if (!tooWide(box)) return box.classList.remove("wide");
    box.tabIndex = 0;
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", "Equation, scrolls sideways");
    box.onscroll = () => atEnd(box);
  }

  /* Code, outputs and tables take the focus where they scroll, and only there. A table says that it goes on. */
  function reach() {
    for (const box of document.querySelectorAll("article pre, article .output:has(table), article .pst-scrollable-table-container")) {
      if (tooWide(box)) box.tabIndex = 0; else box.removeAttribute("tabindex");
      if (box.tagName === "PRE") continue;
      box.classList.toggle("wide", tooWide(box));
      box.onscroll = () => atEnd(box);
    }
  }

  const equations = () => document.querySelectorAll('div.math > mjx-container[display="true"]');

  function fitAll() {
    for (const box of equations()) if (box.clientWidth) fit(box);
    reach();
  }

  /* A page that changes its width breaks its equations anew. */
  function follow() {
    let width = document.documentElement.clientWidth, timer;
    window.addEventListener("resize", () => {
      clearTimeout(timer);
      timer = setTimeout(async () => {
        if (document.documentElement.clientWidth === width) return;
        width = document.documentElement.clientWidth;
        await window.MathJax?.startup?.document?.rerenderPromise?.();
        fitAll();
      }, 250);
    });
    for (const details of document.querySelectorAll("details")) details.addEventListener("toggle", fitAll);
    // the theme's arrows in the sidebar have no name of their own
    for (const arrow of document.querySelectorAll("li.has-children > details > summary")) {
      arrow.setAttribute("aria-label", "Pages under " + arrow.closest("li").querySelector("a").textContent.trim());
    }
    document.addEventListener("click", (event) => event.target.closest(".toggle-button") && setTimeout(fitAll, 400));
    // on a phone the table of contents has a height when it is opened, by a click that the theme stops
    document.addEventListener("click", (event) => event.target.closest(".primary-toggle") && setTimeout(turn, 50), true);
  }

  /* A tap on a picture opens it over the page; Escape, or another tap, closes it. */
  function enlarge() {
    const dialog = document.createElement("dialog");
    dialog.className = "enlarged";
    document.body.append(dialog);
    dialog.addEventListener("click", () => dialog.close());
    for (const image of document.querySelectorAll("article img:not(a img)")) {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "enlarge";
      button.setAttribute("aria-label", "Enlarge: " + image.alt);
      const shown = image.closest("picture") || image;  // a phone shows another file in it
      shown.replaceWith(button);
      button.append(shown);
      button.addEventListener("click", () => {
        const copy = image.cloneNode(), close = document.createElement("button");
        copy.removeAttribute("style");
        copy.src = image.currentSrc;  // a phone enlarges the panels as it stacks them
        close.type = "button";
        close.textContent = "Close";
        dialog.setAttribute("aria-label", image.alt);
        dialog.replaceChildren(close, copy);
        dialog.showModal();
      });
    }
  }

  /* All statements, by word, by whose they are and by what they say; without this script every row is there. */
  function filterLedger() {
    const rows = [...document.querySelectorAll(".ledger tbody tr")];
    if (!rows.length) return;
    const bar = document.createElement("div"), said = document.createElement("span");
    bar.className = "ledger-filter";
    bar.setAttribute("role", "search");
    said.setAttribute("role", "status");
    const wordOf = (row) => row.cells[1].querySelector(".verdict").textContent;
    const why = (row) => (row.cells[1].textContent.match(/\((.+)\)/) || ["", ""])[1];
    const whose = (row) => row.cells[1].textContent.trim().match(/(\S+)\s*\u00b6?$/)[1];

    function choice(key, name, of) {
      const select = document.createElement("select");
      select.name = key;
      select.setAttribute("aria-label", name);
      select.add(new Option(name, ""));
      for (const value of new Set(rows.map(of).filter(Boolean))) select.add(new Option(value));
      bar.append(select);
      return (row) => !select.value || of(row) === select.value;
    }

    // a keyboard has one hyphen, the texts have dashes and minus signs too
    const plain = (text) => text.toLowerCase().replace(/[\u2010-\u2015\u2212]/g, "-").replace(/\s+/g, " ").trim();
    const search = document.createElement("input");
    search.type = "search";
    search.name = "search";
    search.placeholder = "search";
    search.setAttribute("aria-label", "Search the statements");
    bar.append(search);
    const wanted = [choice("word", "every word", wordOf), choice("why", "every reason", why)];
    wanted.push(choice("of", "everybody's", whose));
    const texts = new Map(rows.map((row) => [row, plain(row.textContent)]));
    wanted.push((row) => texts.get(row).includes(plain(search.value)));

    function show() {
      for (const row of rows) row.hidden = !wanted.every((want) => want(row));
      for (const section of document.querySelectorAll("article section section")) {
        const own = [...section.querySelectorAll(".ledger tbody tr")];
        section.hidden = own.length > 0 && own.every((row) => row.hidden);
      }
      said.textContent = rows.filter((row) => !row.hidden).length + " of " + rows.length + " rows" + refused;
    }

    // the address has what was asked for: to come back to, and to send
    const fields = [...bar.querySelectorAll("input, select")], asked = new URLSearchParams(location.search);
    let refused = "";
    for (const field of fields) {
      const value = asked.get(field.name) || "";
      field.value = value;
      if (field.value !== value) {
        const allowed = [...field.options].map((option) => option.value).filter(Boolean).join(", ");
        refused = "; " + field.name + " must be one of " + allowed + ", got \u201c" + value + "\u201d";
        field.value = "";
      }
    }
    bar.append(said);
    bar.addEventListener("input", () => {
      refused = "";
      show();
      const chosen = new URLSearchParams();
      for (const field of fields) if (field.value) chosen.set(field.name, field.value);
      history.replaceState(history.state, "", location.pathname + (chosen.size ? "?" + chosen : "") + location.hash);
    });
    rows[0].closest("section").before(bar);
    show();
  }

  /* On a phone a row is a paragraph, whose cells are named by the heads of their columns. */
  function label() {
    for (const table of document.querySelectorAll(".cards:not(.hardest) table")) {
      const heads = [...table.querySelectorAll("thead th")].map((head) => head.textContent.trim());
      for (const cell of table.querySelectorAll("tbody td:not(:first-child)")) cell.dataset.head = heads[cell.cellIndex];
    }
  }

  /* The table of contents shows its top, with title and search, where this page's entry is seen from there too; else the
     entry. The theme keeps it as the last page left it. */
  function turn() {
    const here = [...document.querySelectorAll(".bd-sidebar-primary a.current")].pop();
    const bar = here ? here.closest(".bd-sidebar-primary") : document.querySelector(".bd-sidebar-primary");
    if (!bar?.getClientRects().length) return;
    const below = here ? here.getBoundingClientRect().bottom - bar.getBoundingClientRect().top + bar.scrollTop : 0;
    bar.scrollTop = below < bar.clientHeight ? 0 : below - bar.clientHeight / 2;
  }

  /* Names and landmarks that the theme leaves out. */
  function name() {
    const home = document.querySelector(".sidebar-primary-items__start > .sidebar-primary-item:has(.navbar-brand)");
    home?.setAttribute("role", "navigation");
    home?.setAttribute("aria-label", "Front page");
    // the search stays below the title, however far down the contents are
    home?.parentElement.style.setProperty("--title", home.offsetHeight + "px");
    // the corner of a table is no head of anything
    for (const head of document.querySelectorAll("article th")) {
      if (!head.textContent.trim()) head.replaceWith(document.createElement("td"));
    }
  }

  /* Paper is white: a page that is dark on the screen prints in the light. Not every browser tells both ways. */
  function printInTheLight() {
    const root = document.documentElement, media = matchMedia("print");
    let theme = null;
    const turnTo = (paper) => {
      if (paper && theme === null) {
        theme = root.dataset.theme;
        root.dataset.theme = "light";
      } else if (!paper && theme !== null) {
        root.dataset.theme = theme;
        theme = null;
      }
    };
    media.addEventListener("change", () => turnTo(media.matches));
    window.addEventListener("beforeprint", () => turnTo(true));
    window.addEventListener("afterprint", () => turnTo(false));
  }

  /* Formulas near the first screen are set before all others. */
  async function typeset() {
    const all = [...document.querySelectorAll(".math")], end = 1.5 * innerHeight;
    const near = all.filter((box) => box.getClientRects().length && box.getBoundingClientRect().top < end);
    const later = all.filter((box) => !near.includes(box));
    try {
      await window.MathJax?.startup?.promise;
      if (near.length) await window.MathJax?.typesetPromise?.(near);
      document.body.getBoundingClientRect();
      await document.fonts.ready;
    } finally {
      document.documentElement.dataset.set = "yes";
    }
    if (later.length) await window.MathJax?.typesetPromise?.(later);
  }

  /* An address with a place in it: what stands above the place moves until all is set, so it is looked up again, unless
     the reader has moved. */
  function asked() {
    try {
      return decodeURIComponent(location.hash.slice(1));
    } catch {
      return "";  // a "%" that begins no letter
    }
  }
  const place = () => asked() && document.getElementById(asked());

  /* A place that this page has lost: where it stands now, says a list that no other page loads (tools/addresses.py). */
  function leadOn() {
    if (!asked() || place()) return;
    const page = location.href.replace(/[?#].*/, "").slice(BOOK.length).replace(/\.html$/, "") || "index";
    const list = document.createElement("script");
    list.src = BOOK + "_static/moved.js";
    list.onload = () => {
      const there = amemMoved[page]?.[asked()];
      if (there?.includes("#")) location.replace(BOOK + there);
    };
    document.head.append(list);
  }
  let moved = false;
  for (const kind of ["wheel", "touchstart", "keydown", "pointerdown"]) {
    window.addEventListener(kind, () => { moved = true; }, { passive: true, once: true });
  }
  const settle = () => { if (!moved) place()?.scrollIntoView?.({ behavior: "instant" }); };

  async function start() {
    leadOn();
    name();
    label();
    enlarge();
    filterLedger();
    turn();
    follow();
    printInTheLight();
    await set;
    // the fonts of the formulas are asked for when they are laid out
    document.body.getBoundingClientRect();
    await new Promise((go) => requestAnimationFrame(() => setTimeout(go)));
    await document.fonts.ready;
    fitAll();
    settle();
    // boxes that fold, and fonts asked for last, still move a line or two
    for (let before = "", now = "-", round = 0; now !== before && round < 8; round++) {
      await new Promise((go) => setTimeout(go, 500));
      fitAll();
      settle();
      [before, now] = [now, [...equations()].map((box) => box.scrollWidth + "/" + box.clientWidth).join()];
    }
    document.documentElement.dataset.fitted = "yes";
  }

  const set = typeset();
  if (document.readyState === "complete") start(); else window.addEventListener("load", start);
})();
