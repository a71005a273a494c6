// Shows a page while there is no network. It keeps that page and its style sheet, and nothing of an account.
const CACHE = "offline";
const PAGE = "/dashboard/offline";
const STYLE = new URL(self.location).searchParams.get("style"); // a new style sheet is a new version of this worker

self.addEventListener("install", (event) => {
  const requests = [PAGE, STYLE].filter(Boolean).map((url) => new Request(url, { cache: "reload" }));
  event.waitUntil(caches.open(CACHE).then((cache) => cache.addAll(requests)));
  self.skipWaiting();
});

self.addEventListener("activate", (event) => {
  const removeOldStyles = async () => {
    const cache = await caches.open(CACHE);
    const isOld = ({ url }) => ![PAGE, STYLE].includes(new URL(url).pathname);
    await Promise.all((await cache.keys()).filter(isOld).map((request) => cache.delete(request)));
  };
  event.waitUntil(removeOldStyles());
});

self.addEventListener("fetch", (event) => {
  const { request } = event;
  const isPage = request.mode === "navigate" && request.method === "GET";
  const isStyle = new URL(request.url).pathname === STYLE;
  if (isPage) event.respondWith(fetch(request).catch(() => caches.match(PAGE)));
  else if (isStyle) event.respondWith(fetch(request).catch(() => caches.match(request)));
});
