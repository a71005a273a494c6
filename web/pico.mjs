// Leaves out the parts of Pico that no page uses: every page loads the style sheet.
import { readFileSync } from "node:fs";

const UNUSED =
  /data-tooltip|type=range|-webkit-slider|-moz-range|-ms-(?:track|fill|thumb)|\.striped|summary\[role=button\]|\.overflow-auto|\.outline\b|\.contrast\b|\.container\b|role=search|hgroup|details\.dropdown > summary \+ ul/;
const RULE = /([^\s@{}/*][^{}@;]*)\{[^{}]*\}/g;
const COMMA = /,(?![^(]*\))/;

/** A plugin of esbuild. A rule is left out if no page has an element for any of its selectors. */
export function smallPico() {
  return {
    name: "small-pico",
    setup(build) {
      build.onLoad({ filter: /pico\.css$/ }, ({ path }) => ({
        contents: readFileSync(path, "utf8").replace(RULE, (rule, selectors) => (isUnused(selectors) ? "" : rule)),
        loader: "css",
      }));
    },
  };
}

/** Returns whether all selectors of a rule need what no page has, other than in `:not(…)`. */
function isUnused(selectors) {
  const parts = selectors.replaceAll(/:not\([^)]*\)/g, "").split(COMMA);
  return parts.every((part) => UNUSED.test(part));
}
