"use strict";
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") !== "descending";
      heads.forEach(other => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const value = row => row.cells[column].dataset.value ?? row.cells[column].textContent;
      const numbers = head.classList.contains("number");
      const order = (a, b) => numbers ? Number(value(a) || -1) - Number(value(b) || -1) : value(a).localeCompare(value(b));
      body.append(...[...body.rows].sort((a, b) => (down ? -1 : 1) * order(a, b)));
    });
  });
  const field = document.querySelector(`input[data-for="${table.id}"]`);
  if (field) {
    field.hidden = false;
    field.addEventListener("input", () => {
      const wanted = field.value.toLowerCase();
      for (const row of body.rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
    });
  }
}
const open = () => {
  const found = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
  for (let part = found; part; part = part.parentElement) if (part.tagName === "DETAILS") part.open = true;
  if (found) found.scrollIntoView({ block: "center" });
};
addEventListener("hashchange", open);
open();
