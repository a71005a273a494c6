// Times that are shown as the time since then, such as "2 minutes ago".
import { language } from "./locale.js";

const UPDATE_MS = 10_000;
const UNITS = [
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60],
];
const phone = matchMedia("(max-width: 44rem)"); // shows a visit in one line

function newFormat() {
  const style = phone.matches ? "short" : "long";
  return new Intl.RelativeTimeFormat(language, { numeric: "auto", style });
}

let format = newFormat();

function formatAge(seconds) {
  const [unit, length] = UNITS.find(([, length]) => seconds >= length) ?? ["second", 1];
  return format.format(-Math.floor(seconds / length), unit);
}

function updateTimes() {
  for (const time of document.querySelectorAll("time[data-relative]")) {
    time.title ||= time.textContent;
    time.textContent = formatAge(Math.max(0, (Date.now() - new Date(time.dateTime)) / 1000));
  }
}

updateTimes();
setInterval(updateTimes, UPDATE_MS);
phone.addEventListener("change", () => {
  format = newFormat();
  updateTimes();
});
document.addEventListener("times-added", updateTimes);
document.addEventListener("htmx:after:swap", updateTimes);
