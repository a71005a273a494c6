// Draws a chart from a table on the page; the table stays for screen readers.
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { language, locale } from "./locale.js";

const { bars } = uPlot.paths;
/** Columns next to each other; the one of the `current` point is pale, since its time is not over. */
const columns = (side, color, count, current) => {
  const values = () => Array.from({ length: count }, (_, index) => (index === current ? pale(color) : color));
  const disp = { fill: { unit: 3, values }, stroke: { unit: 3, values } };
  return bars({ size: [0.36, 18], radius: 0.18, align: side, disp });
};
const pale = (color) => color.replace(/^rgb\((.*)\)$/, "rgba($1, 0.45)");

function draw(canvas) {
  const table = document.getElementById(canvas.dataset.chart);
  const rows = [...table.tBodies[0].rows];
  const names = rows.map((row) => row.cells[0].textContent);
  const times = rows.map((row) => row.cells[0].querySelector("time").dateTime);
  const positions = names.map((_, index) => index);
  const clicks = rows.map((row) => Number(row.cells[1].textContent));
  const visitors = rows.map((row) => Number(row.cells[2].textContent));
  const before = rows.map(({ cells }) => (cells[4].textContent ? Number(cells[4].textContent) : null));
  const { unfinished, unfinishedPoint } = table.dataset;
  const current = unfinishedPoint === undefined ? rows.length : Number(unfinishedPoint);
  // The counts of the current point are not complete: a line to them would look like a fall.
  const complete = (series) => series.map((n, index) => (index < current ? n : null));
  const latest = (series) => series.map((n, index) => (index === current - 1 || index === current ? n : null));
  const events = eventsOf(canvas.dataset.chart);
  const headings = [...table.tHead.rows[0].cells].map((cell) => cell.textContent);
  // The value of a variable is light-dark(…); only a computed color is the one of the current scheme.
  const color = (name) => {
    canvas.style.color = `var(${name})`;
    const computed = getComputedStyle(canvas).color;
    canvas.style.color = "";
    return computed;
  };
  const font = `12px ${getComputedStyle(document.body).fontFamily}`;
  const axis = {
    stroke: color("--muted"),
    font,
    grid: { stroke: color("--border"), width: 1 },
    ticks: { show: false },
  };
  const isDense = rows.length > 120;
  const size = () => ({ width: canvas.clientWidth, height: canvas.clientHeight });

  const column = (name, side) => ({
    fill: color(name),
    width: 0,
    paths: columns(side, color(name), rows.length, current),
    points: { show: false },
  });
  const area = (name) => ({ stroke: color(name), width: 1.5, fill: color(name), points: { show: false } });
  const dots = (name) => ({ show: isDense, stroke: color(name), width: 1.5, dash: [2, 3], points: { show: false } });
  const drawn = isDense ? complete : (series) => series;

  canvas.replaceChildren();
  const tooltip = document.createElement("div");
  tooltip.className = "tooltip";
  tooltip.hidden = true;

  const plot = new uPlot(
    {
      ...size(),
      padding: [8, 4, 0, 0],
      legend: { show: false },
      cursor: { y: false, drag: { setScale: false }, points: { show: false } },
      scales: {
        x: { time: false, range: [-0.6, rows.length - 0.4] },
        y: { range: (_, __, top) => [0, Math.max(4, top * 1.1)] },
      },
      axes: [
        {
          ...axis,
          grid: { show: false },
          size: 30,
          gap: 8,
          space: 70,
          incrs: [1, 2, 3, 5, 7, 10, 14, 24, 30, 60, 90, 168, 365],
          values: (_, splits) =>
            splits.map((n) => (Number.isInteger(n) && times[n] ? label(times[n], table.dataset.interval) : "")),
        },
        {
          ...axis,
          size: (_, texts) => axisWidth(texts ?? []),
          gap: 6,
          incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 2e4, 5e4, 1e5, 2e5, 5e5, 1e6, 5e6, 1e7],
          values: (_, splits) => splits.map(formatBriefly),
        },
      ],
      series: [
        {},
        isDense ? area("--accent-light") : column("--accent-light", -1),
        isDense ? area("--accent") : column("--accent", 1),
        {
          show: complete(before).some(Boolean),
          stroke: color("--muted"),
          width: 1.5,
          dash: [5, 4],
          points: { show: false },
        },
        dots("--accent-light"),
        dots("--accent"),
      ],
      hooks: {
        draw: [(self) => drawEvents(self, events.keys(), color("--muted"))],
        setCursor: [
          (self) => {
            const index = self.cursor.idx;
            if (index == null || self.cursor.left < 0) {
              tooltip.hidden = true;
              return;
            }
            const heading = document.createElement("strong");
            heading.textContent = index === current ? `${names[index]} (${unfinished})` : names[index];
            const line = (number, series) =>
              canvas.dataset.line
                .replace("{label}", () => headings[number])
                .replace("{number}", () => formatNumber(series[index]));
            const earlier = document.createElement("div");
            earlier.textContent = before[index] == null ? "" : line(4, before);
            const happened = (events.get(index) ?? []).map((text) => {
              const row = document.createElement("div");
              row.textContent = text;
              return row;
            });
            tooltip.replaceChildren(heading, `${line(1, clicks)} · ${line(2, visitors)}`, earlier, ...happened);
            tooltip.hidden = false;
            const left = self.bbox.left / devicePixelRatio + self.valToPos(index, "x");
            tooltip.style.left = `${Math.min(Math.max(0, left - tooltip.offsetWidth / 2), canvas.clientWidth - tooltip.offsetWidth)}px`;
            tooltip.style.top = "0px";
          },
        ],
      },
    },
    [positions, drawn(clicks), drawn(visitors), complete(before), latest(clicks), latest(visitors)],
    canvas,
  );
  plot.root.append(tooltip);
  plot.root.style.position = "relative";
  return () => plot.setSize(size());
}

