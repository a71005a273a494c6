// The form of an import: the columns of a CSV file, with three rows of it, as lists of fields.
import { $ } from "./dom.js";

const BYTES = 65_536;
const ROWS = 3;
/** The start of a file that is none of CSV: archives, databases, JSON, HTML and SQL dumps. */
const OTHER_KIND = /^(?:PK|SQLite|[{[<]|--|\/\*|(?:set|create|drop|insert|replace|lock|use|start|begin)[ \t\r\n;])/i;

/** Returns the records of a text, at most `count`. A record that is not closed is the last one. */
function parseRecords(text, separator, count) {
  const records = [];
  let [record, cell, isQuoted] = [[], "", false];
  const endRecord = () => {
    record.push(cell.trim());
    if (record.some(Boolean)) records.push(record);
    [record, cell] = [[], ""];
  };
  for (let at = 0; at < text.length && records.length < count; at += 1) {
    const sign = text[at];
    if (sign === '"' && isQuoted && text[at + 1] === '"') cell += text[++at];
    else if (sign === '"') isQuoted = !isQuoted;
    else if (isQuoted) cell += sign;
    else if (sign === separator) {
      record.push(cell.trim());
      cell = "";
    } else if (sign === "\n" || sign === "\r") endRecord();
    else cell += sign;
  }
  if (records.length < count) endRecord();
  return records;
}

/** Returns the header and the first rows of a CSV file; null if it is another kind of file. */
async function readRows(file) {
  const bytes = new Uint8Array(await file.slice(0, BYTES).arrayBuffer());
  const mark = `${bytes[0]} ${bytes[1]}`;
  const encoding = { "255 254": "utf-16le", "254 255": "utf-16be" }[mark] ?? "utf-8";
  const text = new TextDecoder(encoding).decode(bytes).trimStart();
  if (OTHER_KIND.test(text) || text.includes("\0")) return null;
  const content = text.replace(/^sep=[^\r\n]*[\r\n]+/i, "");
  const first = content.split(/[\r\n]/, 1)[0].replace(/"[^"]*"/g, "");
  const [separator] = [",", ";", "\t"].sort((a, b) => first.split(b).length - first.split(a).length);
  return parseRecords(content, separator, ROWS + 1);
}

const plain = (name) =>
  name
    .normalize("NFC")
    .toLowerCase()
    .replace(/[\s_-]/g, "");

const ADDRESS = /^(?:https?:\/\/\S+|(?:[a-z0-9-]+\.)+[a-z]{2,}(?:\/\S*)?)$/i;

/** Returns the column whose samples are all addresses; of several the one with the longest; -1 if there is none. */
function findAddresses(selects, rows) {
  const lengths = selects.map(({ value }, index) => {
    const samples = rows.map((row) => row[index] ?? "").filter(Boolean);
    return !value && samples.length && samples.every((text) => ADDRESS.test(text)) ? samples.join("").length : 0;
  });
  const longest = Math.max(...lengths);
  return longest ? lengths.indexOf(longest) : -1;
}

/** Selects the field of each column by its usual names, in the order in which the server looks for them. */
function selectKnown(selects, header, rows) {
  const names = header.map(plain);
  const fields = [...(selects[0]?.options ?? [])].filter(({ value }) => value);
  const order = ["id", "short", "alias", "host"];
  const rank = ({ value }) => (order.includes(value) ? order.indexOf(value) : order.length);
  for (const { value, dataset } of fields.sort((a, b) => rank(a) - rank(b))) {
    const present = dataset.names.split(" ").map((name) => names.indexOf(name));
    const index = present.find((at) => at >= 0 && !selects[at].value);
    if (index !== undefined) selects[index].value = value;
  }
  const addresses = selects.some(({ value }) => value === "url") ? -1 : findAddresses(selects, rows);
  if (addresses >= 0) selects[addresses].value = "url";
}

/** Writes the field of each column into the text that is sent: a line for each field, empty if no column has it. */
function writeLines(selects, header) {
  const fields = [...selects[0].options].map(({ value }) => value).filter(Boolean);
  const columns = new Map(selects.map(({ value }, index) => [value, header[index].replace(/\s+/g, " ")]));
  $("#columnnames").value = fields.map((field) => `${field}=${columns.get(field) ?? ""}`).join("\n");
}

function showColumns([header, ...rows]) {
  const items = header.map((name, index) => {
    const item = $("#import-column").content.cloneNode(true);
    $("strong", item).textContent = name;
    for (const row of rows) {
      const sample = document.createElement("small");
      sample.dir = "auto";
      sample.textContent = (row[index] ?? "").slice(0, 120);
      $("[data-samples]", item).append(sample);
    }
    $("li", item).hidden = !name;
    return item;
  });
  const list = $(".import-columns");
  list.replaceChildren(...items);
  const selects = [...list.querySelectorAll("select")];
  selectKnown(selects, header, rows);
  writeLines(selects, header);
  list.onchange = ({ target }) => {
    for (const other of selects) if (other !== target && other.value === target.value) other.value = "";
    writeLines(selects, header);
    if (selects.some(({ value }) => value === "url")) showColumnError(selects, false);
  };
}

/** Shows or hides the message at the columns that none of them is the destination. */
function showColumnError(selects, isShown) {
  $("#import-columns-error").hidden = !isShown;
  for (const select of selects) {
    if (isShown) select.setAttribute("aria-invalid", "true");
    else select.removeAttribute("aria-invalid");
  }
}

/** Keeps the form, with its file and its columns, if no column of the CSV file is the destination. */
function requireDestination(event) {
  const selects = [...document.querySelectorAll(".import-columns select")];
  const isOfFile = !$("[name=service]:checked")?.value && !$("#import-columns").hidden;
  if (!isOfFile || selects.some(({ value }) => value === "url")) return;
  event.preventDefault();
  showColumnError(selects, true);
  selects.find((select) => !select.closest("[hidden]"))?.focus();
}

async function showFile() {
  const [file] = $("#file").files;
  const rows = file ? await readRows(file) : null;
  $("#columnnames").value = "";
  $("#import-columns").hidden = !rows?.length;
  $("#import-columns-error").hidden = true;
  if (rows?.length) showColumns(rows);
}

$("#import-lines").hidden = !$("#columnnames[aria-invalid]");
$("#file").addEventListener("change", showFile);
$(".import-form").addEventListener("submit", requireDestination);
showFile();
