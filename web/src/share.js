// The share menu of the device, if there is one; the link itself opens an e-mail.

/** Shares the URL of a link. Closing the menu is no error. */
export async function share(link) {
  if (!navigator.share) return location.assign(link.href);
  try {
    await navigator.share({ url: link.dataset.share });
  } catch (error) {
    if (error.name !== "AbortError") location.assign(link.href);
  }
}