/** Returns the texts of the events below a chart by the number of their point. */
function eventsOf(id) {
  const events = new Map();
  for (const row of document.querySelectorAll(`[data-events="${id}"] [data-point]`)) {
    const point = Number(row.dataset.point);
    events.set(point, [...(events.get(point) ?? []), row.lastElementChild.textContent.trim()]);
  }
  return events;
}

/** Draws a line with a flag at each point that has events. */
function drawEvents(plot, points, color) {
  const { ctx, bbox } = plot;
  const size = 4 * devicePixelRatio;
  ctx.save();
  ctx.strokeStyle = ctx.fillStyle = color;
  ctx.lineWidth = devicePixelRatio;
  ctx.setLineDash([size / 2, size / 2]);
  for (const point of points) {
    const x = Math.round(plot.valToPos(point, "x", true));
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
    ctx.beginPath();
    ctx.moveTo(x, bbox.top - size);
    ctx.lineTo(x + 2 * size, bbox.top);
    ctx.lineTo(x, bbox.top + size);
    ctx.fill();
  }
  ctx.restore();
}

/** Returns the label of a time of the page's zone. As UTC, it is the same in browsers of every zone. */
function label(time, interval) {
  if (interval === "hour") return new Date(`${time.replace(" ", "T")}Z`).toLocaleTimeString(locale, CLOCK);
  const format = interval === "month" ? { month: "short", year: "2-digit" } : { day: "numeric", month: "short" };
  return new Date(`${time.slice(0, 10)}T00:00Z`).toLocaleDateString(locale, { ...format, timeZone: "UTC" });
}

/** Formats a number as the page does. */
const formatNumber = (n) => n.toLocaleString("en").replaceAll(",", document.documentElement.dataset.thousands);

/** Formats a number of the axis briefly: 12K, 12 mil, 1,5 Mio. Millions are "m" in British English. */
const compact = new Intl.NumberFormat(language, { notation: "compact", maximumFractionDigits: 1 });
/** Languages without a short form of thousands write them as on the rest of the page: 4.000. */
const formatBriefly = (n) => (/^\d+$/.test(compact.format(n)) ? formatNumber(n) : compact.format(n));
const CLOCK = { hour: "numeric", minute: "2-digit", hourCycle: "h23", timeZone: "UTC" };
const MIN_AXIS_WIDTH = 44;
/** Returns the width of an axis with these texts, of 12 px. */
const axisWidth = (texts) => Math.max(MIN_AXIS_WIDTH, 10 + 7 * Math.max(0, ...texts.map((text) => text.length)));

for (const canvas of document.querySelectorAll("[data-chart]")) {
  const resize = draw(canvas);
  // On paper the picture is scaled: a chart that is drawn again for its own scaled size gets ever smaller.
  new ResizeObserver(() => matchMedia("print").matches || resize()).observe(canvas);
}
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  for (const canvas of document.querySelectorAll("[data-chart]")) draw(canvas);
});
