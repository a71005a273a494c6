// A form is sent once, however often its button is pressed, until the next page is there.
import { busy, isBusy, PATIENCE } from "./telling.js";

document.addEventListener("submit", (event) => {
  const { target: form, submitter } = event;
  const words = form.dataset?.ask;
  if (isBusy(form) || (words && !confirm(words))) event.preventDefault();
  if (event.defaultPrevented || form.method !== "post" || submitter?.formTarget) return;
  const sent = [form, submitter].filter(Boolean);
  for (const one of sent) busy(one);
  setTimeout(() => sent.forEach((one) => busy(one, false)), PATIENCE); // stopped, or never answered
});

// A page that comes back out of the browser's memory is as it was left.
addEventListener("pageshow", ({ persisted }) => {
  if (persisted) for (const one of document.querySelectorAll("[aria-busy]")) busy(one, false);
});
