// A field above every long table, and above pages of entries (<div class="filter" data-of="h2">): what is typed leaves the rows, or
// the entries, that have all of its words. `operators.html?filter=Conv` begins with one.
document.addEventListener("DOMContentLoaded", () => {
  const page = document.querySelector("article.md-content__inner");
  if (!page) return;
  const begin = new URLSearchParams(location.search).get("filter") || "";

  for (const table of page.querySelectorAll("table")) {
    const rows = [...table.tBodies[0].rows];
    if (rows.length < 25) continue;
    const outside = table.closest(".md-typeset__scrollwrap") || table;
    outside.before(field(rows.map((row) => ({ first: row.cells[0].textContent, parts: [row] })), begin));
  }

  for (const place of page.querySelectorAll("div.filter")) {
    const entries = [...page.querySelectorAll(place.dataset.of)].map((head) => {
      const parts = [head];
      for (let next = head.nextElementSibling; next && !next.matches(`${place.dataset.of}, p:has(> a[id])`); next = next.nextElementSibling)
        parts.push(next);
      return { first: head.textContent, parts };
    });
    place.append(field(entries, begin));
  }
});

function field(entries, begin) {
  const input = document.createElement("input");
  input.type = "search";
  input.placeholder = `filter ${entries.length} entries`;
  input.setAttribute("aria-label", "filter");
  input.value = begin;
  const count = document.createElement("output");
  const texts = entries.map((entry) => entry.parts.map((part) => part.textContent).join(" ").toLowerCase());
  const show = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    entries.forEach((entry, i) => {
      const fits = words.every((word) => texts[i].includes(word));
      shown += fits;
      entry.parts.forEach((part) => (part.hidden = !fits));
    });
    count.value = words.length ? `${shown} of ${entries.length}` : "";
  };
  input.addEventListener("input", show);
  show();
  const box = document.createElement("p");
  box.className = "filter-box";
  box.append(input, count);
  return box;
}
