// Sorting, filtering, columns, tabs, tooltips and comparison. Values come from the page itself; nothing is fetched.
"use strict";

const all = (selector, root = document) => Array.from(root.querySelectorAll(selector));

// --- sorting: rows never leave their section; speed is ranked only among runs that may be compared
const cellAt = (row, index) => row.cells[index];

function sortKey(row, index, textual) {
  const cell = cellAt(row, index);
  if (textual) return cell.textContent.trim().toLowerCase();
  const value = cell.dataset.value;
  return value === undefined || value === "" ? null : Number(value);
}

function compareKeys(a, b, direction) {
  if (a === null || b === null) return (a === null) - (b === null);
  return (a < b ? -1 : a > b ? 1 : 0) * direction;
}

// Runs that were driven in another way, at another load or on another host, or that are invalid, stand apart.
const speedGroup = (row) => `${row.dataset.comparable}|${row.classList.contains("invalid")}`;

function apart(rows) {
  const groups = new Map();
  for (const item of rows) groups.set(speedGroup(item.row), [...(groups.get(speedGroup(item.row)) || []), item]);
  const invalid = (group) => group[0].row.classList.contains("invalid");
  return [...groups.values()].sort((a, b) => invalid(a) - invalid(b)).flat();
}

function sortTable(table, head, direction) {
  const index = Array.from(head.parentElement.cells).indexOf(head);
  const textual = head.querySelector(".sort").dataset.text !== undefined;
  const speed = head.dataset.source === "speed";
  for (const body of table.tBodies) {
    const rows = all("tr.row", body).map((row, place) => ({ row, place, key: sortKey(row, index, textual) }));
    rows.sort((a, b) => compareKeys(a.key, b.key, direction) || a.place - b.place);
    body.append(...(speed ? apart(rows) : rows).map((item) => item.row));
    for (const { row } of rows) {
      const before = row.previousElementSibling;
      const divided = speed && before && before.classList.contains("row") && speedGroup(before) !== speedGroup(row);
      row.classList.toggle("divided", Boolean(divided));
    }
  }
  for (const other of all("thead th[aria-sort]", table)) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", direction > 0 ? "ascending" : "descending");
}

function setUpSorting(table) {
  for (const head of all("thead th", table)) {
    const button = head.querySelector(".sort");
    if (!button) continue;
    const worstFirst = table.id === "page-table";
    const first = head.dataset.better === "high" ? -1 : 1;
    button.addEventListener("click", () => {
      const now = head.getAttribute("aria-sort");
      const direction = now ? (now === "ascending" ? -1 : 1) : worstFirst && head.dataset.better ? -first : first;
      sortTable(table, head, direction);
    });
  }
}

// --- filtering by text and by kind of row
function applyFilters(table) {
  const input = document.querySelector(`[data-filter="${table.id}"]`);
  const words = (input ? input.value : "").toLowerCase().split(/\s+/).filter(Boolean);
  const off = new Set(all("[data-kind]:not(:checked)").filter((box) => box.type === "checkbox").map((box) => box.dataset.kind));
  for (const body of table.tBodies) {
    let shown = 0;
    for (const row of all("tr.row", body)) {
      const text = row.dataset.text || (row.dataset.text = row.textContent.toLowerCase());
      const kept = words.every((word) => text.includes(word)) && !off.has(body.dataset.kind) && !(off.has("invalid") && row.classList.contains("invalid"));
      row.hidden = !kept;
      shown += kept;
    }
    const title = body.querySelector("tr.section");
    if (title) title.hidden = shown === 0;
  }
}

function setUpFilters() {
  for (const input of all("[data-filter]")) {
    const table = document.getElementById(input.dataset.filter);
    input.addEventListener("input", () => applyFilters(table));
  }
  const board = document.getElementById("board");
  for (const box of all('input[type="checkbox"][data-kind]')) box.addEventListener("change", () => applyFilters(board));
}

// --- columns
function showColumn(name, shown) {
  for (const cell of all(`#board [data-column="${name}"]`)) cell.hidden = !shown;
}

function setUpColumns() {
  for (const box of all("[data-toggle]")) {
    box.addEventListener("change", () => showColumn(box.dataset.toggle, box.checked));
  }
}

// --- tabs, made of sections that stand below one another without this script
function setUpTabs(holder, number) {
  const tabs = all(":scope > .tab", holder);
  if (tabs.length < 2) return;
  const bar = document.createElement("div");
  bar.className = "tabbar";
  bar.setAttribute("role", "tablist");
  const buttons = tabs.map((tab, place) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = tab.dataset.tab;
    button.setAttribute("role", "tab");
    button.id = `tab-${number}-${place}`;
    tab.setAttribute("role", "tabpanel");
    tab.setAttribute("aria-labelledby", button.id);
    button.addEventListener("click", () => choose(place));
    button.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (step) { choose((place + step + tabs.length) % tabs.length); buttons[(place + step + tabs.length) % tabs.length].focus(); }
    });
    return button;
  });
  function choose(chosen) {
    tabs.forEach((tab, place) => { tab.hidden = place !== chosen; });
    buttons.forEach((button, place) => {
      button.setAttribute("aria-selected", String(place === chosen));
      button.tabIndex = place === chosen ? 0 : -1;
    });
  }
  bar.append(...buttons);
  holder.prepend(bar);
  choose(0);
}

