// Saves charts as SVG and PNG, and their rows as CSV. The page is all it needs.

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
    offer("SVG", () => pictures(box).forEach((svg, i, all) => save(svg.text, "image/svg+xml", named(name, i, all, "svg"))));
    offer("PNG", () => pictures(box).forEach((svg, i, all) => rastered(svg, named(name, i, all, "png"))));
    offer("CSV", () => save(rowsOf(box), "text/csv", `${name}.csv`));
    box.append(line);
  }
  root.dataset.saves = document.querySelectorAll(".saves").length;
}

function named(name, index, all, extension) {
  return all.length > 1 ? `${name}-${index + 1}.${extension}` : `${name}.${extension}`;
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
    return { text: new XMLSerializer().serializeToString(copy), width, height };
  });
}

function rastered({ text, width, height }, name) {
  const image = new Image();
  image.addEventListener("load", () => {
    const canvas = document.createElement("canvas");
    canvas.width = 3 * width;
    canvas.height = 3 * height;
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    canvas.toBlob(blob => download(URL.createObjectURL(blob), name));
  });
  image.setAttribute("src", "data:image/svg+xml;charset=utf-8," + encodeURIComponent(text));
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
  const rows = typeof data === "undefined" || !data.rows ? [] : marks.flatMap(mark => mark.dataset.row === undefined ? [] : [data.rows[mark.dataset.row]]);
  const whole = [...new Set(rows)].filter(row => row && row.scheme);
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
  download(URL.createObjectURL(new Blob([text], { type })), name);
}

function download(address, name) {
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
