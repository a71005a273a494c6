// Pictures of bio pages: a selected one is made smaller, and our server returns the copy that the form then contains.
import { setBusy } from "./toast.js";

const MAX_SIDE = 1600; // pixels: more than any place on the page shows
const QUALITY = 0.9;

/** Returns a picture of at most MAX_SIDE pixels a side; the file itself if this browser cannot draw it. */
async function shrink(file) {
  try {
    const bitmap = await createImageBitmap(file);
    const scale = Math.min(1, MAX_SIDE / Math.max(bitmap.width, bitmap.height));
    if (scale === 1) return file;
    const canvas = document.createElement("canvas");
    canvas.width = Math.round(bitmap.width * scale);
    canvas.height = Math.round(bitmap.height * scale);
    canvas.getContext("2d").drawImage(bitmap, 0, 0, canvas.width, canvas.height);
    return (await new Promise((done) => canvas.toBlob(done, "image/webp", QUALITY))) ?? file;
  } catch {
    return file; // the server tells the reason
  }
}

/** Returns the answer of the server: our copy, or a message. */
async function upload(file, place, token) {
  const fields = new FormData();
  fields.append("token", token);
  fields.append("place", place);
  fields.append("picture", await shrink(file), "picture");
  const response = await fetch("/dashboard/bios/pictures", { method: "POST", body: fields });
  return response.json();
}

function show(field, value) {
  const [image, clear] = [field.querySelector("img"), field.querySelector("[data-clear-picture]")];
  field.querySelector("input[type=hidden]").value = value;
  image.src = value || "data:,";
  image.hidden = clear.hidden = !value;
  const thumbnail = field.closest("[data-block]")?.querySelector("[data-thumbnail]");
  if (thumbnail) Object.assign(thumbnail, { src: image.src, hidden: !value });
}

function showError(field, message) {
  const error = field.querySelector("[data-picture-error]");
  error.textContent = message;
  error.hidden = !message;
}

/** Uploads selected pictures of the form, and removes them on request. Each change is an `input` event of the form. */
export function connectPictures(form) {
  form.addEventListener("change", async ({ target }) => {
    const field = target.closest("[data-picture]");
    if (target.type !== "file" || !target.files.length) return;
    setBusy(field);
    try {
      const { picture, message } = await upload(target.files[0], field.dataset.picture, form.elements.token.value);
      showError(field, message ?? "");
      if (!picture) return;
      show(field, picture);
      target.value = ""; // the form has the copy
      form.dispatchEvent(new Event("input"));
    } catch {
      // Without an answer the file stays selected, and is sent with the form.
    } finally {
      setBusy(field, false);
    }
  });
  form.addEventListener("click", ({ target }) => {
    const button = target.closest("[data-clear-picture]");
    if (!button) return;
    const field = button.closest("[data-picture]");
    show(field, "");
    field.querySelector("input[type=file]").focus();
    form.dispatchEvent(new Event("input"));
  });
}
