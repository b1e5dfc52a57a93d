// Makes a complete page handier: tooltips, a filter, sorting, a choice of theme. Nothing depends on it.
"use strict";
const root = document.documentElement;
addEventListener("error", event => { root.dataset.error = event.message; });

// For whoever checks the page: how wide it is, how many rows it shows, that all of it ran.
function ready() {
  root.dataset.scrollWidth = root.scrollWidth;
  root.dataset.innerWidth = innerWidth;
  root.dataset.rows = document.querySelectorAll("table.rows tbody tr").length;
  root.dataset.ready = "true";
}

function theme() {
  const choices = ["auto", "light", "dark"];
  const button = document.querySelector(".theme");
  const set = choice => {
    if (choice === "auto") delete root.dataset.theme; else root.dataset.theme = choice;
    button.querySelector("span").textContent = choice;
  };
  // `#theme=dark` in the address: for links and for pictures of the page.
  set((/[#&]theme=(light|dark)/.exec(location.hash) || [, "auto"])[1]);
  button.hidden = false;
  button.addEventListener("click", () => {
    const now = root.dataset.theme || "auto";
    set(choices[(choices.indexOf(now) + 1) % choices.length]);
  });
}

// `describe` makes what a mark's tooltip says, where its own words are not to be shown.
function tooltips(describe) {
  const tip = document.getElementById("tip");
  let near = null;

  const hide = () => {
    near?.classList.remove("near");
    near = null;
    tip.hidden = true;
  };
  const show = mark => {
    if (mark === near) return;
    hide();
    near = mark;
    mark.classList.add("near");
    tip.replaceChildren(...(mark.dataset.words ? inWords(mark.dataset.words) : describe(mark)));
    tip.hidden = false;
    const box = mark.getBoundingClientRect();
    const { width, height } = tip.getBoundingClientRect();
    const left = Math.min(Math.max(8, box.left + box.width / 2 - width / 2), innerWidth - width - 8);
    const above = box.top - height - 10;
    tip.style.translate = `${left}px ${above > 8 ? above : box.bottom + 10}px`;
  };

  for (const svg of document.querySelectorAll("svg.chart")) {
    const marks = [...svg.querySelectorAll(".mark")];
    for (const mark of marks) {
      // The browser's own tooltip would cover ours.
      if (!describe || mark.classList.contains("published")) mark.dataset.words = mark.querySelector("title").textContent;
      mark.querySelector("title").remove();
    }
    const name = svg.querySelector("title");
    svg.setAttribute("aria-label", name.textContent);
    svg.removeAttribute("aria-labelledby");
    name.remove();

    svg.tabIndex = 0;
    const shown = () => marks.filter(mark => !mark.closest(".off"));
    svg.addEventListener("pointermove", event => {
      const scale = svg.viewBox.baseVal.width / svg.clientWidth;
      const frame = svg.getBoundingClientRect();
      const x = (event.clientX - frame.left) * scale, y = (event.clientY - frame.top) * scale;
      const distance = mark => Math.hypot(mark.dataset.x - x, mark.dataset.y - y);
      const nearest = shown().reduce((a, b) => a && distance(a) <= distance(b) ? a : b, null);
      if (nearest && (distance(nearest) < 26 || nearest.contains(event.target))) show(nearest); else hide();
    });
    svg.addEventListener("pointerleave", hide);
    svg.addEventListener("blur", hide);
    svg.addEventListener("keydown", event => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (event.key === "Escape") hide();
      if (!step) return;
      event.preventDefault();
      const all = shown().sort((a, b) => a.dataset.x - b.dataset.x);
      show(all[(all.indexOf(near) + step + all.length) % all.length]);
    });
  }
  addEventListener("scroll", hide, { passive: true });
}

// Words up to the first colon are the heading, the rest is a line for each semicolon.
function inWords(words) {
  const cut = words.indexOf(": ");
  const list = element("span");
  for (const part of words.slice(cut + 2).split("; ")) list.append(part, document.createElement("br"));
  return [element("b", words.slice(0, cut)), list];
}

// A scheme in the legend shows and hides its marks.
function legends() {
  for (const item of document.querySelectorAll(".legend [data-series]")) {
    const button = element("button");
    button.type = "button";
    button.append(...item.childNodes);
    button.setAttribute("aria-pressed", "true");
    button.addEventListener("click", () => {
      const off = button.getAttribute("aria-pressed") === "true";
      button.setAttribute("aria-pressed", String(!off));
      for (const series of item.closest(".figure").querySelectorAll(`.series.${item.dataset.series}`)) {
        series.classList.toggle("off", off);
      }
    });
    item.append(button);
  }
}

function table() {
  const form = document.querySelector(".filters:not(.choose)");
  const body = document.querySelector("table.rows tbody");
  const heads = [...document.querySelectorAll("table.rows thead th")];
  const rows = [...body.rows];
  const cell = (row, index) => row.cells[index].dataset.value ?? row.cells[index].textContent.trim();
  const ascending = new Intl.Collator("en", { numeric: true });
  const compare = (a, b) => {
    const difference = Number(a) - Number(b);
    return Number.isNaN(difference) ? ascending.compare(a, b) : difference;
  };

  const filters = heads.flatMap((head, index) => {
    const select = form.elements[head.dataset.key];
    return select ? [[select, index]] : [];
  });
  for (const [select, index] of filters) {
    const values = [...new Set(rows.map(row => cell(row, index)))];
    if (select.name !== "scheme" && select.name !== "operation") values.sort(compare);
    select.append(...values.map(value => new Option(value, value)));
  }
  // Schemes that are chosen by name; none means all.
  const choices = [...form.querySelectorAll("[name=chosen]")];
  const schemes = heads.findIndex(head => head.dataset.key === "scheme");
  const filter = () => {
    const chosen = choices.filter(choice => choice.checked).map(choice => choice.value);
    let shown = 0;
    for (const row of rows) {
      row.hidden = filters.some(([select, index]) => select.value && select.value !== cell(row, index))
        || chosen.length > 0 && !chosen.includes(cell(row, schemes));
      shown += !row.hidden;
    }
    form.querySelector("output").textContent = `${shown} of ${rows.length} rows`;
    root.dataset.shown = shown;
  };
  form.addEventListener("change", filter);
  form.addEventListener("reset", () => setTimeout(filter));
  form.addEventListener("submit", event => event.preventDefault());
  form.hidden = false;
  // `#operation=add&chosen=skdc,tgdh&sort=members` in the address: for links to what is to be seen.
  const wanted = new URLSearchParams(location.hash.slice(1));
  for (const [select] of filters) if (wanted.has(select.name)) select.value = wanted.get(select.name);
  const named = (wanted.get("chosen") ?? "").split(",");
  for (const choice of choices) choice.checked = named.includes(choice.value);
  filter();

  heads.forEach((head, index) => {
    if (head.classList.contains("plain")) return;
    const button = element("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    head.setAttribute("aria-sort", "none");
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of heads) if (other.hasAttribute("aria-sort")) other.setAttribute("aria-sort", "none");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      rows.sort((a, b) => (down ? -1 : 1) * compare(cell(a, index), cell(b, index)));
      body.append(...rows);
    });
    if (head.dataset.key && head.dataset.key === wanted.get("sort")) button.click();
  });
}

// Marks in the table of contents what is on the screen.
function contents() {
  const links = [...document.querySelectorAll(".contents a")];
  const targets = links.map(link => document.querySelector(link.getAttribute("href")));
  const mark = () => {
    const passed = targets.filter(target => target.getBoundingClientRect().top < innerHeight / 3);
    const current = targets.indexOf(passed.at(-1));
    links.forEach((link, index) => {
      if (index === current) link.setAttribute("aria-current", "true"); else link.removeAttribute("aria-current");
    });
  };
  addEventListener("scroll", mark, { passive: true });
  mark();
}

function element(name, text = "") {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}

function time(ms) {
  return Math.abs(ms) < 999.5 ? `${number(ms)} ms` : `${number(ms / 1000)} s`;
}

function number(value) {
  return value.toLocaleString("en", Math.abs(value) >= 100
    ? { maximumFractionDigits: 0, useGrouping: false } : { maximumSignificantDigits: 3 });
}
