// The page of a benchmark; what pages share is in page.js.
theme();
saving();
tooltips();
legends();
if (document.querySelector("table.rows")) table();
choose();
unfold();
contents();
ready();

// Shows the figures of a class, a security level, a device; those that are of no device are of all.
function choose() {
  const form = document.querySelector(".choose");
  if (!form) return;
  const figures = [...document.querySelectorAll("#figures .figure")];
  const selects = [...form.querySelectorAll("select")];
  for (const select of selects) {
    const values = [...new Set(figures.map(figure => figure.dataset[select.name]).filter(Boolean))];
    select.append(...values.map(value => new Option(value, value)));
    select.closest("label").hidden = values.length < 2;
  }
  const show = () => {
    let shown = 0;
    for (const figure of figures) {
      figure.hidden = selects.some(({ name, value }) => value && figure.dataset[name] && figure.dataset[name] !== value);
      shown += !figure.hidden;
    }
    for (const part of document.querySelectorAll("#figures .part")) {
      part.hidden = !part.querySelector(".figure:not([hidden])");
    }
    form.querySelector("output").textContent = `${shown} of ${figures.length} figures`;
    root.dataset.figures = shown;
  };
  form.addEventListener("change", show);
  form.addEventListener("reset", () => setTimeout(show));
  form.addEventListener("submit", event => event.preventDefault());
  form.hidden = false;
  const wanted = new URLSearchParams(location.hash.slice(1));
  for (const select of selects) if (wanted.has(select.name)) select.value = wanted.get(select.name);
  show();
}

// A scheme that a link leads to opens.
function unfold() {
  const open = () => {
    const target = document.getElementById(location.hash.slice(1));
    if (target?.matches("details")) target.open = true;
  };
  addEventListener("hashchange", open);
  open();
}
