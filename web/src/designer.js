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

// Buttons that fill in fields: saved styles, color presets, and the repair of a contrast, which comes with each preview.
const form = document.querySelector(".designer");
form.addEventListener("click", (event) => {
  const button = event.target.closest?.("[data-fields]");
  if (!button) return;
  event.preventDefault(); // without scripts, a saved style is applied by the server
  const fields = Object.entries(JSON.parse(button.dataset.fields));
  for (const [name, value] of fields) {
    const field = form.elements[name];
    if (!field) continue; // there are no former logos
    if (field.type === "checkbox") field.checked = Boolean(value);
    else field.value = value;
  }
  const first = fields.flatMap(([name]) => form.elements[name] ?? [])[0];
  first?.dispatchEvent(new Event("input", { bubbles: true }));
  if (!button.closest("fieldset")) first?.focus();
});

/** Returns whether the form has these values; a logo does not count, as on the server. */
function isApplied(fields) {
  return Object.entries(fields).every(([name, value]) => {
    const field = form.elements[name];
    if (!field || name === "former") return true;
    if (field.type === "checkbox") return field.checked === Boolean(value);
    return field.value.toLowerCase() === value.toLowerCase();
  });
}

/** Marks the color preset and the styles whose values the form has. */
function markApplied() {
  for (const button of form.querySelectorAll("[data-fields][aria-pressed]")) {
    button.setAttribute("aria-pressed", isApplied(JSON.parse(button.dataset.fields)));
  }
}
form.addEventListener("input", markApplied);
addEventListener("pageshow", markApplied); // after the browser has restored the fields

// The fields of saved styles do not change the code.
form.addEventListener(
  "input",
  (event) => {
    if (event.target.closest("#style-tools")) event.stopPropagation();
  },
  true,
);

// The width of the PDF files.
const width = document.querySelector("[data-cm]");
width?.addEventListener("input", (event) => {
  event.stopPropagation();
  if (!width.value || !width.validity.valid) return;
  for (const link of document.querySelectorAll("[data-pdf]")) {
    const url = new URL(link.href);
    url.searchParams.set("size", Math.round((width.valueAsNumber / 2.54) * 72)); // points
    link.href = url.href;
    link.download = link.download.replace(/[\d.]+ cm\.pdf$/, `${width.value} cm.pdf`);
  }
});
