// Makes fonts smaller: they keep the weights and features of the style sheets only. One that is late is used on the next
// page, because a word that wraps with it would move the rest of this page.
import { readFileSync } from "node:fs";
import subsetFont from "subset-font";

/** The weights and features that src/*.css use, and those that every text needs. */
const WEIGHTS = { min: 400, max: 700 };
const FEATURES = ["ccmp", "kern", "liga", "locl", "mark", "mkmk", "rvrn", "tnum", "cv05", "cv11", "ss03"];

/** A plugin of esbuild. The hash in a file's name is that of the smaller font. */
export function smallFonts(ranges) {
  return {
    name: "small-fonts",
    setup(build) {
      build.onLoad({ filter: /@fontsource-variable.*\.css$/ }, ({ path }) => ({
        contents: readFileSync(path, "utf8").replaceAll("font-display: swap", "font-display: optional"),
        loader: "css",
      }));
      build.onLoad({ filter: /\.woff2$/ }, async ({ path }) => {
        const subset = Object.keys(ranges).find((name) => path.includes(`inter-${name}-wght`));
        const options = { targetFormat: "woff2", variationAxes: { wght: WEIGHTS }, keepFeatures: FEATURES };
        return {
          contents: await subsetFont(readFileSync(path), charactersOf(ranges[subset]), options),
          loader: "file",
        };
      });
    },
  };
}

/** Returns the characters of a range of CSS, such as `U+0041-005A,U+0131`. */
function charactersOf(range) {
  const characters = [];
  for (const part of range.split(",")) {
    const [first, last = first] = part.slice(2).split("-");
    for (let code = parseInt(first, 16); code <= parseInt(last, 16); code++)
      characters.push(String.fromCodePoint(code));
  }
  return characters.join("");
}
