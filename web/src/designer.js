// A logo from this computer: made small here, and sent with the form as a picture inside it.
import { busy } from "./telling.js";

const MOST = 400; // pixels
const box = document.querySelector("[data-logo]");
const field = box.querySelector("#logo");
const file = box.querySelector("#logo-file");
const hidden = box.querySelector("[data-inline]");
const shown = box.querySelector("img");
const forget = box.querySelector("[data-forget]");
const waiting = [box.closest("form"), box.querySelector("label.button")]; // the form is not sent without its picture

function show(data) {
  hidden.value = data;
  hidden.disabled = !data;
  shown.hidden = forget.hidden = !data;
  if (data) shown.src = data;
  field.closest(".field").hidden = Boolean(data);
}

/** The picture as a PNG of at most so many pixels; a JPEG where that would be too much for a form. */
async function small(chosen) {
  const address = URL.createObjectURL(chosen);
  const image = new Image();
  image.src = address;
  await image.decode();
  const width = image.naturalWidth || MOST;
  const height = image.naturalHeight || MOST;
  const scale = Math.min(1, MOST / Math.max(width, height));
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round(width * scale));
  canvas.height = Math.max(1, Math.round(height * scale));
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(address);
  const exact = canvas.toDataURL("image/png");
  return exact.length < 600_000 ? exact : canvas.toDataURL("image/jpeg", 0.9);
}

let newest = null; // of the pictures that were chosen: a large one may be ready later than a small one after it
file.addEventListener("change", async (event) => {
  event.stopPropagation();
  if (!file.files.length) return;
  const chosen = (newest = file.files[0]);
  for (const one of waiting) busy(one);
  const picture = await small(chosen).catch(() => "");
  if (newest !== chosen) return;
  for (const one of waiting) busy(one, false);
  show(picture);
  file.value = "";
  hidden.dispatchEvent(new Event("input", { bubbles: true }));
});

forget.addEventListener("click", () => {
  show("");
  field.dispatchEvent(new Event("input", { bubbles: true }));
  field.focus();
});

if (!hidden.disabled) show(hidden.value);
