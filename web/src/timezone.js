// Stores the browser's time zone in a cookie. On the first page, which the server rendered without it, times are
// converted here, unless the account has a time zone of its own. If the browser has another zone than the page, for example
// after a journey, the page is loaded again: its days, charts and fields are of the former zone.
import { formatDay } from "./locale.js";

const zone = Intl.DateTimeFormat().resolvedOptions().timeZone ?? "UTC";
const cookie = `waypost_zone=${encodeURIComponent(zone)}`;
const twoDigits = (number) => String(number).padStart(2, "0");
const formatTime = (date) => `${formatDay.format(date)}, ${twoDigits(date.getHours())}:${twoDigits(date.getMinutes())}`;

if (!document.cookie.split("; ").includes(cookie)) {
  const secure = location.protocol === "https:" ? "; secure" : "";
  document.cookie = `${cookie}; path=/dashboard; max-age=31536000; samesite=lax${secure}`;
  const times = document.documentElement.dataset.zone ? [] : document.querySelectorAll("time[data-local]");
  for (const time of times) {
    time.textContent = formatTime(new Date(time.dateTime));
    time.title = zone;
  }
  const { browserZone } = document.documentElement.dataset;
  if (browserZone && browserZone !== zone && document.cookie.split("; ").includes(cookie)) location.reload();
}
