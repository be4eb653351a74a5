/* What a page does once its formulas stand: equations that are still too wide shrink, and scroll only after that;
   what scrolls can be reached by keys; a picture opens at its full size. */
(function () {
  "use strict";
  const SMALLEST = 0.75 / 0.85;  // a phone's equations are at 85 % already, in book.css
  const PHONE = "(max-width: 768px)";

  const tooWide = (box) => box.scrollWidth > box.clientWidth + 1;

  /* One equation in its column: as it is, smaller, or scrolling with a name and a place in the order of the Tab key. */
  function fit(box) {
    const phone = matchMedia(PHONE).matches, smallest = phone ? SMALLEST : 0.85;
    const full = parseFloat(box.dataset.size || (box.dataset.size = parseFloat(box.style.fontSize) || 100));
    box.classList.remove("wide", "at-end");
    for (const name of ["tabindex", "role", "aria-label"]) box.removeAttribute(name);
    box.style.fontSize = full + "%";
    for (let share = 1; tooWide(box) && share > smallest;) {
      share = Math.max(smallest, Math.min(share - 0.02, share * box.clientWidth / box.scrollWidth));
      box.style.fontSize = full * share + "%";
    }
    if (!tooWide(box)) return;
    box.classList.add("wide");
    if (!tooWide(box)) return box.classList.remove("wide");
    box.tabIndex = 0;
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", "Equation, scrolls sideways");
    box.onscroll = () => box.classList.toggle("at-end", box.scrollLeft + box.clientWidth > box.scrollWidth - 4);
  }

  /* Code, outputs and tables take the focus where they scroll, and only there. */
  function reach() {
    for (const box of document.querySelectorAll("article pre, article .pst-scrollable-table-container, article .ledger")) {
      if (tooWide(box)) box.tabIndex = 0; else box.removeAttribute("tabindex");
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
    document.addEventListener("click", (event) => event.target.closest(".toggle-button") && setTimeout(fitAll, 400));
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
        close.type = "button";
        close.textContent = "Close";
        dialog.setAttribute("aria-label", image.alt);
        dialog.replaceChildren(close, copy);
        dialog.showModal();
      });
    }
  }

  /* Names and landmarks that the theme leaves out. */
  function name() {
    const home = document.querySelector(".sidebar-primary-items__start > .sidebar-primary-item:has(.navbar-brand)");
    home?.setAttribute("role", "navigation");
    home?.setAttribute("aria-label", "Front page");
  }

  async function start() {
    name();
    enlarge();
    follow();
    await window.MathJax?.startup?.promise;
    // the fonts of the formulas are asked for when they are laid out
    document.body.getBoundingClientRect();
    await new Promise((go) => requestAnimationFrame(() => setTimeout(go)));
    await document.fonts.ready;
    fitAll();
    // boxes that fold, and fonts asked for last, still move a line or two
    for (let before = "", now = "-", round = 0; now !== before && round < 8; round++) {
      await new Promise((go) => setTimeout(go, 500));
      fitAll();
      [before, now] = [now, [...equations()].map((box) => box.scrollWidth + "/" + box.clientWidth).join()];
    }
    document.documentElement.dataset.fitted = "yes";
  }

  if (document.readyState === "complete") start(); else window.addEventListener("load", start);
})();
