// For screen readers: the switches that unfold a part of the navigation are named after it, and a
// bibliography is no list, because docutils gives its entries another role than listitem.
document.addEventListener("DOMContentLoaded", () => {
  for (const toggle of document.querySelectorAll("summary:has(.toctree-toggle)")) {
    const part = toggle.closest("li").querySelector("a").textContent.trim();
    toggle.setAttribute("aria-label", `Pages of ${part}`);
  }
  for (const bibliography of document.querySelectorAll("div.citation-list[role=list]")) {
    bibliography.removeAttribute("role");
  }
});
