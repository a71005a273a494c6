// Builds the front end of the dashboard: `node build.mjs TARGET`.
//
// Every file name contains a content hash, so that browsers can cache it forever; `manifest.json` has the current names.
// Text files also get a .br and a .gz version, so that the server does not compress them.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { smallFonts } from "./fonts.mjs";
import { smallPico } from "./pico.mjs";
import { flags, worldMap } from "./world.mjs";

const root = dirname(fileURLToPath(import.meta.url));
const target = process.argv[2];
const modules = join(root, "node_modules");
const BUILD_TOOLS = ["esbuild", "subset-font"]; // no part of them is shipped

const result = await build({
  absWorkingDir: root,
  entryPoints: {
    app: "src/app.js",
    chart: "src/chart.js",
    files: "src/files.js",
    designer: "src/designer.js",
    builder: "src/builder.js",
    import: "src/import.js",
    visits: "src/visits.js",
    "service-worker": "src/service-worker.js",
    main: "src/main.css",
  },
  outdir: "out",
  bundle: true,
  write: false,
  minify: true,
  target: ["es2022", "chrome109", "firefox115", "safari16"],
  format: "iife",
  legalComments: "none", // licenses.txt has them all
  plugins: [
    smallFonts(JSON.parse(readFileSync(join(modules, "@fontsource-variable/inter/unicode.json"), "utf8"))),
    smallPico(),
  ],
  assetNames: "[name]-[hash]",
  entryNames: "[name]-[hash]",
  logLevel: "error",
}).catch(() => process.exit(1)); // esbuild has printed the error

rmSync(target, { recursive: true, force: true });
mkdirSync(target, { recursive: true });
const names = {};
for (const file of result.outputFiles) {
  const name = basename(file.path);
  names[name.replace(/-[A-Z0-9]{8}(?=\.)/, "")] = name;
  write(name, Buffer.from(file.contents));
}

const icons = {};
for (const name of JSON.parse(readFileSync(join(root, "icons.json"), "utf8"))) {
  const svg = readFileSync(join(modules, "heroicons/24/outline", `${name}.svg`), "utf8");
  icons[name] = svg
    .replace(
      /<svg[^>]*>/,
      '<svg class="icon" viewBox="0 0 24 24" fill="none" stroke="currentColor" aria-hidden="true">',
    )
    .replace(/\s*\n\s*/g, "");
}

const { svg, ...world } = worldMap(modules);
names["world.svg"] = write("world.svg", Buffer.from(svg), true);
const flagNames = {};
for (const [code, bytes] of flags(modules)) flagNames[code] = write(`flag-${code}.svg`, bytes, true);

const licenses = write("licenses.txt", Buffer.from(notices()), true);
names["licenses.txt"] = licenses;
writeFileSync(join(target, "manifest.json"), JSON.stringify({ files: names, icons, flags: flagNames, world }));

/** Writes a file, and the compressed versions of a text file; flags are too small for them. With `hashed`, its name gets the content hash. */
function write(name, bytes, hashed = false) {
  if (hashed) {
    const hash = createHash("sha256").update(bytes).digest("hex").slice(0, 8).toUpperCase();
    name = name.replace(extname(name), `-${hash}${extname(name)}`);
  }
  writeFileSync(join(target, name), bytes);
  if (extname(name) !== ".woff2" && !name.startsWith("flag-")) {
    const best = { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } };
    writeFileSync(join(target, `${name}.br`), brotliCompressSync(bytes, best));
    writeFileSync(join(target, `${name}.gz`), gzipSync(bytes, { level: 9 }));
  }
  return name;
}

/** Returns the licenses of all bundled packages. */
function notices() {
  const { dependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const shipped = Object.keys(dependencies).filter((name) => !BUILD_TOOLS.includes(name));
  return shipped
    .map((name) => {
      const folder = join(modules, name);
      const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
      const file = readdirSync(folder).find((name) => /^licen[cs]e/i.test(name));
      const text = file ? readFileSync(join(folder, file), "utf8").trim() : "";
      return `${name} ${version} (${license})\n\n${text}\n`;
    })
    .join(`\n${"-".repeat(72)}\n\n`);
}
