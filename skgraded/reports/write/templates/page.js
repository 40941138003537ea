"use strict";
(() => {
  const ROWS_AT_ONCE = 200;  // the first rows show at once, the others follow
  const collator = new Intl.Collator(undefined, { numeric: true });
  const byId = (id) => document.getElementById(id);
  const counted = (n) => n.toLocaleString("en");
  const isMissing = (value) => value === null || value === undefined;

  function element(name, attributes = {}, text = null) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== null) made.textContent = text;
    return made;
  }

  // Positions of the values in order: missing ones last either way, equal ones as they stand.
  function order(values, ascending) {
    const sign = ascending ? 1 : -1;
    return values.map((_, i) => i).sort((a, b) => {
      const x = values[a], y = values[b];
      if (isMissing(x) || isMissing(y)) return isMissing(x) - isMissing(y);
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

  // Tables that stand in the page -----------------------------------------------------------------

  function cellValue(cell) {
    const value = cell.dataset.value;
    if (value === undefined) return cell.textContent;
    return value === "" ? null : Number(value);
  }

  for (const table of document.querySelectorAll("table.sortable")) {
    const body = table.tBodies[0];
    [...table.tHead.rows[0].cells].forEach((head, column) => {
      if (head.classList.contains("drawn")) return;  // a picture of the columns beside it
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
  let timer = null, finish = () => {};  // of rows that are still to be drawn

  function shown(value, column) {
    if (isMissing(value)) return "nan";
    const text = Math.abs(value).toFixed(column.digits);
    const nothing = Number(text) === 0;
    const plus = column.kind === "difference" && !nothing ? "+" : "";
    return (value < 0 && !nothing ? "\u2212" : plus) + text;
  }

  function extent(values) {
    let low = Infinity, high = -Infinity;
    for (const value of values) {
      if (isMissing(value)) continue;
      if (value < low) low = value;
      if (value > high) high = value;
    }
    return [low, high];
  }

  function valueColumn(column) {
    const [low, high] = extent(column.values);
    const made = { digits: 4, kind: "level", undefined: [], start: false, ...column };
    made.missing = new Set(made.undefined);
    made.ranked = made.values.map((value, q) => (made.missing.has(q) ? null : value));
    made.low = Math.min(0, low);
    made.high = Math.max(1, high);
    return made;
  }

  function evaluationColumns() {
    return data.columns.map((column) => valueColumn({ title: column.name, start: true, ...column }));
  }

  function comparisonColumns() {
    const against = Number(byId("against").value);
    const values = data.values[Number(byId("measure").value)];
    const base = values[against];
    const made = [valueColumn({ name: data.systems[against], kind: "plain", title: data.systems[against], values: base })];
    let widest = 0;
    data.systems.forEach((system, i) => {
      if (i === against) return;
      const differences = values[i].map((value, q) =>
        isMissing(value) || isMissing(base[q]) ? null : Number((value - base[q]).toFixed(9)));
      widest = Math.max(widest, ...extent(differences).map(Math.abs).filter(Number.isFinite));
      made.push(valueColumn({ name: "Value", group: system, kind: "plain", title: system, values: values[i], start: true }));
      made.push(valueColumn({
        name: "Difference", group: system, kind: "difference", values: differences,
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
          group.append(element("span", {}, column.group));
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
    name.append(element("bdi", { class: "text" }, data.ids[q]));
    made.append(name);
    for (const column of columns) {
      const value = column.values[q];
      const cell = element("td", { class: column.start ? "number start" : "number" }, shown(value, column));
      if (column.missing.has(q)) cell.textContent = `\u2020\u00a0${cell.textContent}`;
      if (column.kind !== "plain" && !isMissing(value)) {
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

  function fillBody(queries) {
    clearTimeout(timer);
    let next = 0;
    const more = (count) => {
      const rows = queries.slice(next, next + count).map(row);
      if (next === 0) body.replaceChildren(...rows);
      else body.append(...rows);
      next += rows.length;
      if (next < queries.length) timer = setTimeout(more, 0, 2 * ROWS_AT_ONCE);
      else performance.mark("queries-drawn");
    };
    more(ROWS_AT_ONCE);
    finish = () => { if (next < queries.length) { clearTimeout(timer); more(queries.length); } };
  }

  function refresh() {
    const wanted = byId("find").value.trim().toLowerCase();
    const queries = sequence.filter((q) => lowered[q].includes(wanted));
    fillBody(queries);
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

  function start() {
    columns = data.columns ? evaluationColumns() : comparisonColumns();
    byId("undefined-note").hidden = columns.every((column) => column.missing.size === 0);
    fillHead();
    const kinds = ["difference", "level"].map((kind) => columns.find((column) => column.kind === kind));
    sortBy(kinds.find((column) => column) ?? idColumn, true);
  }

  byId("query-report").hidden = false;
  byId("find").addEventListener("input", refresh);
  byId("find").form.addEventListener("submit", (event) => event.preventDefault());
  for (const id of ["measure", "against"]) byId(id)?.addEventListener("change", start);
  window.addEventListener("beforeprint", () => finish());
  start();
})();
