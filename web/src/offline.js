// Registers the service worker, which browsers allow on HTTPS and localhost only.
const style = document.querySelector("link[rel=stylesheet]");

if (navigator.serviceWorker && style) {
  const { pathname } = new URL(style.href);
  navigator.serviceWorker
    .register(`/dashboard/service-worker.js?style=${encodeURIComponent(pathname)}`, { scope: "/dashboard" })
    .catch(() => {}); // such as in private windows: the dashboard works without it
}
