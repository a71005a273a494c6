// Uploads: files dropped or chosen go up one after the other, each with its progress. Without this, the form does it.
const form = document.querySelector("[data-upload]");
const zone = form.querySelector("[data-zone]");
const field = form.querySelector("#file");
const list = form.querySelector("[data-uploads]");
const words = document.getElementById("upload-words");
const blank = document.getElementById("one-upload").content.firstElementChild;
const copy = words.content.querySelector(".copy");
const UNITS = ["byte", "kilobyte", "megabyte", "gigabyte", "terabyte"];
const most = Number(form.dataset.most);
let left = form.dataset.left === "" ? Infinity : Number(form.dataset.left);
const waiting = [];
let running = 0;

field.required = false;
form.classList.add("live");

function size(bytes) {
  const power = bytes < 1000 ? 0 : Math.min(4, Math.floor(Math.log10(bytes) / 3));
  const shape = { style: "unit", unit: UNITS[power], unitDisplay: "short", maximumSignificantDigits: 3 };
  return new Intl.NumberFormat(document.documentElement.lang, shape).format(bytes / 1000 ** power);
}

function line(file) {
  const item = blank.cloneNode(true);
  item.querySelector(".what").textContent = file.name;
  item.querySelector("progress").setAttribute("aria-label", file.name);
  list.append(item);
  return item;
}

function say(item, told, state = "") {
  item.querySelector("small").textContent = told;
  if (state) item.dataset.state = state;
}

function fail(item, told) {
  item.querySelector("progress").remove();
  item.querySelector("[data-stop]").remove();
  say(item, told, "bad");
}

function finish(item, made) {
  item.querySelector("progress").remove();
  item.querySelector("[data-stop]").remove();
  const link = document.createElement("a");
  link.href = made.url;
  link.target = "_blank";
  link.rel = "noopener";
  link.textContent = made.url.replace(/^https?:\/\//, "");
  const button = copy.cloneNode(true);
  button.dataset.copy = made.url;
  const settings = document.createElement("a");
  settings.className = "button quiet small";
  settings.href = `/dashboard/files/${made.id}`;
  settings.textContent = words.dataset.done;
  const short = document.createElement("span");
  short.className = "short";
  short.append(link, button);
  item.querySelector("small").replaceChildren(short);
  item.append(settings);
  item.dataset.state = "good";
}

/** Everything of the form but its file, then this file: what comes behind a file is not known when it is taken. */
function body(file) {
  const data = new FormData();
  for (const [name, value] of new FormData(form)) if (name !== "file") data.append(name, value);
  data.append("file", file, file.name);
  return data;
}

function send({ file, item }) {
  running += 1;
  const request = new XMLHttpRequest();
  const bar = item.querySelector("progress");
  const over = (told) => {
    fail(item, told);
    left += file.size;
    ready();
  };
  item.querySelector("[data-stop]").onclick = () => request.abort();
  request.upload.onprogress = (event) => {
    bar.value = (100 * event.loaded) / event.total;
    say(item, `${size(Math.min(event.loaded, file.size))} / ${size(file.size)}`);
  };
  request.onload = () => {
    let told = {};
    if (request.responseURL !== form.action) return leave(); // signed out
    try {
      told = JSON.parse(request.responseText);
    } catch {
      /* from somebody on the way */
    }
    if (request.status !== 200 || !told.files) return over(told.message ?? words.dataset.broke);
    finish(item, told.files[0]);
    form.querySelector("[name=custom]").value = ""; // it was for one
    ready();
  };
  request.onerror = () => over(words.dataset.broke);
  request.onabort = () => over(words.dataset.stopped);
  request.open("POST", form.action);
  request.setRequestHeader("Accept", "application/json");
  request.send(body(file));
}

/** To the sign-in, without a question. */
function leave() {
  running = waiting.length = 0;
  location.assign("/dashboard/files/new");
}

function ready() {
  running -= 1;
  next();
}

function next() {
  if (running === 0 && waiting.length) send(waiting.shift());
}

function take(files) {
  for (const file of files) {
    const item = line(file);
    if (file.size > most) fail(item, words.dataset.large);
    else if (file.size > left) fail(item, words.dataset.full);
    else {
      left -= file.size;
      say(item, `${size(file.size)}, ${words.dataset.waits}`);
      const job = { file, item };
      waiting.push(job);
      item.querySelector("[data-stop]").onclick = () => {
        waiting.splice(waiting.indexOf(job), 1);
        left += file.size;
        fail(item, words.dataset.stopped);
      };
    }
  }
  next();
}

form.querySelector("[data-choose]").addEventListener("click", () => field.click());
field.addEventListener("change", () => {
  take([...field.files]);
  field.value = "";
});
form.addEventListener("submit", (event) => event.preventDefault());

// The whole page takes what is dropped, so that nobody leaves it by missing the frame.
let depth = 0;
const carries = (event) => event.dataTransfer?.types.includes("Files");
addEventListener("dragenter", (event) => {
  if (carries(event)) {
    depth += 1;
    zone.classList.add("over");
  }
});
addEventListener("dragleave", (event) => {
  if (carries(event) && (depth -= 1) === 0) zone.classList.remove("over");
});
addEventListener("dragover", (event) => {
  if (carries(event)) event.preventDefault();
});
addEventListener("drop", (event) => {
  if (!carries(event)) return;
  event.preventDefault();
  depth = 0;
  zone.classList.remove("over");
  take([...event.dataTransfer.files]);
});
addEventListener("beforeunload", (event) => {
  if (running || waiting.length) event.preventDefault();
});
