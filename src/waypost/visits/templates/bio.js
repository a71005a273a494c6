// Public bio pages: the share button, and players that load nothing before the visitor presses play.
(() => {
  const url = document.querySelector("link[rel=canonical]").href;
  const share = document.querySelector("[data-share]");
  if (navigator.share || navigator.clipboard) {
    share.hidden = false;
    share.addEventListener("click", async () => {
      try {
        if (navigator.share) await navigator.share({ title: document.title, url });
        else {
          await navigator.clipboard.writeText(url);
          document.querySelector("[role=status]").textContent = share.dataset.copied;
        }
      } catch {
        // The visitor closed the list of apps.
      }
    });
  }
  document.addEventListener("click", (event) => {
    const link = event.target.closest("[data-player]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const frame = document.createElement("iframe");
    frame.title = link.dataset.player;
    frame.allow = "autoplay; encrypted-media; fullscreen; picture-in-picture";
    frame.referrerPolicy = "strict-origin-when-cross-origin"; // some players refuse to play without an origin
    frame.src = `${link.getAttribute("href")}?play=1`;
    link.replaceWith(frame);
    frame.focus();
  });
})();
