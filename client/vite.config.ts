import { readdirSync, readFileSync } from "node:fs";
import { defineConfig, type Plugin } from "vite";

// The report carries its script and style inside a single page; the studio's are served.
const PAGES = {
  report: { entry: "src/report.ts", outDir: "../src/osteon/report/bundle" },
  studio: { entry: "src/studio.ts", outDir: "../src/osteon/studio/bundle" },
};

/** The licence text of a package, as its authors ship it. */
function licence(name: string): string {
  const folder = `node_modules/${name}`;
  const file = readdirSync(folder).find((each) => /^licen[cs]e/i.test(each));
  if (!file) throw new Error(`${name} is bundled and has no licence file`);
  const { version } = JSON.parse(readFileSync(`${folder}/package.json`, "utf-8"));
  return `${name} ${version}\n\n${readFileSync(`${folder}/${file}`, "utf-8").trim()}\n`;
}

/** Licences of the packages whose code is in the bundle: at the head of it, and as a file. */
function notices(): Plugin {
  return {
    name: "third-party-notices",
    enforce: "post",
    generateBundle(_options, bundle) {
      const packages = new Set<string>();
      for (const id of this.getModuleIds()) {
        const name = id.match(/.*node_modules\/((?:@[^/]+\/)?[^/]+)\//)?.[1];
        if (name && this.getModuleInfo(id)?.isIncluded !== false) packages.add(name);
      }
      const text = [...packages].sort().map(licence).join("\n\n");
      const comment = `/*!\n${text.replaceAll("*/", "* /")}*/\n`;
      for (const file of Object.values(bundle)) {
        if (file.type === "chunk") file.code = comment + file.code;
        else if (file.fileName.endsWith(".css")) file.source = comment + String(file.source);
      }
      this.emitFile({ type: "asset", fileName: "THIRD_PARTY.txt", source: text });
    },
  };
}

export default defineConfig(({ mode }) => {
  const name = mode === "studio" ? "studio" : "report";
  const page = PAGES[name];
  return {
    plugins: [notices()],
    build: {
      outDir: page.outDir,
      emptyOutDir: true,
      cssCodeSplit: false,
      chunkSizeWarningLimit: 2000,
      lib: {
        entry: page.entry,
        name: "osteon",
        formats: ["iife"],
        fileName: () => `${name}.js`,
        cssFileName: name,
      },
    },
  };
});
