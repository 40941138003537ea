"use strict";
(() => {
  // If there are more systems than this, the table of queries shows two systems at a time.
  const ALL_SYSTEMS = matchMedia("(max-width: 44rem)").matches ? 2 : 5;
  const ROWS_AT_ONCE = 200;  // table rows drawn per batch, so that a long table responds quickly
  const collator = new Intl.Collator(undefined, { numeric: true });
  const byId = (id) => document.getElementById(id);
  const counted = (n) => n.toLocaleString("en");

  function element(name, attributes = {}, text = null) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== null) made.textContent = text;
    return made;
  }

  // Positions of the sorted values: missing values are last, and equal values keep their order.
  function order(values, ascending) {
    const sign = ascending ? 1 : -1;
    return values.map((_, i) => i).sort((a, b) => {
      const x = values[a], y = values[b];
      if (x === null || y === null) return (x === null) - (y === null);
      return sign * (typeof x === "number" ? x - y : collator.compare(x, y));
    });
  }

  function direction(values, ascending) {
    if (values.some((value) => typeof value === "number")) {
      return ascending ? "lowest first" : "highest first";
    }
    return ascending ? "first to last" : "last to first";
  }

  function addButton(head, sort) {
    const button = element("button", { type: "button" });
    button.append(element("span", {}, head.textContent));
    head.replaceChildren(button);
    button.addEventListener("click", () => sort(head.getAttribute("aria-sort") !== "ascending"));
  }

  function mark(head, ascending) {
    for (const other of head.closest("thead").querySelectorAll("th")) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", ascending ? "ascending" : "descending");
  }

  // Static tables and folded sections -----------------------------------------------------------------

  function cellValue(cell) {
    const value = cell.dataset.value;
    if (value === undefined) return cell.textContent;
    return value === "" ? null : Number(value);
  }

  // Open a collapsed section when a link leads to it, and open all sections for printing.
  for (const link of document.querySelectorAll("nav a")) {
    link.addEventListener("click", () => {
      const section = byId(link.hash.slice(1)).closest("details");
      if (section) section.open = true;
    });
  }
  let folded = [];
  window.addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("details:not([open])")];
    for (const details of folded) details.open = true;
  });
  window.addEventListener("afterprint", () => { for (const details of folded) details.open = false; });

  for (const table of document.querySelectorAll("table.sortable")) {
    const body = table.tBodies[0];
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      const name = head.textContent;
      addButton(head, (ascending) => {
        const rows = [...body.rows];
        const values = rows.map((row) => cellValue(row.cells[column]));
        body.append(...order(values, ascending).map((i) => rows[i]));
        mark(head, ascending);
        byId("announcement").textContent = `Sorted by ${name}, ${direction(values, ascending)}`;
      });
    });
  }

  // The table of queries --------------------------------------------------------------------------

  const data = JSON.parse(byId("data").textContent);
  if (data === null) return;
  const table = byId("query-table");
  const head = table.tHead, body = table.tBodies[0];
  const allNumbers = data.ids.every((id) => /^-?\d+(\.\d+)?$/.test(id));
  const idColumn = {
    name: "Query", title: "query", ranked: allNumbers ? data.ids.map(Number) : data.ids,
  };
  const lowered = data.ids.map((id) => id.toLowerCase());
  let columns = [], sorted = { column: null, ascending: true }, sequence = [];
  let timer = null, rest = [];  // queries whose rows are not drawn yet

  function shown(value, kind) {
    if (value === null) return "nan";
    const text = Math.abs(value).toFixed(4);
    const nothing = Number(text) === 0;
    const plus = kind === "difference" && !nothing ? "+" : "";
    return (value < 0 && !nothing ? "\u2212" : plus) + text;
  }

  function extent(values) {
    const known = values.filter((value) => value !== null);
    return [Math.min(...known), Math.max(...known)];
  }

  function valueColumn(column) {
    const [low, high] = extent(column.values);
    const made = { kind: "level", undefined: [], start: false, ...column };
    made.missing = new Set(made.undefined);
    made.ranked = made.values.map((value, q) => (made.missing.has(q) ? null : value));
    made.low = Math.min(0, low);
    made.high = Math.max(1, high);
    return made;
  }

  // The selected measure, system and baseline.
  const chosen = () => ["measure", "system", "against"].map((id) => Number(byId(id).value));

  const differences = (values, base) => values.map((value, q) =>
    value === null || base[q] === null ? null : Number((value - base[q]).toFixed(9)));

  function comparisonColumns() {
    const [measure, system, against] = chosen();
    const values = data.values[measure];
    const base = values[against];
    const isShown = (i) => i !== against && (data.systems.length <= ALL_SYSTEMS || i === system);
    const made = [valueColumn({ name: `${data.letters[against]} ${data.systems[against]}`, kind: "plain", title: data.systems[against], values: base })];
    let widest = 0;
    data.systems.forEach((system, i) => {
      if (!isShown(i)) return;
      const group = `${data.letters[i]} ${system}`;
      const ofQueries = differences(values[i], base);
      widest = Math.max(widest, ...extent(ofQueries).map(Math.abs).filter(Number.isFinite));
      made.push(valueColumn({ name: "Value", group, kind: "plain", title: system, values: values[i], start: true }));
      made.push(valueColumn({
        name: "Difference", group, kind: "difference", values: ofQueries,
        title: `${system} \u2212 ${data.systems[against]}`,
      }));
    });
    if (data.weights) made.push(valueColumn({ name: "Weight", title: "weight", kind: "plain", values: data.weights, start: true }));
    for (const column of made) {
      if (column.kind === "difference") [column.low, column.high] = [-(widest || 1), widest || 1];
    }
    return made;
  }

  function fillHead() {
    const first = element("tr"), second = element("tr");
    const grouped = columns.some((column) => column.group !== undefined);
    for (const [i, column] of [idColumn, ...columns].entries()) {
      const attributes = { scope: "col", class: column === idColumn ? "name" : "number" };
      if (column.start) attributes.class += " start";
      if (column.group === undefined) {
        if (grouped) attributes.rowspan = 2;
        column.head = first.appendChild(element("th", attributes, column.name));
      } else {
        if (columns[i - 2]?.group !== column.group) {
          const group = element("th", { scope: "colgroup", colspan: 2, class: "start" });
          group.append(element("span", { title: column.group }, column.group));
          first.append(group);
        }
        column.head = second.appendChild(element("th", attributes, column.name));
      }
      addButton(column.head, (ascending) => sortBy(column, ascending));
    }
    head.replaceChildren(...(grouped ? [first, second] : [first]));
  }

  function row(q) {
    const made = element("tr");
    const name = element("th", { scope: "row" });
    name.append(element("bdi", { class: "text", title: data.ids[q] }, data.ids[q]));
    made.append(name);
    for (const column of columns) {
      const value = column.values[q];
      const cell = element("td", { class: column.start ? "number start" : "number" });
      cell.textContent = shown(value, column.kind);
      if (column.missing.has(q)) cell.textContent = `\u2020\u00a0${cell.textContent}`;
      if (column.kind !== "plain" && value !== null) {
        const part = (x) => ((x - column.low) / (column.high - column.low)).toFixed(3);
        cell.classList.add("bar", column.kind);
        if (column.kind === "difference" && value !== 0) cell.classList.add(value > 0 ? "win" : "loss");
        cell.style.setProperty("--from", part(Math.min(0, value)));
        cell.style.setProperty("--to", part(Math.max(0, value)));
      }
      made.append(cell);
    }
    return made;
  }

  function drawRows(n) {
    clearTimeout(timer);
    body.append(...rest.splice(0, n).map(row));
    if (rest.length) timer = setTimeout(drawRows, 0, 2 * ROWS_AT_ONCE);
    else performance.mark("queries-drawn");
  }

  function refresh() {
    const wanted = byId("find").value.trim().toLowerCase();
    const queries = sequence.filter((q) => lowered[q].includes(wanted));
    rest = [...queries];
    body.replaceChildren();
    drawRows(ROWS_AT_ONCE);
    const { column, ascending } = sorted;
    const number = wanted ? `${counted(queries.length)} of ${counted(data.ids.length)}` : counted(queries.length);
    byId("query-status").textContent =
      `${number} queries, sorted by ${column.title}, ${direction(column.ranked, ascending)}.`;
  }

  function sortBy(column, ascending) {
    sequence = order(column.ranked, ascending);
    sorted = { column, ascending };
    mark(column.head, ascending);
    refresh();
  }

  // If both menus select the same system, the other menu gets the previous selection.
  function keepApart(changed, other) {
    if (byId(changed).value === byId(other).value) byId(other).value = previous[changed];
    for (const id of [changed, other]) previous[id] = byId(id).value;
  }

  const previous = {};

  function start() {
    columns = data.columns?.map((column) => valueColumn({ title: column.name, start: true, ...column }))
      ?? comparisonColumns();
    byId("undefined-note").hidden = columns.every((column) => column.missing.size === 0);
    fillHead();
    const kinds = ["difference", "level"].map((kind) => columns.find((column) => column.kind === kind));
    sortBy(kinds.find((column) => column) ?? idColumn, true);
  }

  byId("query-report").hidden = false;
  byId("find").addEventListener("input", refresh);
  byId("find").form.addEventListener("submit", (event) => event.preventDefault());
  byId("measure")?.addEventListener("change", start);
  if (!data.columns) {
    byId("system").value = data.baseline === 0 ? 1 : 0;
    for (const [id, other] of [["system", "against"], ["against", "system"]]) {
      previous[id] = byId(id).value;
      byId(id).addEventListener("change", () => { keepApart(id, other); start(); });
    }
  }
  window.addEventListener("beforeprint", () => drawRows(rest.length));
  start();
})();
