// A logo from a local file: scaled down here and sent with the form as a data URL.
import { setBusy } from "./toast.js";

const MAX_PIXELS = 400; // of width and height
const MAX_PNG_LENGTH = 600_000; // characters of the data URL
const box = document.querySelector("[data-logo]");
const urlField = box.querySelector("#logo");
const fileInput = box.querySelector("#logo-file");
const dataField = box.querySelector("[data-inline]");
const removeButton = box.querySelector("[data-forget]");
const image = new Image(); // of the chosen logo
image.alt = "";
image.hidden = true;
removeButton.before(image);
const pending = [box.closest("form"), box.querySelector("label.button")]; // busy until the image is ready

function showLogo(data) {
  dataField.value = data;
  dataField.disabled = !data;
  image.hidden = removeButton.hidden = !data;
  if (data) image.src = data;
  urlField.closest(".field").hidden = Boolean(data);
}

/** Returns the image as the data URL of a small PNG, or of a JPEG where the PNG would be too large for the form. */
async function scaleDown(source) {
  const url = URL.createObjectURL(source);
  const picture = new Image();
  picture.src = url;
  await picture.decode();
  const width = picture.naturalWidth || MAX_PIXELS;
  const height = picture.naturalHeight || MAX_PIXELS;
  const scale = Math.min(1, MAX_PIXELS / Math.max(width, height));
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, Math.round(width * scale));
  canvas.height = Math.max(1, Math.round(height * scale));
  canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
  URL.revokeObjectURL(url);
  const png = canvas.toDataURL("image/png");
  return png.length < MAX_PNG_LENGTH ? png : canvas.toDataURL("image/jpeg", 0.9);
}

let selectedFile = null; // the latest selection: an earlier, larger file can be ready after it
fileInput.addEventListener("change", async (event) => {
  event.stopPropagation();
  if (!fileInput.files.length) return;
  const file = (selectedFile = fileInput.files[0]);
  for (const element of pending) setBusy(element);
  const data = await scaleDown(file).catch(() => "");
  if (selectedFile !== file) return;
  for (const element of pending) setBusy(element, false);
  showLogo(data);
  fileInput.value = "";
  dataField.dispatchEvent(new Event("input", { bubbles: true }));
});

removeButton.addEventListener("click", () => {
  showLogo("");
  urlField.dispatchEvent(new Event("input", { bubbles: true }));
  urlField.focus();
});

if (!dataField.disabled) showLogo(dataField.value);

// The message about the contrast comes with each preview: its button takes over the color that it proposes.
document.querySelector(".designer").addEventListener("click", (event) => {
  const ink = event.target.closest?.("[data-ink]")?.dataset.ink;
  if (!ink) return;
  const field = document.querySelector("#foreground");
  field.value = ink;
  field.dispatchEvent(new Event("input", { bubbles: true }));
  field.focus();
});
