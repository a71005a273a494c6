// The form of an import: the columns of a CSV file, each with three of its values, as lists of fields, and the hosts of its
// short URLs, which move to hosts of the account.
import { $ } from "./dom.js";

const BYTES = 65_536;
const MAX_ROWS = 200;
const SHOWN_VALUES = 3;
const MAX_HOSTS = 3;
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

/** Returns the header and the first rows of a CSV file, and whether it is valid; null if it is another kind of file. */
async function readRows(file) {
  const bytes = new Uint8Array(await file.slice(0, BYTES).arrayBuffer());
  const mark = `${bytes[0]} ${bytes[1]}`;
  const encoding = { "255 254": "utf-16le", "254 255": "utf-16be" }[mark] ?? "utf-8";
  const text = new TextDecoder(encoding).decode(bytes, { stream: true }).trimStart();
  if (OTHER_KIND.test(text) || text.includes("\0")) return null;
  const content = text.replace(/^sep=[^\r\n]*[\r\n]+/i, "");
  const first = content.split(/[\r\n]/, 1)[0].replace(/"[^"]*"/g, "");
  const [separator] = [",", ";", "\t"].sort((a, b) => first.split(b).length - first.split(a).length);
  const records = parseRecords(content, separator, MAX_ROWS + 1);
  if (file.size > BYTES && records.length > SHOWN_VALUES + 1) records.pop(); // it can be cut
  return { records, isValid: !text.includes("\ufffd") };
}

const plain = (name) =>
  name
    .normalize("NFC")
    .toLowerCase()
    .replace(/[\s_-]/g, "");

const ADDRESS = /^(?:https?:\/\/\S+|(?:[\p{L}\p{N}-]+\.)+\p{L}{2,}(?:[/?#]\S*)?)$/iu;
const valuesOf = (rows, index) => rows.map((row) => row[index] ?? "").filter(Boolean);

/** Returns the column whose values are addresses, but for a third; of several the one with the longest; -1 for none. */
function findAddresses(selects, rows) {
  const lengths = selects.map(({ value }, index) => {
    const values = valuesOf(rows, index);
    const found = values.filter((text) => ADDRESS.test(text));
    return !value && found.length * 3 >= values.length * 2 ? found.join("").length / (found.length || 1) : 0;
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

/** Returns the hosts of the short URLs, or of the column of hosts, in the order of their first row. */
function findHosts(selects, rows) {
  const patterns = {
    short: /^(?:https?:\/\/)?([^/\s:]+\.[^/\s:]+)/i,
    alias: /^https?:\/\/([^/\s:]+)/i,
    host: /^(?:https?:\/\/)?([^/\s:]+)/i,
  };
  const hosts = selects.flatMap(({ value }, index) =>
    patterns[value] ? valuesOf(rows, index).map((text) => patterns[value].exec(text)?.[1].toLowerCase()) : [],
  );
  return [...new Set(hosts.filter(Boolean))];
}

const movedHosts = new Set();

/** Writes the hosts and their lists into the text that is sent. Lines of other hosts stay. */
function writeHosts() {
  const lines = $("#mapping").value.split(/\s+/);
  const kept = lines.filter((line) => line && !movedHosts.has(line.split("=")[0].toLowerCase()));
  const chosen = [...document.querySelectorAll("#import-hosts select")].filter(({ value }) => value !== "none");
  $("#mapping").value = [...kept, ...chosen.map(({ value, dataset }) => `${dataset.from}=${value}`)].join("\n");
}

/** Shows a list of the own hosts for each other host of the file. */
function showHosts(selects, rows) {
  const own = [...$("#import-host").content.querySelectorAll("option")].map(({ dataset }) => dataset.host);
  const others = findHosts(selects, rows).filter((host) => !own.includes(host));
  const chosen = new Map(
    [...document.querySelectorAll("#import-hosts select")].map((each) => [each.dataset.from, each.value]),
  );
  const items = others.slice(0, MAX_HOSTS).map((host) => {
    const item = $("#import-host").content.cloneNode(true);
    const select = $("select", item);
    $("bdi", item).textContent = host;
    select.dataset.from = host;
    select.value = chosen.get(host) ?? select.value;
    movedHosts.add(host);
    return item;
  });
  $("#import-hosts").replaceChildren(...items);
  writeHosts();
}

function showColumns([header, ...rows]) {
  const items = header.map((name, index) => {
    const item = $("#import-column").content.cloneNode(true);
    $("strong", item).textContent = name;
    for (const value of valuesOf(rows, index).slice(0, SHOWN_VALUES)) {
      const sample = document.createElement("small");
      sample.dir = "auto";
      sample.textContent = value.slice(0, 120);
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
  showHosts(selects, rows);
  list.onchange = ({ target }) => {
    for (const other of selects) if (other !== target && other.value === target.value) other.value = "";
    writeLines(selects, header);
    showHosts(selects, rows);
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
  const { records = [], isValid = true } = (file && (await readRows(file))) || {};
  $("#columnnames").value = "";
  $("#import-encoding").hidden = isValid;
  $("#import-columns").hidden = !records.length;
  $("#import-columns-error").hidden = true;
  if (records.length) showColumns(records);
}

$("#import-lines").hidden = !$("#columnnames[aria-invalid]");
$("#file").addEventListener("change", showFile);
$("#import-hosts").addEventListener("change", writeHosts);
$(".import-form").addEventListener("submit", requireDestination);
showFile();
