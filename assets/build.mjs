// Bundles what pages carry from elsewhere into src/flexarm/pictures/assets, each with its version and licence on top.
import { readFileSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const OUT = "../src/flexarm/pictures/assets";
const common = { bundle: true, minify: true, target: "es2020", charset: "ascii", legalComments: "none" };

function notice(name) {
  const { version } = JSON.parse(readFileSync(`node_modules/${name}/package.json`, "utf8"));
  const licence = readFileSync(`node_modules/${name}/LICENSE`, "utf8").trim();
  return `${name} ${version}\n\n${licence}\n`;
}

const notices = { three: notice("three"), uplot: notice("uplot") };
for (const [name, text] of Object.entries(notices)) {
  await build({
    ...common,
    entryPoints: [`${name}.js`],
    format: "iife",
    globalName: name === "three" ? "THREE" : undefined,
    banner: { js: `/*! ${text}*/` },
    outfile: `${OUT}/${name}.min.js`,
  });
}
await build({
  ...common,
  entryPoints: ["node_modules/uplot/dist/uPlot.min.css"],
  banner: { css: "/*! uplot: licence in its script */" },
  outfile: `${OUT}/uplot.min.css`,
});
writeFileSync(`${OUT}/LICENSES.txt`, Object.values(notices).join(`\n${"-".repeat(80)}\n\n`));
