// Lists dropped or selected files, uploads them one after the other on submit, and shows the progress. Without scripts, the
// form does it.
import { language } from "./locale.js";

const form = document.querySelector("[data-upload]");
const zone = form.querySelector("[data-zone]");
const field = form.querySelector("#file");
const list = form.querySelector("[data-uploads]");
const messages = document.getElementById("upload-words");
const icons = document.getElementById("file-icons").content;
const result = form.querySelector("[data-result]");
const itemTemplate = document.getElementById("one-upload").content.firstElementChild;
const copyButton = messages.content.querySelector(".copy");
const UNITS = ["byte", "kilobyte", "megabyte", "gigabyte", "terabyte"];
const UNIT_DISPLAY = document.documentElement.lang === "ar" ? "long" : "short"; // as on the server
const maxBytes = Number(form.dataset.most);
let freeBytes = form.dataset.left === "" ? Infinity : Number(form.dataset.left);
const options = form.querySelector(".upload-options");
const chooseButton = form.querySelector("[data-choose]");
const chooseLabel = chooseButton.textContent;
const aliasField = form.elements.custom;
const selected = []; // files that the next submit uploads
const queue = []; // those that are uploaded after the running one
let isRunning = false;

field.required = false;
form.classList.add("enhanced");
list.after(options);

function formatBytes(bytes) {
  const power = bytes < 1000 ? 0 : Math.min(4, Math.floor(Math.log10(bytes) / 3));
  const shape = { style: "unit", unit: UNITS[power], unitDisplay: UNIT_DISPLAY, maximumSignificantDigits: 3 };
  return new Intl.NumberFormat(language, shape).format(bytes / 1000 ** power);
}

