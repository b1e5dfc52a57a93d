// Makes a complete page handier: tooltips, a filter, sorting, a choice of theme. Nothing depends on it.
"use strict";
const root = document.documentElement;
const ascending = new Intl.Collator("en", { numeric: true });
const data = JSON.parse(document.getElementById("data").textContent || "{}");
addEventListener("error", event => { root.dataset.error = event.message; });

theme();
saving();
tooltips();
legends();
tables();
figures();
unfold();
contents();
ready();

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

// A mark's words are its tooltip.
function tooltips() {
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
    tip.replaceChildren(...inWords(mark.dataset.words));
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
      mark.dataset.words = mark.querySelector("title").textContent;
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

// Filters and sorts each table of rows, whose filters are before it.
function tables() {
  document.querySelectorAll("table.rows").forEach((table, number) => {
    const form = table.parentElement.previousElementSibling;
    const body = table.tBodies[0];
    const heads = [...table.tHead.rows[0].cells];
    const rows = [...body.rows];
    const cell = (row, index) => row.cells[index].dataset.value ?? row.cells[index].textContent.trim();
    const column = key => heads.findIndex(head => head.dataset.key === key);
    // Schemes that are chosen by name; none means all.
    const choices = [...form.querySelectorAll("[name=chosen]")];
    const named = (wanted().get("chosen") ?? "").split(",");
    for (const choice of choices) choice.checked = named.includes(choice.value);
    const isChosen = row => !choices.some(choice => choice.checked)
      || choices.some(choice => choice.checked && choice.value === cell(row, column("scheme")));
    filter(form, rows, (row, key) => cell(row, column(key)), isChosen, "rows", shown => {
      if (number === 0) root.dataset.shown = shown;
    });

    heads.forEach((head, index) => {
      const button = element("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      head.setAttribute("aria-sort", "none");
      button.addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending";
        for (const other of heads) other.setAttribute("aria-sort", "none");
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        rows.sort((a, b) => (down ? -1 : 1) * compare(cell(a, index), cell(b, index)));
        body.append(...rows);
      });
      if (head.dataset.key && head.dataset.key === wanted().get("sort")) button.click();
    });
  });
}

// Figures of a class, a security level, a device; those that are of no device are of all.
function figures() {
  const form = document.querySelector(".choose");
  if (!form) return;
  filter(form, [...document.querySelectorAll("#figures .figure")], (figure, key) => figure.dataset[key], () => true, "figures", shown => {
    for (const part of document.querySelectorAll("#figures .part")) part.hidden = !part.querySelector(".figure:not([hidden])");
    root.dataset.figures = shown;
  });
}

// Shows the items that have the values chosen in a form, and reports how many these are.
function filter(form, items, valueOf, isChosen, what, report) {
  const selects = [...form.querySelectorAll("select")];
  for (const select of selects) {
    const values = [...new Set(items.map(item => valueOf(item, select.name)).filter(Boolean))].sort(compare);
    select.append(...values.map(value => new Option(value, value)));
    select.closest("label").hidden = values.length < 2;
    if (wanted().has(select.name)) select.value = wanted().get(select.name);
  }
  const show = () => {
    let shown = 0;
    for (const item of items) {
      item.hidden = !isChosen(item) || selects.some(({ name, value }) => value && valueOf(item, name) && valueOf(item, name) !== value);
      shown += !item.hidden;
    }
    form.querySelector("output").textContent = `${shown} of ${items.length} ${what}`;
    report(shown);
  };
  form.addEventListener("change", show);
  form.addEventListener("reset", () => setTimeout(show));
  form.addEventListener("submit", event => event.preventDefault());
  form.hidden = !form.querySelector("label:not([hidden])");
  show();
}

// `#operation=add&chosen=skdc,tgdh&sort=members` in the address: for links to what is to be seen.
function wanted() {
  return new URLSearchParams(location.hash.slice(1));
}

function compare(a, b) {
  const difference = Number(a) - Number(b);
  return Number.isNaN(difference) ? ascending.compare(a, b) : difference;
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

// What a link leads to opens.
function unfold() {
  const open = () => {
    const target = document.getElementById(location.hash.slice(1));
    if (target?.matches("details")) target.open = true;
  };
  addEventListener("hashchange", open);
  open();
}

function element(name, text = "") {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}

// Saves charts as SVG, and their rows as CSV. The page is all it needs.

function saving() {
  for (const box of document.querySelectorAll("[data-save]")) {
    if (!box.querySelector("svg.chart")) continue;
    const line = element("div");
    line.className = "saves";
    line.append("Save:");
    const offer = (word, save) => {
      const button = element("button", word);
      button.type = "button";
      button.addEventListener("click", save);
      line.append(button);
    };
    const name = box.dataset.save;
    offer("SVG", () => pictures(box).forEach((svg, i, all) => save(svg, "image/svg+xml", named(name, i, all))));
    offer("CSV", () => save(rowsOf(box), "text/csv", `${name}.csv`));
    box.append(line);
  }
  root.dataset.saves = document.querySelectorAll(".saves").length;
}

function named(name, index, all) {
  return all.length > 1 ? `${name}-${index + 1}.svg` : `${name}.svg`;
}

// A chart has its colours from the page. Saved, it has them itself.
function pictures(box) {
  return [...box.querySelectorAll("svg.chart")].map(svg => {
    const copy = svg.cloneNode(true);
    const from = [svg, ...svg.querySelectorAll("*")], to = [copy, ...copy.querySelectorAll("*")];
    const kept = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "visibility", "font-family", "font-size", "font-weight"];
    from.forEach((one, index) => {
      const style = getComputedStyle(one);
      for (const property of kept) to[index].style.setProperty(property, style.getPropertyValue(property));
    });
    const { width, height } = svg.viewBox.baseVal;
    const ground = document.createElementNS(svg.namespaceURI, "rect");
    for (const [key, value] of Object.entries({ width, height, fill: getComputedStyle(box).backgroundColor })) ground.setAttribute(key, value);
    copy.prepend(ground);
    copy.setAttribute("xmlns", svg.namespaceURI);
    copy.setAttribute("width", width);
    copy.setAttribute("height", height);
    return new XMLSerializer().serializeToString(copy);
  });
}

// The comparisons of a finding, or what the marks of a chart say.
function rowsOf(box) {
  const tables = [...box.querySelectorAll("table.comparisons")];
  const lines = tables.length
    ? [["statement", "setting", "ruling", "effect"], ...tables.flatMap(table => [...table.tBodies[0].rows].map(row => [table.dataset.statement, ...[...row.cells].map(cell => cell.textContent)]))]
    : markRows(box);
  return lines.map(line => line.map(quoted).join(",")).join("\n") + "\n";
}

function markRows(box) {
  const marks = [...box.querySelectorAll(".mark")];
  const whole = [...new Set(marks.flatMap(mark => data.rows?.[mark.dataset.row] ?? []))];
  if (whole.length) {
    const keys = Object.keys(whole[0]).filter(key => typeof whole[0][key] !== "object" || whole[0][key] === null);
    return [keys, ...whole.map(row => keys.map(key => row[key] ?? ""))];
  }
  return [["mark", "values"], ...marks.map(mark => {
    const words = mark.dataset.words ?? "";
    const cut = words.indexOf(": ");
    return [words.slice(0, Math.max(cut, 0)), words.slice(cut < 0 ? 0 : cut + 2)];
  })];
}

function quoted(value) {
  const text = String(value);
  return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function save(text, type, name) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
