import { defineConfig } from "vite";

// The report carries its script and style inside a single page; the studio's are served.
const PAGES = {
  report: { entry: "src/report.ts", outDir: "../../report/bundle" },
  studio: { entry: "src/studio.ts", outDir: "../bundle" },
};

export default defineConfig(({ mode }) => {
  const name = mode === "studio" ? "studio" : "report";
  const page = PAGES[name];
  return {
    build: {
      outDir: page.outDir,
      emptyOutDir: true,
      cssCodeSplit: false,
      chunkSizeWarningLimit: 2000,
      lib: {
        entry: page.entry,
        name: "ossature",
        formats: ["iife"],
        fileName: () => `${name}.js`,
        cssFileName: name,
      },
    },
  };
});
