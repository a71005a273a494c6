// The share menu of the device. Without one, a list of links to services: an e-mail alone does nothing on a computer without
// a program for e-mail.

/** Shares the URL of a link, or shows or hides the services after it. Closing the menu of the device is no error. */
export async function share(link) {
  if (!navigator.share) return showServices(link);
  try {
    await navigator.share({ url: link.dataset.share });
  } catch (error) {
    if (error.name !== "AbortError") showServices(link);
  }
}

/** Shows or hides the services after a link; a row of a list has none, so its link opens an e-mail. */
function showServices(link) {
  const services = link.nextElementSibling;
  if (!services?.matches("[data-services]")) return location.assign(link.href);
  services.hidden = !services.hidden;
  link.setAttribute("aria-expanded", String(!services.hidden));
}
