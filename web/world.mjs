// The world map and the flags of the statistics pages, from packages of the npm registry.
import { geoNaturalEarth1, geoPath } from "d3-geo";
import { readFileSync, readdirSync } from "node:fs";
import { basename, join } from "node:path";
import { feature } from "topojson-client";

const WIDTH = 560;
const HEIGHT = 274;
const DOT = 2;
const TOLERANCE = 0.6; // of a simplified line
/** Countries without a number in the map, by their name there. */
const UNNUMBERED = { Kosovo: "XK" };

/** Returns the map as SVG: a shape for each country, whose id is its two-letter code, all in the group `world`. */
export function worldMap(modules) {
  const codes = alpha2Codes(modules);
  const countries = features(modules, "countries-110m.json").filter(({ id }) => id !== "010"); // Antarctica
  const all = { type: "FeatureCollection", features: countries };
  const projection = geoNaturalEarth1().fitExtent([[4, 4], [WIDTH - 4, HEIGHT - 4]], all); // prettier-ignore
  const path = geoPath(projection);
  const shapes = new Map();
  const unnamed = [];
  for (const country of countries) {
    const code = codes[country.id] ?? UNNUMBERED[country.properties.name];
    if (code) shapes.set(code, `<path id="${code}" d="${compact(path(country))}"/>`);
    else unnamed.push(`<path d="${compact(path(country))}"/>`);
  }
  // Countries that are too small for this map are dots.
  for (const country of features(modules, "countries-50m.json")) {
    const code = codes[country.id];
    if (!code || code === "AQ" || shapes.has(code)) continue;
    const [x, y] = path.centroid(country).map(Math.round);
    shapes.set(code, `<circle id="${code}" cx="${x}" cy="${y}" r="${DOT}"/>`);
  }
  const parts = [...shapes.values(), ...unnamed].join("");
  return {
    codes: [...shapes.keys()].sort(),
    viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
    svg: `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}"><g id="world">${parts}</g></svg>`,
  };
}

/** Returns the SVG of the flag of each two-letter code. */
export function flags(modules) {
  const folder = join(modules, "country-flag-icons/3x2");
  const names = readdirSync(folder).filter((name) => /^[A-Z]{2}\.svg$/.test(name));
  return new Map(names.map((name) => [basename(name, ".svg"), readFileSync(join(folder, name))]));
}

/** Returns a path of straight lines with whole relative coordinates, which takes a third of the bytes. */
function compact(d) {
  const rings = d.split("M").slice(1);
  return rings.map((ring) => compactRing(ring.replace("Z", "").split("L"))).join("");
}

function compactRing(texts) {
  const points = simplified(texts.map((text) => text.split(",").map(Number))).map((point) => point.map(Math.round));
  let [x, y] = points[0];
  const steps = [];
  for (const [nextX, nextY] of points.slice(1)) {
    if (nextX === x && nextY === y) continue;
    steps.push(`${nextX - x} ${nextY - y}`);
    [x, y] = [nextX, nextY];
  }
  if (steps.length < 2) return `M${points[0].join(" ")}h1v1h-1z`; // an island that rounding made a point
  return `M${points[0].join(" ")}l${steps.join(" ").replaceAll(" -", "-")}z`;
}

/** Returns a line without the points that are close to the line between their neighbors (Douglas and Peucker). */
function simplified(points) {
  const [first, last] = [points[0], points.at(-1)];
  let [most, farthest] = [0, 0];
  points.forEach((point, index) => {
    const distance = distanceTo(point, first, last);
    if (distance > most) [most, farthest] = [distance, index];
  });
  if (most <= TOLERANCE) return [first, last];
  return [...simplified(points.slice(0, farthest + 1)), ...simplified(points.slice(farthest)).slice(1)];
}

/** Returns the distance of a point from the line through two others, or from both if they are one. */
function distanceTo([x, y], [x1, y1], [x2, y2]) {
  const length = Math.hypot(x2 - x1, y2 - y1);
  if (length === 0) return Math.hypot(x - x1, y - y1);
  return Math.abs((x2 - x1) * (y1 - y) - (x1 - x) * (y2 - y1)) / length;
}

function features(modules, name) {
  const atlas = JSON.parse(readFileSync(join(modules, "world-atlas", name), "utf8"));
  return feature(atlas, atlas.objects.countries).features;
}

/** Returns the two-letter codes by number. */
function alpha2Codes(modules) {
  const rows = JSON.parse(readFileSync(join(modules, "i18n-iso-countries/codes.json"), "utf8"));
  return Object.fromEntries(rows.map(([alpha2, , number]) => [number, alpha2]));
}
