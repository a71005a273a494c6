// The share menu of the device. Without one, the link itself opens an e-mail, and the URL is copied: a computer without a
// program for e-mail does nothing with such a link.
import { copyText } from "./copy.js";

/** Shares the URL of a link. Closing the menu is no error. */
export async function share(link) {
  if (!navigator.share) {
    await copyText(link);
    return location.assign(link.href);
  }
  try {
    await navigator.share({ url: link.dataset.share });
  } catch (error) {
    if (error.name !== "AbortError") location.assign(link.href);
  }
}
