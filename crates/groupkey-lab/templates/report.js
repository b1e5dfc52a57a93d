// The page of a network study; what pages share is in page.js.
const data = JSON.parse(document.getElementById("data").textContent);

theme();
saving();
tooltips(values);
legends();
table();
contents();
ready();

function values(mark) {
  const row = data.rows[mark.dataset.row];
  const operation = { create: "creation", add: "join", remove: "leave" }[row.operation] ?? row.operation;
  const setting = `${data.labels[row.scheme]}, ${operation}, ${row.members} members`;
  const list = element("dl");
  for (const [name, value] of [
    ["Mean ± SD", `${time(row.mean_ms)} ± ${time(row.sd_ms)}`],
    ["95 % interval", `± ${time(row.ci95_ms)}`],
    ["p50", time(row.p50_ms)],
    ["p90", time(row.p90_ms)],
    ["p99", time(row.p99_ms)],
    ["Transmission", time(row.transmission_ms)],
    ["Computation", time(row.computation_ms)],
    ["Mean member", time(row.member_mean_ms)],
    ["Messages", number(row.messages)],
    ["Payload", `${number(row.payload_bytes)} B`],
    ["On the wire", `${number(row.wire_bytes)} B`],
    ["Segments sent again", number(row.retransmissions)],
    ["Runs, seed", `${row.runs}, ${row.seed}`],
  ]) list.append(element("dt", name), element("dd", value));
  return [element("b", setting), `${row.loss_percent} % loss, ${row.delay_ms} ms delay`, list];
}
