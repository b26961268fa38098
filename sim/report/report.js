// Search, filters and sorting of the verdict table; the page is complete without it.
(() => {
  const table = document.querySelector(".verdicts"), bar = document.getElementById("filters");
  if (!table) return;
  bar.hidden = false;
  const groups = [...table.tBodies];
  const rows = [...table.querySelectorAll("tr[data-verdict]")];
  const home = new Map(rows.map(row => [row, row.parentNode]));
  const all = document.createElement("tbody");
  const search = bar.querySelector("input"), chosen = [...bar.querySelectorAll("select")];
  const show = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const row of rows) {
      const text = `${row.dataset.block} ${row.textContent}`.toLowerCase();
      row.hidden = !(words.every(word => text.includes(word)) &&
        chosen.every(each => !each.value || row.dataset[each.name] === each.value));
      const card = document.getElementById(row.dataset.card);
      if (card) card.hidden = row.hidden;
    }
    for (const group of groups)
      group.hidden = !rows.some(row => home.get(row) === group && !row.hidden);
    const few = rows.some(row => row.hidden);
    for (const block of document.querySelectorAll("section.block"))
      block.hidden = few && ![...block.querySelectorAll(".bound-card")].some(card => !card.hidden);
    const seen = rows.filter(row => !row.hidden).length;
    bar.querySelector("output").textContent = few ? `${seen} of ${rows.length} claims` : "";
  };
  let sorted = -1, down = false;
  const sort = (place, heading) => {
    down = sorted === place ? !down : heading.classList.contains("num");
    sorted = place;
    const key = row => row.cells[place].dataset.sort ?? row.cells[place].textContent.trim();
    const order = (a, b) => {
      const [x, y] = [key(a), key(b)], [m, n] = [parseFloat(x), parseFloat(y)];
      return (isNaN(m) || isNaN(n) ? x.localeCompare(y) : m - n) * (down ? -1 : 1);
    };
    for (const group of groups) group.remove();
    all.replaceChildren(...[...rows].sort(order));
    table.append(all);
    table.classList.add("flat");
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", down ? "descending" : "ascending");
    bar.querySelector("button").hidden = false;
  };
  const unsort = () => {
    all.remove();
    for (const row of rows) home.get(row).append(row);
    table.append(...groups);
    table.classList.remove("flat");
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    bar.querySelector("button").hidden = true;
    sorted = -1;
  };
  [...table.tHead.rows[0].cells].forEach((heading, place) => {
    heading.tabIndex = 0;
    heading.addEventListener("click", () => sort(place, heading));
    heading.addEventListener("keydown", event => {
      if (event.key === "Enter") sort(place, heading);
    });
  });
  bar.addEventListener("input", show);
  bar.querySelector("button").addEventListener("click", unsort);
})();