// --- tooltips: definitions on hover and on focus
function setUpTips() {
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.id = "tip";
  tip.setAttribute("role", "tooltip");
  tip.hidden = true;
  document.body.append(tip);
  const owner = (target) => (target instanceof Element ? target.closest("[title],[data-tip]") : null);
  function show(element) {
    if (element.closest("svg")) return;
    if (element.hasAttribute("title")) {
      element.dataset.tip = element.getAttribute("title");
      element.removeAttribute("title");
    }
    if (!element.dataset.tip) return;
    tip.textContent = element.dataset.tip;
    tip.hidden = false;
    element.setAttribute("aria-describedby", "tip");
    const box = element.getBoundingClientRect();
    const left = Math.max(8, Math.min(box.left, window.innerWidth - tip.offsetWidth - 8));
    const below = box.bottom + 8 + tip.offsetHeight < window.innerHeight;
    tip.style.left = `${left}px`;
    tip.style.top = `${below ? box.bottom + 7 : Math.max(8, box.top - tip.offsetHeight - 7)}px`;
  }
  function hide() {
    tip.hidden = true;
    for (const element of all('[aria-describedby="tip"]')) element.removeAttribute("aria-describedby");
  }
  for (const [on, off] of [["mouseover", "mouseout"], ["focusin", "focusout"]]) {
    document.addEventListener(on, (event) => { const found = owner(event.target); if (found) show(found); });
    document.addEventListener(off, hide);
  }
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
  window.addEventListener("scroll", hide, true);
}

// --- theme
function setUpTheme() {
  const button = document.getElementById("theme");
  const remembered = () => { try { return localStorage.getItem("evalkit-theme"); } catch { return null; } };
  const dark = () => (document.documentElement.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const name = () => { button.textContent = dark() ? "Light" : "Dark"; button.setAttribute("aria-label", `Change to the ${dark() ? "light" : "dark"} theme`); };
  if (remembered()) document.documentElement.dataset.theme = remembered();
  button.hidden = false;
  name();
  button.addEventListener("click", () => {
    document.documentElement.dataset.theme = dark() ? "light" : "dark";
    try { localStorage.setItem("evalkit-theme", document.documentElement.dataset.theme); } catch { /* not remembered */ }
    name();
  });
}

// --- page views
function setUpPage() {
  const paper = document.getElementById("paper");
  for (const box of all("[data-layer]")) {
    const apply = () => paper.classList.toggle(`hide-${box.dataset.layer}`, !box.checked);
    box.addEventListener("change", apply);
    apply();
  }
  const only = document.getElementById("only-different");
  if (only) only.addEventListener("change", () => document.body.classList.toggle("only-different", only.checked));
  if (location.hash === "#embedded") document.body.classList.add("embedded");
  const beside = document.getElementById("beside");
  if (!beside) return;
  const compare = () => compareWith(beside.value, beside.selectedOptions[0].textContent);
  beside.addEventListener("change", compare);
  if (location.hash === "#compared") { beside.selectedIndex = 1; compare(); }
}

function compareWith(link, title) {
  const other = document.getElementById("other");
  other.replaceChildren();
  other.hidden = !link;
  document.getElementById("split").classList.toggle("compared", Boolean(link));
  if (!link) return;
  const frame = document.createElement("iframe");
  frame.title = `The same page by ${title}`;
  frame.src = `${link}#embedded`;
  const head = document.createElement("h2");
  head.textContent = title;
  other.append(head, frame);
}

function openMenuCloses() {
  document.addEventListener("click", (event) => {
    for (const menu of all("details.menu[open]")) if (!menu.contains(event.target)) menu.open = false;
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    for (const menu of all("details.menu[open]")) { menu.open = false; menu.querySelector("summary").focus(); }
  });
}

function sortByHash() {
  const match = /^#by-([a-z0-9_]+)$/.exec(location.hash);
  const head = match ? document.getElementById(`by-${match[1]}`) : null;
  if (!head) return;
  sortTable(head.closest("table"), head, head.dataset.better === "high" ? 1 : -1);
  document.getElementById("pages").scrollIntoView();
}

setUpTheme();
all("[data-sortable]").forEach(setUpSorting);
setUpFilters();
setUpColumns();
all("[data-tabs]").forEach(setUpTabs);
setUpTips();
setUpPage();
openMenuCloses();
sortByHash();
