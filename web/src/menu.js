// The menu: the entry of the page is in view, and the folded group stays open after it was opened, also by one of its pages.
const SECONDS = 365 * 86_400;
const group = document.querySelector("[data-menu]");

function remember() {
  const value = group.open ? "open" : "";
  document.cookie = `waypost_menu=${value}; path=/dashboard; max-age=${value ? SECONDS : 0}; samesite=lax`;
}

document.querySelector(".sidebar nav [aria-current]")?.scrollIntoView({ block: "nearest" });
if (group) {
  if (group.open) remember();
  group.addEventListener("toggle", remember);
}
