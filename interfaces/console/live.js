// Brings what moves on a page up to date: the parts that are marked data-live, every few seconds while somebody looks.
// Without it the page says the same, and its link "Look again" does this.
"use strict";
const SECONDS = 3;

async function lookAgain() {
  const parts = document.querySelectorAll("[data-live]");
  if (!parts.length || document.hidden) return;
  let page;
  try {
    const answer = await fetch(location.href, { headers: { "X-Privity-Live": "1" } });
    if (!answer.ok) return location.reload();
    page = new DOMParser().parseFromString(await answer.text(), "text/html");
  } catch {
    return; // the console was ended: what is shown stays
  }
  document.title = page.title;
  for (const part of parts) {
    const fresh = page.getElementById(part.id);
    // Whoever is at work in a part keeps it.
    if (fresh && fresh.innerHTML !== part.innerHTML && !part.contains(document.activeElement)) {
      part.innerHTML = fresh.innerHTML;
    }
  }
}

setInterval(lookAgain, SECONDS * 1000);