const PICTURE = /^image\/(?:png|jpeg|webp|gif|avif)$/;
const MAX_PICTURE_BYTES = 20e6;
const ICONS = [
  ["photo", /^image\//],
  ["film", /^video\//],
  ["musical-note", /^audio\//],
  ["document-text", /^text\/|pdf|document|sheet|presentation|msword|ms-excel|ms-powerpoint|json|xml/],
  ["archive-box", /zip|tar|compressed|rar/],
];

/** Shows a picture as itself, another file by the icon of its type. */
function showPicture(place, file) {
  const [name] = ICONS.find(([, types]) => types.test(file.type)) ?? ["document"];
  place.replaceChildren(...icons.querySelector(`[data-type="${name}"]`).cloneNode(true).childNodes);
  if (!PICTURE.test(file.type) || file.size > MAX_PICTURE_BYTES) return;
  const picture = new Image();
  picture.alt = "";
  picture.onload = () => {
    place.replaceChildren(picture);
    URL.revokeObjectURL(picture.src);
  };
  picture.onerror = () => URL.revokeObjectURL(picture.src);
  picture.src = URL.createObjectURL(file);
}

function addItem(file) {
  const item = itemTemplate.cloneNode(true);
  showPicture(item.querySelector("[data-picture]"), file);
  item.querySelector(".file-name").textContent = file.name;
  item.querySelector("progress").setAttribute("aria-label", file.name);
  list.append(item);
  return item;
}

/** Shows the settings and Upload while files are selected. An alias is for a single file. */
function update() {
  const isReady = selected.length > 0;
  if (isReady && !form.classList.contains("ready")) options.open = true;
  const isListed = list.childElementCount > 0;
  form.classList.toggle("ready", isReady);
  zone.classList.toggle("small", isListed);
  chooseButton.classList.toggle("secondary", isListed);
  chooseButton.textContent = isListed ? chooseButton.dataset.more : chooseLabel;
  aliasField.closest(".field").hidden = aliasField.disabled = selected.length > 1;
  showResult();
}

/** Adds a file to those that the next submit uploads; `message` is why its last upload failed. Its alias comes back. */
function select(job, message = "") {
  const { file, item } = job;
  if (job.settings) aliasField.value ||= new Map(job.settings).get("custom") ?? "";
  selected.push(job);
  showStatus(item, message || formatBytes(file.size), message ? "bad" : "selected");
  item.querySelector("[data-stop]").onclick = () => {
    selected.splice(selected.indexOf(job), 1);
    freeBytes += file.size;
    item.remove();
    update();
    chooseButton.focus();
  };
}

function showStatus(item, message, state = "") {
  item.querySelector("small").textContent = message;
  if (state) item.dataset.state = state;
}

function fail(item, message) {
  item.querySelector("progress").remove();
  item.querySelector("[data-stop]").remove();
  showStatus(item, message, "bad");
}

function finish(item, uploaded) {
  item.querySelector("progress").remove();
  item.querySelector("[data-stop]").remove();
  const link = document.createElement("a");
  link.href = uploaded.url;
  link.target = "_blank";
  link.rel = "noopener";
  link.textContent = uploaded.url.replace(/^https?:\/\//, "");
  const button = copyButton.cloneNode(true);
  button.dataset.copy = uploaded.url;
  button.title = link.textContent;
  button.classList.remove("secondary");
  const settings = document.createElement("a");
  settings.className = "button secondary small";
  settings.href = `/dashboard/files/${uploaded.id}`;
  settings.textContent = messages.dataset.done;
  const name = document.createElement("a");
  name.href = settings.href;
  const box = item.querySelector(".file-name");
  name.append(...box.childNodes);
  box.append(name);
  const shortUrl = document.createElement("span");
  shortUrl.className = "short-url";
  shortUrl.append(link);
  item.querySelector("small").replaceChildren(shortUrl);
  item.append(button, settings);
  item.dataset.state = "good";
}

/** Says that the uploads are complete, and moves the focus from the button Upload, which is hidden now, to the first URL. */
function showResult() {
  const done = list.querySelectorAll("[data-state=good]");
  const isComplete = done.length > 0 && !isRunning && !queue.length && !selected.length;
  result.hidden = !isComplete;
  if (!isComplete) return;
  result.querySelector("strong").textContent = done.length > 1 ? messages.dataset.allReady : messages.dataset.ready;
  if (
    document.activeElement === document.body ||
    form.querySelector(".upload-actions").contains(document.activeElement)
  ) {
    done[0].querySelector(".copy").focus();
  }
}

/** Returns the settings with the file as the last part, because the server reads the parts in order. */
function buildBody({ file, settings }) {
  const data = new FormData();
  for (const [name, value] of settings) data.append(name, value);
  data.append("file", file, file.name);
  return data;
}

/** Marks the fields whose values the server refuses, opens their section, and focuses the first. */
function markFields(names) {
  const fields = names.map((name) => form.elements[name]).filter(Boolean);
  for (const input of fields) {
    input.setAttribute("aria-invalid", "true");
    input.closest("details").open = true;
    input.addEventListener("input", () => input.removeAttribute("aria-invalid"), { once: true });
  }
  fields[0]?.focus();
}

function upload(job) {
  const { file, item } = job;
  isRunning = true;
  item.dataset.state = "running";
  const request = new XMLHttpRequest();
  const progress = item.querySelector("progress");
  const retry = (message) => {
    select(job, message);
    finishUpload();
  };
  nameStop(item).onclick = () => request.abort();
  request.upload.onprogress = (event) => {
    progress.value = (100 * event.loaded) / event.total;
    showStatus(item, `${formatBytes(Math.min(event.loaded, file.size))} / ${formatBytes(file.size)}`);
  };
  request.onload = () => {
    let result = {};
    if (request.responseURL !== form.action) return goToSignIn();
    try {
      result = JSON.parse(request.responseText);
    } catch {
      /* an error page of a proxy */
    }
    if (request.status === 200 && result.files) {
      finish(item, result.files[0]);
    } else if (result.fields?.length) {
      select(job, result.message);
      for (const other of queue.splice(0)) select(other);
      update();
      markFields(result.fields);
    } else if (result.message) {
      fail(item, result.message);
      freeBytes += file.size;
    } else return retry(messages.dataset.failed);
    finishUpload();
  };
  request.onerror = () => retry(messages.dataset.failed);
  request.onabort = () => {
    fail(item, messages.dataset.stopped);
    freeBytes += file.size;
    finishUpload();
  };
  request.open("POST", form.action);
  request.setRequestHeader("Accept", "application/json");
  request.send(buildBody(job));
}

/** Opens the sign-in page, without the browser asking whether to leave. */
function goToSignIn() {
  isRunning = false;
  queue.length = selected.length = 0;
  location.assign("/dashboard/files/new");
}

function finishUpload() {
  isRunning = false;
  startNext();
  update();
}

function startNext() {
  if (!isRunning && queue.length) upload(queue.shift());
}

/** Returns the button that stops the upload of a file. */
function nameStop(item) {
  const button = item.querySelector("[data-stop]");
  button.title = button.querySelector(".visually-hidden").textContent = messages.dataset.stop;
  return button;
}

/** Uploads the selected files after those that are being uploaded, with the settings that the form has now. */
function enqueue() {
  if (!selected.length) return;
  const settings = [...new FormData(form)].filter(([name]) => name !== "file");
  aliasField.value = "";
  for (const job of selected.splice(0)) {
    const { file, item } = job;
    job.settings = settings;
    showStatus(item, `${formatBytes(file.size)}, ${messages.dataset.waits}`, "running");
    queue.push(job);
    nameStop(item).onclick = () => {
      queue.splice(queue.indexOf(job), 1);
      freeBytes += file.size;
      fail(item, messages.dataset.stopped);
    };
  }
  startNext();
  update();
}

function add(files) {
  for (const file of files) {
    const item = addItem(file);
    if (file.size > maxBytes) fail(item, messages.dataset.large);
    else if (file.size > freeBytes) fail(item, messages.dataset.full);
    else {
      freeBytes -= file.size;
      select({ file, item });
    }
  }
  update();
}

chooseButton.addEventListener("click", () => field.click());
field.addEventListener("change", () => {
  add([...field.files]);
  field.value = "";
});
form.addEventListener("submit", (event) => {
  event.preventDefault();
  enqueue();
});

// Files can be dropped anywhere: the browser would open a file that misses the drop zone.
let dragDepth = 0;
const hasFiles = (event) => event.dataTransfer?.types.includes("Files");
addEventListener("dragenter", (event) => {
  if (hasFiles(event)) {
    dragDepth += 1;
    zone.classList.add("drag-over");
  }
});
addEventListener("dragleave", (event) => {
  if (hasFiles(event) && (dragDepth -= 1) === 0) zone.classList.remove("drag-over");
});
addEventListener("dragover", (event) => {
  if (hasFiles(event)) event.preventDefault();
});
addEventListener("drop", (event) => {
  if (!hasFiles(event)) return;
  event.preventDefault();
  dragDepth = 0;
  zone.classList.remove("drag-over");
  add([...event.dataTransfer.files]);
});
addEventListener("beforeunload", (event) => {
  if (isRunning || queue.length || selected.length) event.preventDefault();
});
