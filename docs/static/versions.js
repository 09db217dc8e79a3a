// A list of the published versions below the name of the site, where `versions.json` stands beside the versions' folders.
"use strict";

addEventListener("DOMContentLoaded", async () => {
  if (!location.protocol.startsWith("http")) return; // a page on a disk may not read other files
  const root = new URL(`${document.documentElement.dataset.content_root}../`, location.href);
  const answer = await fetch(new URL("versions.json", root)).catch(() => null);
  const brand = document.querySelector(".sidebar-brand");
  if (!answer || !answer.ok || !brand) return;
  const list = document.createElement("select");
  list.className = "versions";
  list.setAttribute("aria-label", "Version");
  for (const version of await answer.json()) {
    const shown = version === DOCUMENTATION_OPTIONS.VERSION;
    list.append(new Option(version, version, shown, shown));
  }
  list.addEventListener("change", () => location.assign(new URL(`${list.value}/index.html`, root)));
  brand.after(list);
});
